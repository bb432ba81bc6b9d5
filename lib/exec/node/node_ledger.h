// The node ledger: what the workers of one user on one node hold of it, so that together they never
// use more CPUs, memory or GPUs than there are, whichever stores they work for.
//
// A file in memory that all of them map:
//   <root>/torc-<uid>/node-<boot id>-<pid namespace>
// private to the user, guarded by flock(2), which ends with its holder, however that ends. A worker
// enters it with what it may use (NodeMember), takes blocks and gives them back; what processes
// held that have gone is free as soon as somebody wants it. The file is disposable: whoever finds
// it deleted, damaged or cut short makes it anew, and those who still hold something enter again.
// The last one removes it.
//
// Costs: a take is a flock and its release (about a microsecond, more with many workers), giving
// back no system call while nobody waits. So workers take for a whole batch of claims, not for each
// job. One thread. Where others may cut it short: mind_shared_mappings() (shared_mapping.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/node/node_table.h"

namespace torc::exec {

class NodeLedger {
 public:
  virtual ~NodeLedger() = default;  // leaves

  // Enters as `member`. Errors: unsupported (no directory can be used, no lock), permission
  // (somebody else prepared it), no_space (more workers than it has room for, or no memory). In all
  // cases a worker can do without. While somebody else has the lock for long it has not entered
  // yet: it holds nothing, and take() tries again.
  static Result<std::unique_ptr<NodeLedger>> enter(const NodePlace& place, const NodeMember& member,
                                                   Clock& clock);

  // Of all that are there; none when there is no ledger. Enters nothing and makes nothing.
  static Result<std::vector<NodeEntry>> look(const NodePlace& place);

  // What this worker holds now.
  [[nodiscard]] virtual const NodeHolding& holding() const = 0;
  [[nodiscard]] virtual const NodeMember& member() const = 0;

  // Takes up to `want` more. Where others have waited longer it takes nothing for kHeadStart after
  // something became free, and says when to try again.
  struct Taken {
    bool complete = false;          // all of `want`, or all that there is: nobody else is there
    std::optional<BootTime> again;  // it is others' turn until then, or the lock was busy
  };
  virtual Taken take(const NodeAmount& want) = 0;
  // What take() could add to the holding if it were this worker's turn. Needs no lock and promises
  // nothing.
  [[nodiscard]] virtual NodeHolding could_hold() const = 0;

  // Keeps `rest`, a part of what is held, and gives back everything else; wakes those who wait. To
  // give back particular CPUs or GPUs is to leave them out.
  virtual void keep(const NodeHolding& rest) = 0;

  // Whether this worker waits for more; that makes bell() ring when somebody gives something back.
  virtual void wait_for_more(bool waits) = 0;
  // Readable after something was given back while this worker waited. -1: cannot be had; look from
  // time to time, which is needed anyway because a process that is killed rings for nobody.
  [[nodiscard]] virtual int bell() = 0;
  virtual void silence_bell() = 0;

  // So many CPUs, and all GPUs and memory not in use, should be given to somebody who waits long
  // and has less. 0: keep them. A short turn is over before its holder gives anything away.
  [[nodiscard]] virtual std::uint32_t owed_to_others() const = 0;

  // False after the ledger was lost and others may have taken what was held but not used: then
  // call reenter() with what is in use, which is all that is held then. `in_use` may be more than
  // there is.
  [[nodiscard]] virtual bool is_there() const = 0;
  virtual void reenter(const NodeHolding& in_use) = 0;

  // Time of its own that who waited longest has, before others may take what became free.
  static constexpr std::chrono::nanoseconds kHeadStart = std::chrono::milliseconds(20);
  // While others wait, a worker keeps what it holds so long before it gives up a part of it.
  static constexpr std::chrono::nanoseconds kTurn = std::chrono::milliseconds(500);
};

}  // namespace torc::exec
