// A workflow file against the store that was made from an earlier version of it: what is to be
// done to the store so that it is what `torc init` would make of the file now, with what is still
// valid of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/tables/user_datum.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/claim/transactions/reshape.h"
#include "lib/workflow/change/job_matching.h"
#include "lib/workflow/change/stale.h"

namespace torc::workflow {

// One line of what differs, of an entry or of what concerns all of them.
struct Edit {
  enum class Kind : std::uint8_t { added, removed, returned, redefined, rewired, terms, settings };
  Kind kind{};
  std::string entry;         // "align_{i}", or the name of a job; of settings what it is
  std::string first;         // name of the first job that it is about
  std::string last;          // and of the last, where there are several in a row
  std::uint64_t jobs = 0;    // that it is about
  std::uint64_t over = 0;    // of these, those whose result counts no more (redefined, rewired), or
                             // stays in the history (removed)
  std::uint64_t spared = 0;  // of these, those whose result stays all the same (Sparing)
  std::uint64_t live = 0;    // of these, those that a worker has
  std::uint64_t failed = 0;  // of these, those whose newest attempt failed
  std::string what;          // "command: 'b' was 'a'", "memory, priority"
};

struct Difference {
  std::vector<Edit> edits;  // the most important first
  claim::Reshape reshape;
  // Jobs that wait and have a result that was thrown away, made by what the file says now.
  std::vector<JobId> retired;
  std::vector<claim::JobRange> running;  // jobs that a worker has and whose result will not count
  // Recipes that jobs have from now on, for the search for stale files. `reshape` has them, too.
  NewRecipes recipes;
  std::vector<claim::UserDatum> user_data;
  std::optional<std::string> settings;  // of the workflow, where they change
  std::optional<std::uint32_t> max_failures;
  std::optional<claim::Usage> budget;
  std::vector<claim::Scheduler> schedulers;  // those that change, as the file has them
  std::optional<SortMethod> sort;
  std::optional<bool> pending_failed;
  std::vector<claim::ActionRecipe> actions;  // that run other commands from now on
  // Jobs whose definition, or what they wait for, is another one now: what of them has ended, also
  // after this was found, did so by what was said before. Sorted.
  std::vector<claim::JobRange> outdated;
  // Spawned by jobs, and of the file from now on: they are not withdrawn with who spawned them.
  std::vector<claim::JobRange> adopted;
  bool has_other_environment = false;  // of all jobs
  spec::Environment env;               // of all jobs, as the file has it
  // The first job of the store alone that is not over, and its command: a person added it there
  // (beside_file.h).
  std::optional<std::pair<std::string, std::string>> alone;
  // The state that it was found in: another commit may have changed it since.
  std::uint64_t jobs = 0;
  std::uint64_t edition = 0;

  [[nodiscard]] bool nothing() const {
    return edits.empty() && reshape.entries.empty() && adopted.empty();
  }
};

// `plan`: of the file, made with the directory and the sums of the store's settings. Costs what the
// entries and dependencies cost, and the jobs of those entries that differ. Errors: invalid, the
// file says something of the whole workflow that a store that is there cannot take over; corrupt.
Result<Difference> difference(const claim::Reader& reader, const claim::Plan& plan,
                              std::vector<claim::UserDatum> user_data, const Sparing& sparing = {},
                              const FormerNames& former = {});

// Part of a template, by the names of its jobs.
Result<claim::Template> part_of_template(const claim::Template& of, std::uint64_t from,
                                         std::uint64_t count);

// Hashes of what the jobs of `reader`, which outlives the answer, run by at the moment of the call,
// in this environment of all jobs.
[[nodiscard]] claim::DefinitionOf definitions_in(const claim::Reader& reader,
                                                 const spec::Environment& env);

// How a job has ended: by itself, which a canceled one has not. One that is out of the workflow and
// had failed comes back so.
[[nodiscard]] std::optional<claim::JobState> end_of_job(const claim::Reader& reader, JobId id,
                                                        const claim::Job& job);

// Jobs of a state that is changed already are not changed once more by another apply, whose
// difference was found before. Error busy: find it anew.
Result<void> check_unchanged(const claim::Reader& reader, const Difference& found);

// By whom jobs are said to be that came with a new version of the file, in claim::Origin::state.
inline constexpr const char* kOfFile = "file";

}  // namespace torc::workflow
