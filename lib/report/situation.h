// Who is there for a workflow: its workers as they are now, its batch scripts, and what Slurm says
// of its allocations.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/workflow_state.h"
#include "lib/report/slurm_answer.h"
#include "lib/report/workers_now.h"
#include "lib/store/engine/store.h"

namespace torc::report {

// A batch script that `torc init` has written, or a person has changed since.
struct SubmitScript {
  std::string scheduler;  // as its file is called: the name of the scheduler, made plain
  Path file;              // absolute
  std::string job_name;   // that it gives to Slurm; empty: not known, or not plain
};
// Those in slurm/ of the store, in the order of their names.
[[nodiscard]] std::vector<SubmitScript> find_scripts(const Path& store);

struct Situation {
  claim::WorkflowState workflow = {};
  std::vector<WorkerNow> workers = {};       // that are registered
  std::optional<claim::Worker> newest = {};  // that ever registered, and may have left
  std::vector<SubmitScript> scripts = {};    // none where the store is of one host
  // nullopt: it was not asked, since there is nothing to ask about, or no squeue.
  std::optional<SlurmAnswer> slurm = {};

  [[nodiscard]] const WorkerNow* find(claim::WorkerEpoch worker) const;
  [[nodiscard]] bool anybody_at_work() const;
};

// Whether Slurm is asked about allocations.
enum class AskSlurm : std::uint8_t { no, yes };
// Asked as ask_once() has it: so this blocks for at most kAskLimit longer than the filesystem does.
inline constexpr std::chrono::seconds kAskLimit{2};
Result<Situation> look_around(const workflow::Context& context, store::Store& store, AskSlurm ask);

// What an allocation is known by.
struct Asking {
  std::uint32_t uid = 0;    // whose allocations of these names are of this workflow
  std::vector<Path> store;  // as it may be called
  WallTime made_at{};       // what ended before is another store's; 0: not known
};
// Asks about the batch scripts and workers of `situation`. In the order of submission.
[[nodiscard]] SlurmAnswer ask_slurm(const slurm::RunProgram& run, const Asking& asking,
                                    const Situation& situation, WallTime now);

}  // namespace torc::report
