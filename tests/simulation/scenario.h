// What happens in one simulated life of a workflow: workers on nodes, jobs, and everything that
// goes wrong. A value that follows from a seed; a smaller one that still fails says more
// (shrink.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/claim/rules/action.h"

namespace torc::simulation {

using Time = std::chrono::nanoseconds;  // since the beginning

struct Fault {
  enum class What : std::uint8_t {
    stall,            // no node reaches the filesystem
    partition,        // the node does not
    freeze,           // the node stands still, jobs and all; its clock of time since boot goes on
    suspend,          // the same, and its clock of time since boot misses the time
    node_death,       // the node is gone, for good
    worker_kill,      // SIGKILL to a worker; its jobs end with it
    worker_stop,      // SIGSTOP to a worker, SIGCONT at the end
    worker_term,      // SIGTERM to a worker
    allocation_kill,  // SIGTERM to everything on the node, SIGKILL 30 s later; Slurm says so
    lost_replies,     // of requests of the node to the filesystem
    full_disk,        // nothing can be written
    clock_jump,       // of the node's wall clock
    cancel,           // somebody cancels a job
    ledger_loss,      // somebody deletes the node's ledger
    dead_mount,       // a filesystem that the jobs of the node need does not answer
    // In Slurm only:
    node_lost,  // the node reaches neither the filesystem nor Slurm, which drops it after a while
    requeue,    // SIGTERM to all on the node, SIGKILL 30 s later, and another run of the same id
    end_moved   // the end of an allocation is another one
  };
  What what = What::stall;
  int target = 0;  // node, worker, or job
  Time from{};
  Time until{};
};

inline constexpr std::uint64_t kFaults = 15;  // without those in Slurm only
inline constexpr std::uint64_t kSlurmFaults = 3;

// An action of the workflow. Its commands end well, but the last one of one that fails.
struct ActionPlan {
  claim::Trigger trigger = claim::Trigger::workflow_start;
  int commands = 1;
  double seconds = 1;  // of a command, on average
  bool fails = false;
};

// By a person, who edits the workflow file.
struct Edit {
  enum class What : std::uint8_t {
    apply,     // another file
    go_back,   // to one that was there before
    remove,    // jobs are taken out
    put_back,  // some of them are there again
    again      // the file is applied once more
  };
  What what = What::apply;
  Time at{};
  std::uint64_t seed = 0;
};

struct Scenario {
  std::uint64_t seed = 1;
  int nodes = 2;
  int workers_per_node = 2;
  std::uint32_t cpus = 2;  // of each worker
  std::uint64_t jobs = 200;
  double job_seconds = 5;  // on average
  bool chained = false;    // the second half waits for the first
  bool in_slurm = false;
  std::chrono::seconds slurmd_timeout{
      300};          // after which Slurm drops a node that it does not reach
  int failing = 0;   // jobs of 1000 that fail once, and are tried again by a rule, or recovered
  int crashing = 0;  // jobs that kill their worker, whenever they run
  // Chains of jobs, each of which waits for the one before it, first of all.
  std::uint64_t chains = 0;
  std::uint64_t chain_length = 0;
  bool crossed = false;  // each of them waits for one of another chain, too: a deep graph
  std::chrono::seconds lease{30};
  // Workers of a node share so many CPUs, and as many units of memory, by its ledger; 0: each has
  // its own. Of 1,000 jobs so many need two CPUs, or two units of memory, where there are two.
  std::uint32_t node_cpus = 0;
  int wide = 0;
  int large = 0;
  // All jobs share so many licences: each has one while it runs, one that needs two CPUs or two
  // units of memory has two. 0: there is no such limit.
  std::uint32_t licences = 0;
  // Jobs of 1000 that fail once and have a recovery script, which succeeds for so many of 100.
  int recovered = 0;
  int good_scripts = 100;
  double script_seconds = 1;  // on average
  std::vector<ActionPlan> actions;
  // Of 1,000 jobs so many need two to `gang_nodes` nodes; of 100 of these so many run their command
  // on each. Each worker is a node, of one of `groups` groups. `declared`: all jobs say for how
  // long they run.
  int gangs = 0;
  std::uint32_t gang_nodes = 2;
  int on_each_node = 0;
  int groups = 1;
  bool declared = false;
  // Workers ring each other; so many of 100 datagrams are lost, late, repeated or forged.
  bool bells = false;
  int bell_trouble = 0;
  // So long all workers of an allocation may have had nothing before they leave; 0: for ever. All
  // are of one allocation, but in Slurm each has its own.
  std::chrono::seconds workers_idle{0};
  int starters = 1;        // workers that know of each other that they start together
  bool is_checked = true;  // else only counted, from `measured_from` on
  Time measured_from{};
  // The workflow is that of a random file (workflow_file.h) and nothing else, edited while it runs;
  // `jobs` counts for nothing then.
  bool edited = false;
  std::vector<Edit> edits;
  std::vector<Fault> faults;
  Time calm{};  // from here on nothing goes wrong, and whoever died has a successor
  Time ends{};  // everything must be over by then
};

// `no`: as it was before workflows were edited.
enum class Edits : std::uint8_t { no, some };
[[nodiscard]] Scenario scenario_of(std::uint64_t seed, Edits edits = Edits::some);
[[nodiscard]] std::string show(const Scenario& scenario);
[[nodiscard]] std::string show(const Fault& fault);
[[nodiscard]] std::string show(Edit::What what);
[[nodiscard]] std::string show(Time time);
[[nodiscard]] Time of_seconds(double seconds);

}  // namespace torc::simulation
