// `torc run … NAME… --until STAGE --force NAME`: some jobs, and what they need, alone.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bin/app.h"
#include "bin/commands/change/change_report.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/worker/machine/summary.h"

namespace torc::cli {

struct ChoiceOptions {
  std::vector<std::string> names;  // jobs, globs and stages (job_words.h)
  std::vector<std::string> until;  // stages, or names
  std::vector<std::string> force;  // what runs again first
  [[nodiscard]] bool chooses() const { return !names.empty() || !until.empty(); }
};

// Ascending, no two touch; null: all jobs.
using ChosenJobs = std::shared_ptr<const std::vector<claim::JobRange>>;

// "[SPEC|STORE] NAME…": whether the word is what is run, and no job of the store that is found.
[[nodiscard]] bool names_what_is_run(const App& app, const std::string& word);

// With the lists that it names read, once: one may be standard input.
Result<ChoiceOptions> with_lists(const App& app, ChoiceOptions options);

// Those that were asked for, and what they need. Errors: as select_jobs().
Result<ChosenJobs> chosen_jobs(const claim::Reader& reader, const ChoiceOptions& options);
Result<ChosenJobs> chosen_jobs(store::Store& store, const ChoiceOptions& options);
// Error: all that were named are out of the workflow.
[[nodiscard]] Error all_removed();
// That there are jobs of all names, also those of --force. Errors: as select_jobs().
Result<void> check_names(const claim::Reader& reader, const ChoiceOptions& options);

// `force`: these, and everything built on them, go back to the start; a person is asked first where
// results would be lost. False: who said no. Errors: as reset_jobs().
Result<bool> force_jobs(const App& app, store::Store& store, const ChoiceOptions& options, bool yes,
                        bool silent);

struct ChosenCounts {
  claim::Counts counts{};
  std::uint64_t unmet = 0;   // of the canceled: those that were not needed
  std::uint64_t ending = 0;  // of the canceled: those that their worker has not ended yet
  [[nodiscard]] std::uint64_t jobs() const;
  [[nodiscard]] std::uint64_t of(claim::JobState s) const {
    return counts[static_cast<std::size_t>(s)];
  }
  [[nodiscard]] bool all_completed() const {
    return of(claim::JobState::completed) + unmet == jobs();
  }
};
// As that of a workflow of these jobs.
[[nodiscard]] Exit exit_of(const ChosenCounts& counts);
Result<ChosenCounts> count_chosen(const claim::Reader& reader,
                                  const std::vector<claim::JobRange>& jobs);
Result<ChosenCounts> count_chosen(store::Store& store, const std::vector<claim::JobRange>& jobs);
[[nodiscard]] nlohmann::ordered_json to_json(const ChosenCounts& counts);
// "5 of 6 jobs that were asked for completed, 1 failed".
[[nodiscard]] std::string show(const ChosenCounts& counts);

}  // namespace torc::cli
