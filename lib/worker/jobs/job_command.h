// From a granted claim to the command that runs: environment, working directory, output files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/file/descriptor.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/rules/handler.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/request.h"
#include "lib/claim/tables/signature.h"
#include "lib/claim/tables/transaction.h"
#include "lib/exec/machine/machine.h"
#include "lib/exec/output/output_disk.h"
#include "lib/exec/run/process_host.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::worker {

// A job that lost this many workers fails instead of being handed to the next one.
inline constexpr std::uint32_t kCrashLimit = 5;

// Where job output lies when nothing else is said: logs/jobs/ in the store. A thousand jobs to a
// subdirectory, so that no directory grows without bound.
[[nodiscard]] Path default_output_dir(const Path& store);
// The directory below which no symbolic link is followed to write output: the store, where others
// may write, too, or the directory that the user has named, where files are made with the user's
// own `umask` (sharing.h).
[[nodiscard]] exec::OutputRoot output_root(const Path& store, const Path& output_dir, mode_t umask);
// Of the command on the node of a rank, where each node runs it (`launch: all`): those of rank 0
// are the job's, those of the others lie beside them.
struct OutputFiles {
  std::string out;  // empty: not kept
  std::string err;  // equal to `out` when combined
};
[[nodiscard]] OutputFiles output_files(const std::string& output_dir, JobId id,
                                       std::uint32_t attempt, spec::StdioMode mode,
                                       std::uint32_t rank = 0);
// The attempt's own directory: TORC_ATTEMPT_DIR.
[[nodiscard]] Path attempt_directory(const Path& output_dir, JobId id, std::uint32_t attempt);
// Of the recovery script that was run after the attempt, beside its output.
[[nodiscard]] Path recovery_file(const Path& output_dir, JobId id, std::uint32_t attempt);

// What a job takes and makes, by the paths of the spec, and how it looked.
struct JobFiles {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  bool may_lack_outputs = false;  // it completes by its exit code alone
  claim::Signature seen;          // its inputs when the job starts, its outputs when it ends
  [[nodiscard]] bool any() const {
    return !inputs.empty() || !outputs.empty() || !seen.user_data.empty();
  }
};

// A claimed job, ready to start.
struct PreparedJob {
  claim::Grant grant;
  std::uint32_t rank = 0;  // of the node, of a job of several
  claim::Requirement need;
  std::string name;
  spec::Stdio stdio;
  OutputFiles files;
  std::shared_ptr<const claim::Handler> handler;  // what to do when it fails; null: nothing
  claim::RetryCounts retries;
  ByteCount memory_ceiling;       // what its handler may give it at most
  bool has_alternatives = false;  // of what it needs
  int checkpoint_exit_code = 0;   // 0: none
  std::uint32_t crash_limit = 0;  // of a grant that runs alone: workers that it may take with it
  JobFiles declared;              // seen: user data only
  spec::Launch launch;            // of a job of several nodes
  bool is_gang_step = false;      // its command is an srun that torc has put before it
  bool lacks_node_list = false;   // its nodes are too many for a variable, see GangVariables
  exec::Command command;  // env lacks what depends on the moment of the start (GPUs, end time)
};

// The variables by which all that runs for a worker is known, "NAME=value".
[[nodiscard]] std::vector<std::string> worker_tags(const std::string& workflow_id,
                                                   claim::WorkerEpoch self);

// Where the output of a run of an action is kept, of all its commands and both streams. `of` 0: a
// run of the workflow's, its `nth`; else of this worker.
[[nodiscard]] Path action_file(const Path& output_dir, std::uint32_t action, std::uint32_t nth,
                               claim::WorkerEpoch of);

// What all jobs of one worker have in common. `environment` is the worker's own; `machine`: what it
// hands out, whose GPUs each job is told of when it starts.
class JobPreparer {
 public:
  // `directory`: where jobs run. `self`: 0 for a worker that is none yet.
  JobPreparer(Path store, const std::string& workflow_id, workflow::WorkflowSettings settings,
              Path directory, Path output_dir, char** environment, const exec::Machine& machine,
              claim::WorkerEpoch self = {});

  // nullopt: the job's recipe cannot be read (a damaged store).
  [[nodiscard]] std::optional<PreparedJob> prepare(workflow::RecipeBook& book,
                                                   const claim::Reader& reader,
                                                   const claim::Grant& grant) const;
  // Of a job of several nodes, when it is about to start as the part's rank: what its command finds
  // of its nodes, the files that tell it, and below Slurm the step that it becomes. May be
  // repeated. Error: a file could not be written.
  [[nodiscard]] Result<void> join_gang(PreparedJob& job, const claim::GangPart& part,
                                       mode_t umask) const;
  // A command of the workflow that is no job's: its environment, directory and way of ending.
  [[nodiscard]] exec::Command plain_command(std::string line) const;
  [[nodiscard]] const workflow::WorkflowSettings& settings() const { return settings_; }
  [[nodiscard]] const Path& directory() const { return directory_; }
  [[nodiscard]] const Path& output_dir() const { return output_dir_; }
  [[nodiscard]] exec::OutputRoot output_root(mode_t umask) const {
    return worker::output_root(store_, output_dir_, umask);
  }

 private:
  void enter_slurm(std::vector<std::string>& base, const std::string& node);
  [[nodiscard]] std::vector<std::string> step_of(const claim::Requirement& need,
                                                 const claim::ClaimToken& token,
                                                 std::uint32_t rank) const;
  void set_share(std::vector<std::string>& env, const claim::Requirement& need) const;

  Path store_;
  workflow::WorkflowSettings settings_;
  Path directory_;
  Path output_dir_;
  std::shared_ptr<const std::vector<std::string>> base_env_;  // of actions
  std::shared_ptr<const std::vector<std::string>> jobs_env_;  // without what tells of all GPUs
  // Of jobs of several nodes: without what tells of one.
  std::shared_ptr<const std::vector<std::string>> gangs_env_;
  std::string workflow_id_;
  std::uint32_t allocation_nodes_ = 0;  // of Slurm's allocation
  bool user_sets_omp_ = false;
  exec::Machine machine_;
  bool in_slurm_ = false;     // the worker is a task of Slurm
  bool makes_steps_ = false;  // each job is one (mode slurm)
  std::string slurm_node_;
  Descriptor slurm_hosts_;  // the hosts file of its jobs' steps
};

}  // namespace torc::worker
