// What a worker has of its node for the jobs that it runs: all that it may use when it is alone, a
// part when it shares the node with other workers (lib/exec/node/node_ledger.h). One thread.
//
// It is taken in blocks: everything there is before an exchange with the store, so that the worker
// claims what it can run; what the claimed jobs do not need is given back after the answer, and
// what ended jobs had stays for the next ones as long as there are any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/claim/rules/plan.h"
#include "lib/exec/machine/machine.h"
#include "lib/exec/node/node_ledger.h"

namespace torc::worker {

class NodeShare {
 public:
  // `ledger` null: the worker is alone, and all of `machine` is its own. `machine` outlives this.
  NodeShare(const exec::Machine& machine, std::unique_ptr<exec::NodeLedger> ledger, Clock& clock);

  // Of what it has now, in use by no job.
  [[nodiscard]] std::uint32_t free_cpus() const;
  [[nodiscard]] ByteCount free_memory() const;
  [[nodiscard]] std::uint32_t free_gpus() const;
  // In use or not.
  [[nodiscard]] std::uint32_t cpus() const { return has_.cpu_count(); }
  [[nodiscard]] std::uint32_t used_cpus() const { return used_.cpus; }
  [[nodiscard]] bool fits(const claim::Requirement& need) const;

  // Others have what it might use beyond what it has; as of the newest grow().
  [[nodiscard]] bool is_limited() const { return limited_; }
  // It could have more CPUs, as far as is known.
  [[nodiscard]] bool may_grow() const { return !tried_ && cpus() < machine_.cpus; }

  // Takes everything there is.
  void grow();
  // The same for a job that does not fit, unless that was tried with no less; whether it fits now.
  bool grow_for(const claim::Requirement& need);
  // Gives back what no job uses; CPUs only if they are not to be kept for jobs that come soon.
  enum class Cpus : std::uint8_t { keep, give };
  void give_back_free(Cpus cpus);
  // What was offered to the store was not enough for any of its jobs: waits for more than that.
  void wait_for_more();
  // It starts nothing more.
  void stop_waiting();
  // Others wait for a part of what it has, or it uses more than it has: it is to use less.
  [[nodiscard]] bool owes() const;
  // Gives up a part of what is free for others who have less and wait; whether it did.
  bool let_others();

  // Names of the GPUs that the job gets. Precondition: fits(), unless resources are ignored.
  std::vector<std::string> take(const claim::Requirement& need);
  void put_back(const claim::Requirement& need, const std::vector<std::string>& gpus);

  // Which CPUs, for jobs that are bound to theirs. Pinned ones are kept as long as they are.
  // Without a ledger a worker has so many CPUs, and none by number.
  [[nodiscard]] bool names_cpus() const { return ledger_ != nullptr; }
  [[nodiscard]] exec::CpuSet unpinned_cpus() const { return has_.cpus - pinned_; }
  void pin(const exec::CpuSet& cpus) { pinned_ = pinned_ | cpus; }
  void unpin(const exec::CpuSet& cpus) { pinned_ = pinned_ - cpus; }

  // To be looked at after fd() was readable or wake_at() came: whether there is more now than was
  // tried in vain. -1 and nullopt: nothing is waited for.
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::optional<BootTime> wake_at() const { return wake_at_; }
  bool look();
  // Since when it waits for more and has no CPU at all; 0: it has some, or does not wait.
  [[nodiscard]] BootTime starved_since() const {
    return tried_ && cpus() == 0 ? has_.waiting_since : BootTime{};
  }
  // Before free parts are used: whether they are still this worker's. They are not after the ledger
  // was lost, or the worker was stopped for long.
  void check();

 private:
  struct Used {
    std::uint32_t cpus = 0;
    ByteCount memory;
    std::uint64_t gpus = 0;
  };
  [[nodiscard]] exec::NodeHolding in_use() const;
  [[nodiscard]] ByteCount memory() const { return has_.memory + has_.own_memory; }
  void wait();

  const exec::Machine& machine_;
  std::unique_ptr<exec::NodeLedger> ledger_;
  Clock& clock_;
  exec::NodeHolding has_;
  Used used_;
  exec::CpuSet pinned_;
  bool limited_ = false;
  // What was free when it did not suffice, while more is waited for.
  std::optional<exec::NodeAmount> tried_;
  std::optional<BootTime> again_;  // it is others' turn until then
  std::optional<BootTime> wake_at_;
  int fd_ = -1;
};

}  // namespace torc::worker
