// The simulated cluster: the store that all nodes share, the nodes, their processes, Slurm.
//
// Real: the worker's state machine (lib/worker/machine), what its store's thread does
// (worker::StoreSide with the LeaseKeeper and its heartbeats), when it registers
// (claim::RegistrationDelay), the claims (lib/claim on a store of engine lmdb), what is free on a
// node that workers share (exec::add_free). Simulated: time, the filesystem below the heartbeats
// (lib/store/testing/test_nfs.h: stale names, lost replies), commits that take time, hang, are
// refused or have an unknown outcome, the net between the workers' bells, processes, signals, the
// watchdog of each worker, Slurm. The journal protocol itself is explored by tests/property
// (nfs_property).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/slurm/query.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"
#include "tests/simulation/bell_net.h"
#include "tests/simulation/edited_workflow.h"
#include "tests/simulation/gangs.h"
#include "tests/simulation/promises.h"
#include "tests/simulation/world.h"

namespace torc::simulation {

class Person;
class Process;

struct Figures {
  std::uint64_t commits = 0;
  std::uint64_t runs = 0;     // starts of jobs
  std::uint64_t scripts = 0;  // of recovery scripts
  std::uint64_t actions = 0;  // of commands of actions
  std::uint64_t gangs = 0;    // of jobs of several nodes
  std::uint64_t lives = 0;    // registrations of workers
  std::uint64_t lost = 0;     // leases
  std::uint64_t refused = 0;  // results
  std::uint64_t edits = 0;    // by people, of the workflow
  std::uint64_t idle = 0;     // workers that left since nothing was used
  std::uint64_t requests = 0;
  std::uint64_t events = 0;
  Time ended{};
};

class Cluster {
 public:
  Cluster(const Scenario& scenario, World& world, const Path& scratch);
  ~Cluster();

  // Empty, or the first promise that was broken.
  std::string run();

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  World& world() { return world_; }
  store::Store& state() { return *state_; }
  Promises& promises() { return promises_; }
  Gangs& gangs() { return gangs_; }
  // null: nobody edits the workflow.
  EditedWorkflow* edits() { return edits_.get(); }
  Figures figures;

  // --- the node and Slurm ---
  [[nodiscard]] Process* process(std::uint64_t pid);
  // That is, or was, this worker; null: none.
  [[nodiscard]] Process* process_of(claim::WorkerEpoch worker);
  BellNet& bells() { return bells_; }
  // What squeue says of it.
  [[nodiscard]] slurm::AllocationNow what_of(const slurm::Allocation& allocation) const;
  [[nodiscard]] WallTime start_of(const std::string& allocation) const;
  [[nodiscard]] std::vector<Process*> processes_on(const Node& node);
  // With so many others that know of each other.
  void start_process(Node& node, int starters = 1, std::string allocation = {});
  // Somebody does, on each node that is well, if no worker is left at all.
  void start_where_nobody_is();

 private:
  // An allocation of one node of its own, and of another one that never dies.
  struct SlurmRun {
    WallTime start{1};
    std::string node;
    bool dropped = false;  // the node, or this run for another
    std::optional<slurm::AllocationState> over;
    std::optional<Time> end;
  };
  void make_store(const Path& scratch);
  void schedule(const Fault& fault);
  void happen(const Fault& fault);
  enum class Then : std::uint8_t { another, again };
  void die(Process& process, std::optional<slurm::AllocationState> how, Then then = Then::another);
  void end_allocation(Process& process, std::optional<slurm::AllocationState> how, Then then);
  void drop(Node& node);
  void requeue(Node& node);
  void move_end(Process& process, Time end);
  void stood_still(Node& node, Time time);
  void check_end_is_known(const Process& process, Time end, std::uint64_t epoch);
  void become_calm();
  void cancel(JobId job);
  [[nodiscard]] bool is_over();

  const Scenario& scenario_;
  World& world_;
  std::unique_ptr<store::Store> state_;
  store::PosixDisk disk_;
  SystemClock clock_;
  SeededEntropy entropy_;
  Promises promises_;
  Gangs gangs_{*this};
  BellNet bells_;
  std::unique_ptr<EditedWorkflow> edits_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::string, SlurmRun> allocations_;
  std::unique_ptr<Person> person_;
};

}  // namespace torc::simulation
