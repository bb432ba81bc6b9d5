// What became stale: jobs that are over and whose files, user data or command are not what they
// were then. The search behind `torc apply` and `torc reinit`; it changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/signature.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/tables/user_datum.h"
#include "lib/spec/language/rerun_triggers.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/context/file_fingerprints.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

// What jobs are, and which others there are, once the store has a new version of the file.
struct NewRecipes {
  struct Entry {
    JobId first{};
    std::uint64_t count = 0;
    std::string recipe;
  };
  std::vector<Entry> changed;  // in id order
  std::vector<claim::UserDatum> user_data;
  std::vector<claim::Template> added;
  std::vector<claim::JobRange> removed;   // that are there, and are not any more; sorted
  std::vector<claim::JobRange> returned;  // that were removed before, and are there again; sorted
};

struct StaleJob {
  JobId id{};
  std::uint64_t claim = 0;  // of the attempt that was looked at; 0: whatever attempt there is
  std::string name;
  std::vector<std::string> reasons;
  bool was_at_work = false;  // a worker had it
};

// Of these, what still is as it was when it was looked at: what ran again meanwhile has seen the
// files anew, and what is to run again does so anyway.
[[nodiscard]] Result<std::vector<StaleJob>> still_stale(const claim::Reader& reader,
                                                        const std::vector<StaleJob>& stale);

// A result that stays though something changed, and how its files look now.
struct SparedJob {
  JobId id{};
  std::uint64_t claim = 0;
  claim::Signature now;
  bool was_stale = false;  // else its files only stand in another order in the workflow file, say
};

// What changes take no result away: what the file says counts for later attempts.
struct Sparing {
  spec::RerunTriggers triggers = spec::RerunTriggers::all();  // the others do not
  bool all = false;                                           // no change does
  bool completed = false;                                     // none does of what completed
  std::vector<claim::JobRange> jobs;                          // none does of these; sorted

  [[nodiscard]] bool has(JobId id, claim::JobState state) const;
};

struct MissingInput {
  std::string job;
  std::string path;
};

// What of files is compared, where workers have hashed them; else their times and sizes are.
enum class Contents : std::uint8_t {
  by_time,
  where_times_differ,  // a file that was only touched, or copied, is as it was
  always               // also of one that was changed and given its old time
};

// `asked_for`: by --checksum. Else what the store was made with decides.
[[nodiscard]] inline Contents contents_compared(bool asked_for, const WorkflowSettings& settings) {
  if (asked_for) return Contents::always;
  return settings.sums == Sums::yes ? Contents::where_times_differ : Contents::by_time;
}

class StaleSearch {
 public:
  // `directory`: where jobs run. `recipes` may be null; it and `store` must outlive the search.
  StaleSearch(store::Store& store, Path directory, const NewRecipes* recipes, Contents contents,
              Sparing sparing = {})
      : store_(store),
        directory_(std::move(directory)),
        recipes_(recipes),
        contents_(contents),
        sparing_(std::move(sparing)) {}

  // Jobs that are over, and with new recipes those that run, in id order. Looks at the files of
  // every job that has some, in parts, so that no state is kept for long. Error invalid: a result
  // that was to be spared by its name is not there.
  Result<std::vector<StaleJob>> run();
  // After run(): of these what their files are is to be remembered anew.
  [[nodiscard]] const std::vector<SparedJob>& spared() const { return spared_; }
  // Of these jobs, which have a signature each or nothing to have one of, those for whose results
  // nothing is other than it was. Sorted, as they are.
  Result<std::vector<claim::JobRange>> unchanged(const std::vector<JobId>& jobs);
  // Of these jobs, which run again, the inputs that are not there and that no job makes; at most
  // `most`. Those that were canceled stay so, unless they are among `named`. All sorted.
  Result<std::vector<MissingInput>> missing_inputs(const std::vector<claim::JobRange>& jobs,
                                                   const std::vector<claim::JobRange>& named,
                                                   std::size_t most);

 private:
  struct Candidate {
    JobId id{};
    claim::JobState state{};
    std::uint64_t claim = 0;
    std::optional<claim::Signature> before;
    spec::RenderedJob now;
    std::vector<std::string> reasons;  // from the recipes
    bool is_redefined = false;         // also where that is no reason
    bool has_other_inputs = false;     // than its result was made of, by their names
    bool has_other_outputs = false;
    bool has_other_data = false;
    bool is_reordered = false;  // its files have another order, or others are among them
    bool lacks_output = false;
    std::vector<std::uint64_t> user_data;
    std::vector<bool> outputs_set;  // of now.output_user_data
  };

  // Whether the job is one of the workflow once the store has the new version.
  [[nodiscard]] bool is_there(const claim::Reader& reader, JobId id) const;
  // Jobs of a template that have one recipe, as it is then.
  struct Piece {
    claim::JobRange jobs;
    const NewRecipes::Entry* entry = nullptr;  // null: the template's own
  };
  [[nodiscard]] std::vector<Piece> pieces_of(const claim::Template& t) const;
  Result<void> gather(const claim::Reader& reader);
  Result<void> gather_from(const claim::Reader& reader, const claim::Template& t);
  void compare_recipes(const spec::RenderedJob& before, Candidate& candidate) const;
  Result<void> look_at_user_data(const claim::Reader& reader, Candidate& candidate);
  [[nodiscard]] Result<std::vector<std::string>> reasons_of(Candidate& candidate) const;
  // How they look now, to be compared with `before`.
  [[nodiscard]] Result<std::vector<claim::FileFingerprint>> look_at(
      const std::vector<std::string>& paths,
      const std::vector<claim::FileFingerprint>& before) const;
  [[nodiscard]] bool is_spared(const Candidate& candidate) const;
  Result<void> spare(Candidate& candidate, bool was_stale);
  // That the job belongs to from now on; nullptr: to the one that it is of.
  [[nodiscard]] const NewRecipes::Entry* new_entry(JobId id) const;
  // Whether one of the jobs `first .. end - 1` has one.
  [[nodiscard]] bool has_new_entry(std::uint64_t first, std::uint64_t end) const;
  Result<std::uint64_t> fingerprint_of(const claim::Reader& reader, const std::string& name);

  store::Store& store_;
  Path directory_;
  const NewRecipes* recipes_;
  Contents contents_;
  Sparing sparing_;
  std::vector<SparedJob> spared_;
  std::uint64_t next_ = 1;  // job to go on from
  bool more_ = true;
  std::vector<Candidate> part_;
  std::map<std::string, std::uint64_t> fingerprints_;  // of user data
};

}  // namespace torc::workflow
