// What became stale: jobs that are over and whose files, user data or command are not what they
// were then. The search behind `torc reinit`; it changes nothing.
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
#include "lib/workflow/context/context.h"
#include "lib/workflow/context/file_fingerprints.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

// A new version of the workflow file, compared with what the store has: jobs that are there with
// the same dependencies, and recipes that may differ; and further jobs.
struct NewRecipes {
  static constexpr std::size_t kNames = 1000;
  struct Entry {
    JobId first{};
    std::uint64_t count = 0;
    std::string recipe;
  };
  std::vector<Entry> changed;  // in id order
  std::vector<claim::UserDatum> user_data;
  // Entries whose resources, scheduler, label or priority differ: these are not taken over.
  std::uint64_t other_needs = 0;
  claim::Plan added;  // the jobs that are new, from jobs_before + 1 on; without templates: none
  std::uint64_t jobs_before = 0;
  std::vector<std::string> added_names;  // the first of them
  // Jobs that are over and not in the new version: they stay as they are, and have no part in it.
  std::uint64_t left_out = 0;
  std::vector<std::string> left_out_names;  // the first of them
};
// Error invalid: it lacks jobs that are not over, or what is there would wait for other jobs; says
// all of these, and what to do.
Result<NewRecipes> compare_with_store(const claim::Reader& reader, const claim::Plan& plan,
                                      std::vector<claim::UserDatum> user_data);

struct StaleJob {
  JobId id{};
  std::uint64_t claim = 0;  // of the attempt that was looked at; 0: whatever attempt there is
  std::string name;
  std::vector<std::string> reasons;
};

// Of these, what still is as it was when it was looked at: what ran again meanwhile has seen the
// files anew, and what is to run again does so anyway.
[[nodiscard]] Result<std::vector<StaleJob>> still_stale(const claim::Reader& reader,
                                                        const std::vector<StaleJob>& stale);

struct MissingInput {
  std::string job;
  std::string path;
};

class StaleSearch {
 public:
  // `directory`: where jobs run. `recipes` may be null; it and `store` must outlive the search.
  StaleSearch(store::Store& store, Path directory, const NewRecipes* recipes, Sums sums)
      : store_(store), directory_(std::move(directory)), recipes_(recipes), sums_(sums) {}

  // Jobs that are over, and with new recipes those that run, in id order. Looks at the files of
  // every job that has some, in parts, so that no state is kept for long.
  Result<std::vector<StaleJob>> run();
  // Of these jobs, which have a signature each or nothing to have one of, those for whose results
  // nothing is other than it was. Sorted, as they are.
  Result<std::vector<claim::JobRange>> unchanged(const std::vector<JobId>& jobs);
  // Of these jobs, the inputs that are not there and that no job makes; at most `most`.
  Result<std::vector<MissingInput>> missing_inputs(const std::vector<claim::JobRange>& jobs,
                                                   std::size_t most);

 private:
  struct Candidate {
    JobId id{};
    claim::JobState state{};
    std::uint64_t claim = 0;
    std::optional<claim::Signature> before;
    spec::RenderedJob now;
    std::vector<std::string> reasons;  // from the recipes
    std::vector<std::uint64_t> user_data;
    std::vector<bool> outputs_set;  // of now.output_user_data
  };

  Result<void> gather(const claim::Reader& reader);
  Result<void> gather_from(const claim::Reader& reader, const claim::Template& t);
  Result<void> look_at_user_data(const claim::Reader& reader, Candidate& candidate);
  [[nodiscard]] Result<std::vector<std::string>> reasons_of(Candidate& candidate) const;
  // That the job belongs to from now on; nullptr: to the one that it is of.
  [[nodiscard]] const NewRecipes::Entry* new_entry(JobId id) const;
  // Whether one of the jobs `first .. end - 1` has one.
  [[nodiscard]] bool has_new_entry(std::uint64_t first, std::uint64_t end) const;
  Result<std::uint64_t> fingerprint_of(const claim::Reader& reader, const std::string& name);

  store::Store& store_;
  Path directory_;
  const NewRecipes* recipes_;
  Sums sums_;
  std::uint64_t next_ = 1;  // job to go on from
  bool more_ = true;
  std::vector<Candidate> part_;
  std::map<std::string, std::uint64_t> fingerprints_;  // of user data
};

}  // namespace torc::workflow
