// Who is the last worker of an allocation ends it: whatever became of srun, of the batch script or
// of the node that ran it, nobody shall pay for nodes on which nothing runs. Only of one whose
// batch script is under `torc supervise`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/worker.h"
#include "lib/slurm/query.h"
#include "lib/worker/loop/worker.h"
#include "lib/workflow/context/context.h"

namespace torc::worker {

// Whether a worker that has left was the last one of its allocation. It may go as soon as another
// one is known to live or to have left after it: then that one sees to the end. So exactly one is
// the last, also when some have died and are still taken for living.
class LastWorker {
 public:
  // One of the same allocation, as it is now.
  struct Other {
    claim::WorkerEpoch epoch{};
    claim::WorkerStatus status = claim::WorkerStatus::registered;
    std::uint64_t renewals = 0;
    std::optional<std::uint64_t> heartbeats;  // nullopt: none was read
    std::chrono::nanoseconds ttl{};           // the silence that it may keep, as it is seen here
    bool is_seen = true;                      // false: what it says could not be read this time
  };
  enum class Verdict : std::uint8_t { last, another, unclear };
  // Of more than so many at least one lives: they are not waited for.
  static constexpr std::size_t kFew = 8;
  // `others`: who is registered, and whoever was at an earlier look; `to_come`: how many of those
  // that were started have not registered yet; `now`: just before they were read. At the first look
  // this worker has left. Time between two looks that lie further apart than kHealthyGap was not
  // healthy, this process or its filesystem stood still, and counts as silence of nobody.
  static constexpr std::chrono::seconds kHealthyGap{15};
  Verdict look(const std::vector<Other>& others, std::uint64_t to_come, BootTime now);

 private:
  struct Seen {
    Other first;
    std::chrono::nanoseconds silent{};
  };
  BootTime looked_at_{};
  std::optional<std::map<claim::WorkerEpoch, Seen>> seen_;
};

// How many of `started` workers, on a host each, are still to register, where those on `came` hosts
// have. One that has nothing to do leaves at once, while others are still opening the store. Since
// `since` they start; who has not come after kToCome is not waited for.
inline constexpr std::chrono::seconds kToCome{120};
[[nodiscard]] std::uint64_t still_to_come(std::uint64_t started, std::uint64_t came, WallTime since,
                                          WallTime now);

// After worker `self` has left the store at `store`. Blocks until another one sees to the end of
// the allocation, or Slurm was told to end it, or a signal of worker_signals() came, which the
// caller has blocked. What the store or Slurm does not answer is asked again, for a minute, and
// `notice` says so; it must be one. The allocation is ended only if nothing else than workers runs
// in it. Since `started` it and others, as many as Slurm's variables say, have been starting.
void see_to_end_of_allocation(const workflow::Context& context, const Path& store,
                              claim::WorkerEpoch self, WallTime started,
                              const slurm::RunProgram& run,
                              const std::function<void(const std::string&)>& notice);

}  // namespace torc::worker
