// From flags, Slurm's environment and the machine to what a worker may use: shared by `torc worker`
// and `torc run`.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/store/mount/mount_facts.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/text/outcome_text.h"
#include "lib/workflow/context/context.h"

namespace torc::worker {

// As the command line fills them.
struct WorkerOptions {
  std::string store;
  std::optional<std::uint32_t> cpus;
  std::optional<ByteCount> memory;
  std::optional<std::uint32_t> gpus;
  std::vector<std::string> resources;  // NAME=AMOUNT, NAME=[a,b], NAME=8000-8009, gpus/TYPE=N
  std::optional<std::uint64_t> max_parallel_jobs;
  std::string scheduler;
  std::vector<std::string> labels;  // each one label, or several with commas between them
  bool also_unlabelled = false;     // with labels: jobs that ask for none, too
  std::string group;                // with whose nodes jobs of several nodes may have this one
  std::string node_name;            // of this node within the group
  std::optional<std::chrono::seconds> time_limit;
  std::optional<std::chrono::seconds> idle_timeout;
  std::optional<std::chrono::seconds> workers_idle;
  bool node_is_shared = false;
  std::optional<std::chrono::seconds> grace;  // from SIGTERM to the end of the last job
  std::optional<std::chrono::seconds> lease_ttl;
  std::string output_dir;
  std::string workdir;   // where its jobs run; empty: where the store says
  bool no_bell = false;  // it only looks now and then
  std::string bell_interface;
  bool overcommit = false;  // takes no notice of other workers on the node
  bool quiet = false;
};

enum class Place : unsigned char { allocation, laptop };  // `torc worker`, `torc run`

// Runs programs with the environment of this process, each for at most `limit`: squeue and the
// like.
[[nodiscard]] slurm::RunProgram query_program(const workflow::Context& context,
                                              std::chrono::nanoseconds limit);

// Whose nodes jobs of several nodes may have together, and how the others of the group reach this
// one.
struct GroupPlace {
  std::string group;  // empty: of none
  std::string node_name;
  std::uint32_t most_nodes = 0;  // that it can ever have; 0: not known
};
// As the options say; in an allocation (`allocation`, empty: none) else one run of it, by Slurm's
// names. All that is asked is in `env`, which all workers of the allocation have alike: what one of
// them could not learn would put it into a group of its own. Error invalid: a name is none.
Result<GroupPlace> place_in_group(const WorkerOptions& options, const exec::GetEnv& env,
                                  const std::string& allocation, const std::string& slurm_node,
                                  const std::string& host);

// What `--resource` says of the machine; see docs/user/resources.md. Error invalid: it makes no
// sense, or there are not so many GPUs.
Result<void> add_told_resources(const std::vector<std::string>& told, exec::Machine& machine);

// Why a lease of that length ends there although its worker lives; empty: it is long enough.
[[nodiscard]] std::string too_short(std::chrono::seconds lease, const store::MountFacts& facts);

// What the flags leave open, `settings` of the spec say: the lease, and what of an allocation is
// kept free at its end.
Result<WorkerSetup> make_worker_setup(const workflow::Context& context,
                                      const WorkerOptions& options, const Path& store, Place place,
                                      const spec::RunSettings& settings);

// In a later life of a worker: what the user allowed it counts from its first one, by whose margins
// it goes on; when its allocation ends is what was told now.
void go_on_by(const EndMargins& first, WorkerSetup& setup);

}  // namespace torc::worker
