// One worker: claims jobs that fit what it may use, runs them, reports their ends, until the
// workflow is done, its time is up or it is told to stop.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/exec/end/kill_tree.h"
#include "lib/exec/machine/machine.h"
#include "lib/exec/node/node_member.h"
#include "lib/exec/step/step_host.h"
#include "lib/slurm/query.h"
#include "lib/worker/lease/slurm_terms.h"
#include "lib/worker/machine/summary.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::worker {

struct WorkerSetup {
  exec::Machine machine;                           // what it may use, flags already applied
  std::optional<std::uint64_t> max_parallel_jobs;  // queue-depth mode: count jobs, ignore resources
  std::string allocation;                          // Slurm job id; empty without one
  bool is_of_launcher = false;     // it is the id of another batch system, which is asked nothing
  std::string cluster;             // of that Slurm; empty: not known
  WallTime allocation_start{};     // as Slurm says it; 0: not known
  std::string slurm_node;          // Slurm's name of this node; empty: not known
  std::uint32_t ledger_entry = 0;  // as in claim::WorkerInfo
  std::string scheduler;
  std::string labels;           // as lib/base/labels.h writes them
  bool also_unlabelled = true;  // though it has labels, it serves jobs that ask for none
  std::string group;      // whose nodes a job of several nodes may have together; empty: of none
  std::string node_name;  // by which the others of the group reach this node
  std::uint32_t most_nodes = 0;            // that the group can ever have; 0: anybody may join it
  std::optional<WallTime> allocation_end;  // nullopt: none, or not known
  std::optional<WallTime> ends_at;         // its jobs must have ended by then
  bool end_is_assumed = false;             // by the batch script's walltime: Slurm told no end
  SlurmTerms slurm;                        // by whose margins ends_at was found
  std::optional<std::chrono::seconds> idle_timeout;
  std::optional<std::chrono::seconds> workers_idle;  // of the workers of its allocation together
  // Jobs find in TORC_JOB_SLOT which of those that run at a time they are: the smallest number from
  // 1 that no other job of this worker has.
  bool numbers_slots = false;
  bool starts_one_by_one = false;  // nothing is started before what has ended was told
  bool node_is_shared = false;     // what it leaves of its node others have, so it need not wait
  // From SIGTERM to the SIGKILL of the last job, and what is left then to say how jobs ended.
  std::chrono::nanoseconds grace = std::chrono::seconds(30);
  std::chrono::nanoseconds reserve = std::chrono::seconds(5);
  std::chrono::seconds lease_ttl{300};
  std::chrono::seconds lease_heartbeat{0};  // 0: as heartbeat_interval() has it
  bool staggered_start = false;             // its first claim waits for its turn
  bool stays = false;                       // also when the workflow is finished
  bool bell = false;           // it hears others, and rings them, where they may be elsewhere
  std::string bell_interface;  // its name or an address; empty: what the host's name stands for
  Path directory;              // where its jobs run; empty: as the store has it recorded
  Path output_dir;
  std::uint64_t starters = 1;  // workers that are started together with this one, itself included
  bool any_scheduler = false;  // `torc run`: serves jobs of every scheduler and label
  // `torc run … NAME`: it takes these alone, and leaves when they have ended. Null: all.
  std::shared_ptr<const std::vector<claim::JobRange>> only;
  // As what it enters the node ledger, but for its processes and store; none: it minds nobody.
  std::optional<exec::NodeMember> node;
  exec::NodePlace node_place;            // where the ledger may be
  std::optional<exec::StepTerms> steps;  // jobs are steps of Slurm (mode slurm)
  slurm::RunProgram run_program;
  std::function<std::string()> mountinfo;  // what is mounted now; empty: not known
  // As exec::kill_tagged(), in tests; empty: that.
  std::function<exec::Leftovers(const std::vector<std::string>&, const exec::Origin&)> end_tagged;
  std::string warning;  // what the person who set it up should know; empty: nothing
};

// A job that is over, whatever it came to; not one that is tried again.
struct JobEnd {
  claim::ClaimToken token;
  std::uint64_t worker = 0;  // that had it
  std::string label;         // as WorkerEvents::label said when it started
  claim::JobState state{};
  claim::Outcome outcome;
};

struct PreparedJob;  // lib/worker/jobs/job_command.h

// Whether a worker is to start nothing more: what runs may end by itself (soon), or is ended (now)
// and given back.
enum class Halt : std::uint8_t { no, soon, now };

// What a worker tells while it runs, and asks; any may be empty.
struct WorkerEvents {
  std::function<void(const claim::WorkflowState&)> progress;  // after every commit
  // Something is to be shown at that moment, whatever else happens; then it is.
  std::function<std::optional<BootTime>()> show_at;
  std::function<void()> show;
  std::function<std::string(const PreparedJob&)> label;  // for `ended`
  std::function<void(const JobEnd&)> ended;  // before it is reported; its output is complete
  std::function<Halt()> halt;                // asked after each `ended`, before a start
  std::function<void(const std::string& name, const std::string& how)> failure;
  std::function<void(const std::string& line)> notice;  // something a person should read
  std::function<void(const std::string& line)> asked;   // what a person asked for (SIGUSR1)
};

// Signals that a worker reads through a descriptor; blocked in every thread by
// block_worker_signals().
[[nodiscard]] sigset_t worker_signals();
void block_worker_signals();

// Registers, works and releases. An Error means that the store became unusable; jobs were ended
// before.
Result<WorkerSummary> work(const workflow::Context& context, std::unique_ptr<store::Store> store,
                           const WorkerSetup& setup, const WorkerEvents& events);

}  // namespace torc::worker
