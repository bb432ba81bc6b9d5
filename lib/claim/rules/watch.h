// One worker's watch over its successors in the ring of the live workers: whom it looks at, and
// what its looks add up to. Values in, verdicts out; the looking itself is done by the caller.
//
// Every worker watches the next few, so a thousand workers cost a thousand times a few small reads
// a heartbeat. The more of them are silent the further it looks, so that one survivor finds all the
// dead of a large allocation within a few leases.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/lease.h"

namespace torc::claim {

class Watch {
 public:
  // What a look at a worker found.
  struct Look {
    WorkerEpoch worker{};
    std::uint64_t renewals = 0;               // of the newest state
    std::optional<std::uint64_t> heartbeats;  // nullopt: none, or one that was just being rewritten
    std::chrono::seconds ttl{};               // the longest silence that its last words allow it
    // So old may be what the look shows: of a silence so much may be the filesystem's.
    std::chrono::nanoseconds age{};
    std::chrono::nanoseconds heartbeat{};  // between two of its own, see heartbeat_of()
  };
  enum class Verdict : std::uint8_t {
    lives,
    late,    // to be looked at more often
    silent,  // it missed a heartbeat: worth asking the batch system about
    expired
  };

  // How many successors to look at now.
  [[nodiscard]] std::size_t wanted(std::chrono::nanoseconds interval) const;

  // `asked`: the moment just before the state and the heartbeat were read, so that a read which
  // hung counts as silence of nobody. `interval`: between two rounds of looks of this worker. A gap
  // of more than three of them was not healthy (this process or its filesystem stood still) and
  // counts for nothing.
  Verdict look(const Look& look, BootTime asked, std::chrono::nanoseconds interval);
  // The heartbeat counter that `worker` was last seen with; 0: none.
  [[nodiscard]] std::uint64_t heartbeats_of(WorkerEpoch worker) const;
  // The longest silence that the last words of `worker` allow it, be they a heartbeat that cannot
  // be read any more; 0: it was not looked at.
  [[nodiscard]] std::chrono::seconds ttl_of(WorkerEpoch worker) const;
  // The longest time between two of its heartbeats that any look since it was heard last, or the
  // one before, told: as others leave, one that hears nothing of it goes on with that. 0: not
  // looked at.
  [[nodiscard]] std::chrono::nanoseconds longest_heartbeat_of(WorkerEpoch worker) const;
  // Since when nothing was heard of `worker`, healthy time only.
  [[nodiscard]] std::chrono::nanoseconds silence_of(WorkerEpoch worker) const;

  // Forgets every worker that is not one of these.
  void keep_only(const std::vector<WorkerEpoch>& ring);

 private:
  struct Seen {
    Observation observation;
    std::chrono::seconds ttl{};      // with the newest heartbeat that could be read
    std::chrono::seconds allowed{};  // see ttl_of()
    std::chrono::nanoseconds newest_heartbeat{};
    std::chrono::nanoseconds longest_heartbeat{};
  };
  std::map<WorkerEpoch, Seen> seen_;
};

}  // namespace torc::claim
