// Rings the idle workers that there is work for, after a commit that made more jobs ready than it
// took, that gave back of a limit what ready jobs waited for, or that ended the workflow. What it
// does decides nothing: a bell that is lost costs the time to the next poll.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/queries/freed_limits.h"
#include "lib/claim/queries/idle_workers.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/transaction.h"
#include "lib/worker/bell/message.h"

namespace torc::worker {

// What carries bells, and loses, delays, repeats and forges them as it likes.
class Datagrams {
 public:
  virtual ~Datagrams() = default;
  // Does not wait; whether it comes nobody learns.
  virtual void send(const claim::BellAddress& to, std::string_view bytes) = 0;
};

// At most so many are rung for one commit, since each of them looks, and may commit; the end of the
// workflow concerns them all, and they only look.
inline constexpr std::size_t kMostRung = 64;
inline constexpr std::size_t kMostRungAtEnd = 4096;

// How many idle workers a commit rings: as many as jobs became ready that it left, and no fewer
// than `anew` of the ready ones, of which others are to be told although they were ready before.
// Pure.
struct WorkSeen {
  std::uint64_t ready = 0;  // and may be claimed
  bool over = false;        // no job runs, and none will be claimed
};
struct RingPlan {
  std::size_t most = 0;
  bool at_end = false;  // whoever it is, rather than those who could run something
};
[[nodiscard]] RingPlan whom_to_ring(const WorkSeen& before, const WorkSeen& after,
                                    std::uint64_t anew);

// One thread.
class Ringer {
 public:
  // `datagrams` null: it rings nobody. It outlives this. `self` is not rung; 0: who commits is no
  // worker.
  Ringer(Datagrams* datagrams, claim::WorkerEpoch self, std::string boot_id)
      : datagrams_(datagrams), self_(self), boot_id_(std::move(boot_id)) {}

  // In a commit, before and after what it does; each time its body runs. What cannot be read is for
  // the rest of the body to find. A worker that took jobs and left others tells one of them `anew`,
  // for then there are more of the kind.
  void before(const claim::Reader& reader);
  void after(const claim::Reader& reader, std::uint64_t anew, WallTime now);
  // The same, of workers that the commit concerns whatever they wait for: members of a gang that it
  // changed. Each of them hears it at once.
  void concern(const claim::Reader& reader, std::span<const claim::WorkerEpoch> workers);
  // The same, of all whom it concerns. Not for exchanges, which say that.
  void concern_changed(const claim::Transaction& tx);
  // It is in the chain under this number.
  void ring(std::uint64_t commit, const StoreInstance& store);

 private:
  Datagrams* datagrams_;
  claim::WorkerEpoch self_;
  std::string boot_id_;
  WorkSeen before_;
  claim::SlotsTaken taken_before_;
  std::vector<claim::IdleWorker> concerned_;
  std::vector<claim::IdleWorker> idle_;
  void ring(const claim::IdleWorker& worker, std::uint32_t place, std::uint64_t commit,
            const StoreInstance& store);
};

}  // namespace torc::worker
