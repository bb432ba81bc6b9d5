// `torc run -n`: what would run, before anything does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bin/app.h"
#include "bin/commands/run/chosen.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/report/stages.h"
#include "lib/store/engine/store.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

struct Outlook {
  struct Stage {
    report::StageCounts counts;
    std::uint64_t unreachable = 0;  // of those that wait: for what failed, or is held
    [[nodiscard]] std::uint64_t to_run() const { return counts.to_run() - unreachable; }
  };
  claim::WorkflowState workflow;
  std::optional<ChosenCounts> chosen;  // of the jobs that were asked for
  std::uint64_t forced = 0;            // jobs that were over, and run again by --force
  std::vector<Stage> stages;           // of these jobs, or of all

  [[nodiscard]] const claim::Counts& counts() const {
    return chosen ? chosen->counts : workflow.counts;
  }
  [[nodiscard]] std::uint64_t of(claim::JobState s) const {
    return counts()[static_cast<std::size_t>(s)];
  }
  [[nodiscard]] std::uint64_t to_run() const;
};

// As it is after all that `tx`, which is to be given up, has changed, and after what --force
// resets, which this does. Errors: as select_jobs() and reset_jobs().
Result<Outlook> outlook_after(const App& app, store::Transaction& tx, const ChoiceOptions& options);

// What `body` sees of a workflow file that has no store yet: one as it would be. Nothing is
// written.
Result<void> look_before_store(const workflow::LoadedSpec& loaded, const store::Store::Body& body);

// `shown`: the store, as commands take it.
void print(const App& app, const Outlook& outlook, const std::string& shown);

}  // namespace torc::cli
