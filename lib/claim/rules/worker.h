// A worker as the claims see it: what it registered with, and how it is. Values; what reads them is
// in workers.h, what changes them in membership.h and exchange.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/resources.h"
#include "lib/base/siphash.h"
#include "lib/base/units.h"
#include "lib/claim/rules/job.h"

namespace torc::claim {

// Where a worker hears that there may be work (lib/worker/bell), and the secret that such a word is
// made with.
struct BellAddress {
  std::string address;  // 4 bytes of IPv4 or 16 of IPv6, in the order of the network
  std::uint16_t port = 0;
  auto operator<=>(const BellAddress&) const = default;
};
inline constexpr std::size_t kMostBellAddresses = 4;
struct BellPlace {
  std::vector<BellAddress> addresses;  // one to kMostBellAddresses of them
  SipKey key{};
  auto operator<=>(const BellPlace&) const = default;
};

struct WorkerInfo {
  std::string host;
  std::uint64_t pid = 0;
  std::uint64_t pid_start = 0;  // field 22 of /proc/pid/stat, clock ticks since boot
  std::string boot_id;
  std::string pid_namespace;
  std::vector<std::uint64_t> above;  // its parent, that one's, … when it began; empty: not known
  std::string user;  // uid and user namespace: whose processes its jobs are; empty: not known
  // Slurm job id ("1234", "1234_7"), or that of the launcher's batch system; empty without one.
  std::string allocation;
  std::string cluster;  // of which Slurm the id is; empty: not known, so it means nothing to Slurm
  WallTime allocation_start{};  // as Slurm says it; a requeued one has another; 0: not known
  std::string node;             // Slurm's name of this node, as in its lists; empty: not known
  // After which that Slurm gives up a node, as this worker knows it: it pauses its jobs by it
  // (pause_limit() of lease.h); 0: not known.
  std::chrono::seconds node_timeout{0};
  std::string group;      // whose nodes a job of several nodes may have together; empty: of none
  std::string node_name;  // of its node within the group, by which the others reach it
  std::string scheduler;
  std::string labels;              // as lib/base/labels.h writes them
  bool also_unlabelled = true;     // though it has labels, it serves jobs that ask for none
  bool any_binding = false;        // it serves every scheduler and label (`torc run`)
  bool ignores_resources = false;  // it counts jobs and nothing else (--max-parallel-jobs)
  // The number of its allocation in the ledger (allocation.h); 0: it was not submitted for it.
  std::uint32_t ledger_entry = 0;
  std::string output_dir;  // where it keeps its jobs' output; empty: in the store
  std::uint32_t cpus = 0;
  std::uint32_t gpus = 0;
  ByteCount memory;
  Resources more = no_resources();  // of the kinds that came later
  WallTime registered_at{};
  WallTime ends_at{};                       // end of its walltime; 0: none, or not known
  bool end_is_told = false;                 // by Slurm, or nobody would tell it: else it is assumed
  std::chrono::seconds lease_ttl{300};      // as asked for; among many workers leases are longer
  std::chrono::seconds lease_heartbeat{0};  // as asked for; 0: as heartbeat_interval() has it
  WallTime claims_from{};         // when its first claim is due, see turn_to_claim() of pace.h
  std::optional<BellPlace> bell;  // none: it only looks now and then
  // Set by register_worker(): one of the first store::kOwnHeartbeatFiles.
  bool own_heartbeat_file = false;
};

enum class WorkerStatus : std::uint8_t { registered, released, expired };
[[nodiscard]] constexpr std::string_view to_string(WorkerStatus status) {
  constexpr std::string_view kNames[] = {"registered", "released", "expired"};
  return kNames[static_cast<std::size_t>(status)];
}

struct Worker {
  WorkerEpoch epoch{};
  WorkerInfo info;
  WorkerStatus status = WorkerStatus::registered;
  WallTime last_seen{};        // wall time that it wrote with its newest commit; for people
  WallTime gone_at{};          // when it left, or another one ended its lease; 0: it lives
  std::uint64_t renewals = 0;  // counter that changes with every commit of the worker
  std::uint64_t held = 0;      // jobs that it holds now
  std::uint64_t ending = 0;    // canceled jobs that it has not yet reported as ended
  std::uint64_t finished = 0;  // jobs that it brought to an end; those to run again do not count
  std::chrono::seconds ttl{};  // the silence that it may keep, as of its newest commit
  bool barred = false;         // by bar_worker()
  std::uint64_t acting = 0;    // actions that it runs
  bool in_gang = false;        // it is part of a job of several nodes
  bool reserved = false;       // its node is kept for one that waits, as it was told
  // Of its attempts that have ended; 0 also where nobody asks for it, see Lease.
  std::uint64_t used_core_ms = 0;
};

// Whether both are of one run of one allocation. Who did not know at its begin when that began
// learns it later.
[[nodiscard]] inline bool are_of_one_allocation(const WorkerInfo& a, const WorkerInfo& b) {
  const bool one_run = a.allocation_start == b.allocation_start ||
                       a.allocation_start.count() == 0 || b.allocation_start.count() == 0;
  return a.allocation == b.allocation && a.cluster == b.cluster && one_run;
}

// How much there is to do, and among how many. O(1).
struct WorkflowLoad {
  std::uint64_t workers = 0;             // registered
  std::uint64_t hosts = 0;               // with at least one of them
  std::chrono::milliseconds job_time{};  // how long jobs run lately; 0: not known
  std::uint64_t ready = 0;               // jobs
};

}  // namespace torc::claim
