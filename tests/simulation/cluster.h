// The simulated cluster: the store that all nodes share, the nodes, their processes, Slurm, and
// what must hold whatever happens.
//
// Real: the worker's state machine (lib/worker/machine), what its store's thread does
// (worker::StoreSide with the LeaseKeeper and its heartbeats), the claims (lib/claim on a store of
// engine lmdb). Simulated: time, the filesystem below the heartbeats (lib/store/testing/test_nfs.h:
// stale names, lost replies), commits that take time, hang, are refused or have an unknown outcome,
// processes, signals, the watchdog of each worker, Slurm. The journal protocol itself is explored
// by tests/property (nfs_property).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/slurm/query.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"
#include "tests/simulation/world.h"

namespace torc::simulation {

class Process;

// What a job is fated to do.
struct JobFate {
  double seconds = 1;
  bool fails_once = false;
  bool crashes = false;
};

struct Figures {
  std::uint64_t commits = 0;
  std::uint64_t runs = 0;     // starts of jobs
  std::uint64_t lives = 0;    // registrations of workers
  std::uint64_t lost = 0;     // leases
  std::uint64_t refused = 0;  // results
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
  [[nodiscard]] const JobFate& fate_of(JobId job) const { return fates_[raw(job)]; }
  Figures figures;

  // --- what happens to jobs, for the checks ---
  // One attempt begins to run, on a node; goes on or stands still; is over.
  void run_begins(const Process& process, std::uint64_t run, const claim::ClaimToken& token,
                  bool alone);
  void run_is_active(const Process& process, std::uint64_t run, bool active);
  void run_ends(const Process& process, std::uint64_t run, bool by_itself, int exit_code);
  // After each commit.
  void committed(const store::Reader& reader);

  // --- the node and Slurm ---
  [[nodiscard]] Process* process(std::uint64_t pid);
  [[nodiscard]] slurm::AllocationState state_of(const slurm::Allocation& allocation) const;
  [[nodiscard]] std::vector<Process*> processes_on(const Node& node);
  void start_process(Node& node);

 private:
  struct Run {
    const Process* process = nullptr;
    claim::ClaimToken token;
    bool alone = false;
    bool active = false;
    bool over = false;
    bool by_itself = false;
    int exit_code = 0;
  };
  using RunKey = std::pair<std::uint64_t, std::uint64_t>;  // process, run

  void make_store(const Path& scratch);
  void schedule(const Fault& fault);
  void happen(const Fault& fault);
  void thaw(Node& node);
  void become_calm();
  void cancel(JobId job);
  [[nodiscard]] bool is_over();
  void check_end();
  void count_busy(int more);
  void check_job(JobId id, const claim::Job& job);

  const Scenario& scenario_;
  World& world_;
  std::unique_ptr<store::Store> state_;
  store::PosixDisk disk_;
  SystemClock clock_;
  SeededEntropy entropy_;
  std::vector<JobFate> fates_;
  std::set<std::uint64_t> canceled_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::string, slurm::AllocationState> ended_allocations_;
  std::map<RunKey, Run> runs_;
  std::map<std::uint64_t, std::vector<RunKey>> runs_of_;  // by job
  std::uint64_t completed_ = 0;
  // Where nothing is checked: the jobs of runs, when those of chains ended, what runs now.
  std::map<RunKey, std::uint64_t> unchecked_;
  std::vector<Time> ended_at_;
  std::int64_t active_ = 0;
  Time busy_since_{};
  bool all_over_ = false;
  bool given_up_ = false;  // a job was, for all that it was interrupted
};

}  // namespace torc::simulation
