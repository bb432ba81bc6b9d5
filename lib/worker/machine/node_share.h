// How a worker comes to what it has of its node for the jobs that it runs: all that it may use when
// it is alone, a part when it shares the node with other workers (lib/exec/node/node_ledger.h).
// What jobs do with it is in share_use.h. A value: what is to be taken, kept or waited for is a
// command, and the answer tells what became of it.
//
// It is taken in blocks: everything there is before an exchange with the store, so that the worker
// claims what it can run; what the claimed jobs do not need is given back after the answer, and
// what ended jobs had stays for the next ones as long as there are any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/claim/rules/plan.h"
#include "lib/exec/node/node_table.h"
#include "lib/worker/machine/command.h"
#include "lib/worker/machine/event.h"
#include "lib/worker/machine/share_use.h"

namespace torc::worker {

// Why no recovery script is started in the place of a job.
inline constexpr const char* kShareLost =
    "other workers may use by now what the job had of this node";

class NodeShare {
 public:
  // The most that the worker may use. The first 64 pieces count.
  struct Most {
    std::uint32_t cpus = 1;
    ByteCount memory;
    std::vector<std::string> gpus;
    // With a ledger: how many of the pieces it knows, GPUs and others. None: the worker is alone,
    // and has all of it.
    std::optional<std::uint32_t> ledger_gpus;
    std::vector<std::string> gpu_kinds = {};  // as in Pieces
    std::vector<exec::MachinePiece> pieces = {};
    std::vector<std::uint32_t> gpu_groups = {};
    Amounts sums = {};
    [[nodiscard]] exec::NodeSums all_sums() const;
  };
  NodeShare() : NodeShare(Most{}) {}
  explicit NodeShare(Most most);

  // What it has now, and what jobs use of it.
  [[nodiscard]] const ShareUse& use() const { return use_; }
  [[nodiscard]] ShareUse& use() { return use_; }

  // Others have what it might use beyond what it has; as of the newest answer.
  [[nodiscard]] bool is_limited() const { return limited_; }
  // All that it may use is its own, and no job uses any of it.
  [[nodiscard]] bool has_all() const;
  // It could have more CPUs, as far as is known.
  [[nodiscard]] bool may_grow() const { return !tried_ && use_.cpus() < most_.cpus; }

  // Asks for everything there is. False: there is nothing to ask for.
  bool grow(Commands& out);
  // The same for a job that does not fit, unless it needs more than what was tried in vain.
  bool grow_for(const claim::Requirement& need, Commands& out);
  void grown(const event::ShareTaken& answer, BootTime now, Commands& out);
  void held(const exec::NodeHolding& holding) { use_.now_has(holding); }
  void lost(const exec::NodeHolding& holding);
  // Gives back what no job uses; CPUs only if they are not to be kept for jobs that come soon.
  enum class Cpus : std::uint8_t { keep, give };
  void give_back_free(Cpus cpus, Commands& out);
  // What was offered to the store was not enough for any of its jobs: waits for more than that.
  void wait_for_more(BootTime now, Commands& out);
  // It starts nothing more.
  void stop_waiting(Commands& out);
  // Gives up to `owed` CPUs of what is free to others who have less and wait; whether it did.
  bool let_others(std::uint32_t owed, BootTime now, Commands& out);

  [[nodiscard]] bool has_ledger() const { return most_.ledger_gpus.has_value(); }

  // When to look whether there is more, at the latest; nullopt: nothing is waited for.
  [[nodiscard]] std::optional<BootTime> wake_at() const { return wake_at_; }
  void look_soon(BootTime now) {
    if (tried_) wake_at_ = now;
  }
  // Whether there is more now than was tried in vain.
  bool look(const exec::NodeHolding& could_hold, BootTime now);
  // Since when it waits for more and has no CPU at all; 0: it has some, or does not wait.
  [[nodiscard]] BootTime starved_since() const {
    return tried_ && use_.cpus() == 0 ? use_.holding().waiting_since : BootTime{};
  }
  // What it has may be others', too: jobs that ran when the ledger was lost go on on it. What such
  // jobs leave is given back, and asked for again, before anything else is started on it.
  [[nodiscard]] bool is_doubtful() const { return doubtful_; }

 private:
  void keep(const exec::NodeHolding& rest, Commands& out);
  void wait(BootTime now, Commands& out);

  Most most_;
  ShareUse use_;
  bool doubtful_ = false;
  bool limited_ = false;
  bool waits_ = false;                            // the ledger was told so
  std::optional<claim::Requirement> wanted_for_;  // what was asked for is for this job
  // What was free when it did not suffice, while more is waited for.
  std::optional<ShareUse::Free> tried_;
  std::optional<BootTime> again_;  // it is others' turn until then
  std::optional<BootTime> wake_at_;
};

}  // namespace torc::worker
