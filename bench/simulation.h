// A workflow on many nodes in one process, in simulated time: discrete events, one seed, the same
// figures on every machine.
//
// Real: the claims (exchange, registration, expiry, release: lib/claim on a store of engine lmdb),
// the whole policy of a worker (claim::Pace, claim::Entrance), its lease (worker::LeaseKeeper with
// its beats, looks and expiries, store::write_beat and read_beat). Modelled: jobs (they end after a
// while), the journal (a commit lists, reads what others committed, publishes, and starts over when
// another was first; how many requests each step takes is measured on the real journal engine, see
// journal_cost.h), the time a request takes (a heavy tail), and the loop that starts jobs and calls
// all that, which in `torc` is worker::Session. One worker is one node: the worst case, since
// workers of a node share what they read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/journal_cost.h"
#include "bench/measure.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/workflow_state.h"

namespace torc::bench {

// One worker, or all of them, cannot reach the filesystem, or does not run at all.
struct Trouble {
  enum class What : std::uint8_t {
    filesystem,  // its calls hang; its jobs run on
    pause,       // the machine stands still, jobs and all; its clock of time since boot goes on
    lost_time,   // the same, and its clock of time since boot misses the time
    dead         // it and its jobs are gone
  };
  What what = What::filesystem;
  std::uint64_t first = 0;  // workers, by number
  std::uint64_t last = UINT64_MAX;
  std::chrono::seconds from{};
  std::chrono::seconds until{};
};

struct Scenario {
  std::uint64_t workers = 10;
  std::uint32_t slots = 16;  // jobs at once on each
  double job_seconds = 10;   // of a job, +-50 %
  std::uint64_t jobs = 0;    // 0: more than can ever be done
  claim::Plan plan;          // when it has templates, instead of `jobs`; all of one class
  std::chrono::seconds lease_ttl{300};
  std::chrono::seconds measured_from{0};
  std::chrono::seconds ends{600};  // or when all jobs have ended
  std::vector<Trouble> troubles;
  bool wall_clocks_jump = false;  // of each worker, by hours, back and forth, every minute
  std::uint64_t seed = 1;
};

struct Figures {
  // Means over the measured time.
  double commits = 0;  // per second, as the next
  double beats = 0;
  double requests = 0;
  double transitions = 0;  // claims and ends of jobs
  double idle = 0;         // part of the slots of registered workers that runs nothing
  // Of the whole run.
  double most_commits = 0;  // a second, in the worst minute
  double most_beats = 0;    // the same
  std::uint64_t beat_files = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t expired = 0;    // workers, by others
  std::uint64_t fenced = 0;     // workers that stopped their jobs since they could not renew
  std::uint64_t refused = 0;    // results of former workers
  std::uint64_t completed = 0;  // jobs
  std::uint64_t runs = 0;       // starts of jobs
  double ended_at = 0;          // s: when the last job ended
  claim::WorkflowState workflow;
};

// The store is made in `scratch` (memory is best). An Error: the claims contradicted themselves.
Result<Figures> simulate(const Scenario& scenario, const JournalCost& cost, const Path& scratch);

}  // namespace torc::bench
