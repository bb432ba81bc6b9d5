// What the workers of one simulated node hold of it: the node ledger (lib/exec/node), without its
// file. What is free is decided by the real add_free(); whose turn it is, by the rules of
// node_ledger.h once more.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "lib/base/clock.h"
#include "lib/exec/node/node_ledger.h"

namespace torc::simulation {

class Process;

class SharedNode {
 public:
  // `process`, which is told when the bell rings, may use `most_cpus` of `cpus` and all of the
  // memory, a unit (plan.h) for each CPU.
  [[nodiscard]] std::unique_ptr<exec::NodeLedger> enter(Process& process, Clock& clock,
                                                        std::uint32_t cpus,
                                                        std::uint32_t most_cpus);
  // Somebody deletes it. Who finds out enters again; who has not is not seen by others meanwhile.
  void lose() { slots_.clear(); }

 private:
  class Ledger;
  struct Slot {
    Process* of = nullptr;
    exec::NodeEntry entry;
  };
  static bool is_gone(const Slot& slot);
  void ring(const Process& by);

  std::list<Slot> slots_;
  std::uint64_t generations_ = 0;
  BootTime released_at_{};
};

}  // namespace torc::simulation
