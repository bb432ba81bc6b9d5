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
    std::chrono::seconds ttl{};               // the silence that it may keep
  };
  enum class Verdict : std::uint8_t { last, another, unclear };
  // Of more than so many at least one lives: they are not waited for.
  static constexpr std::size_t kFew = 8;

  // `others`: who is registered, and whoever was at an earlier look. At the first look this worker
  // has left.
  Verdict look(const std::vector<Other>& others, BootTime now);

 private:
  struct Seen {
    Other first;
    BootTime at{};
  };
  std::optional<std::map<claim::WorkerEpoch, Seen>> seen_;
};

// After worker `self` has left the store at `store`. Blocks until another one sees to the end of
// the allocation, or Slurm was told to end it, or a signal of worker_signals() came, which the
// caller has blocked. The allocation is ended only if nothing else than workers runs in it.
void see_to_end_of_allocation(const workflow::Context& context, const Path& store,
                              claim::WorkerEpoch self, const slurm::RunProgram& run,
                              const std::function<void(const std::string&)>& notice);

}  // namespace torc::worker
