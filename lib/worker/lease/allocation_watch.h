// Looks at what the workers of this worker's allocation have to do. Only their own words count: a
// worker that is silent has what its lease says, until that has run out and others have taken its
// jobs over; and one whose record cannot be read may have anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/worker/machine/allocation_use.h"

namespace torc::worker {

class AllocationWatch {
 public:
  explicit AllocationWatch(claim::WorkerEpoch self) : self_(self) {}

  // The first look passes over all live workers of the store, each later one over those that have
  // come since, and reads those of the allocation. At the first one all of them count as active.
  // Error: something of them cannot be read, so that nothing is known; the next look goes on from
  // the one before.
  Result<AllocationUse> look(const claim::Reader& reader);

  // The counter of the heartbeats of a worker; nothing: it cannot be read now, or there is none.
  using ReadHeartbeat = std::function<std::optional<std::uint64_t>(const claim::Worker&)>;
  // After a look: whether one of those who hold something elsewhere has shown life since the look
  // before, by a commit or a heartbeat. Of a few of them.
  [[nodiscard]] bool others_live(const ReadHeartbeat& heartbeat);

 private:
  static constexpr std::size_t kMostOthers = 16;
  struct Other {
    claim::Worker worker;
    std::optional<std::uint64_t> heartbeats;
    bool lives = false;  // it has committed since the look before
  };
  Result<void> look_at_others(const claim::Reader& reader, const claim::WorkerInfo& own);

  claim::WorkerEpoch self_;
  std::uint64_t passed_ = 0;  // epochs up to this one
  // Counters of renewals of the others that were there at the newest look.
  std::map<claim::WorkerEpoch, std::uint64_t> renewals_;
  std::map<claim::WorkerEpoch, Other> others_;  // that hold something, of other allocations
};

}  // namespace torc::worker
