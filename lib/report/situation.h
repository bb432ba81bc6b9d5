// Who is there for a workflow: its workers as they are now, its batch scripts, and what Slurm says
// of its allocations.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/end_margins.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/report/allocation_list.h"
#include "lib/report/slurm_answer.h"
#include "lib/report/submit_script.h"
#include "lib/report/workers_now.h"
#include "lib/store/engine/store.h"

namespace torc::report {

struct Situation {
  claim::WorkflowState workflow = {};
  std::vector<WorkerNow> workers = {};       // that are registered
  std::optional<claim::Worker> newest = {};  // that ever registered, and may have left
  std::vector<SubmitScript> scripts = {};    // none where the store is of one host
  bool has_launcher = false;                 // allocations are asked of another system than Slurm
  AllocationList ledger = {};                // of allocations: those that live
  std::vector<claim::JobClass> ready = {};   // that have ready jobs, the first of them
  JobId first_ready{};                       // a job of the first of these
  KeptFree kept = {};                        // of the end of an allocation
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
  // Whose allocations are of this store when Slurm shows that they run a script of it, which
  // anybody can have it show. nullopt: anybody's, since a group shares the store.
  std::optional<std::vector<std::uint32_t>> users = {};
};
// Asks about the batch scripts and workers of `situation`. In the order of submission.
[[nodiscard]] SlurmAnswer ask_slurm(const slurm::RunProgram& run, const Asking& asking,
                                    const Situation& situation, WallTime now);

}  // namespace torc::report
