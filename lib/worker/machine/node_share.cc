#include "lib/worker/machine/node_share.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "lib/exec/node/node_ledger.h"

namespace torc::worker {
namespace {

// A process that is killed rings no bell.
constexpr std::chrono::nanoseconds kLookAnyway = std::chrono::seconds(2);

// Of anything.
bool is_more(const ShareUse::Free& now, const ShareUse::Free& before) {
  if (now.cpus > before.cpus || now.memory > before.memory) return true;
  if ((now.pieces & ~before.pieces) != 0) return true;
  return !std::equal(now.sums.begin(), now.sums.end(), before.sums.begin(), std::less_equal());
}

bool is_nothing(const exec::NodeAmount& lacks) {
  return lacks.cpus == 0 && lacks.memory == ByteCount{} && lacks.gpus == 0 &&
         lacks.sums == exec::NodeSums{};
}

}  // namespace

exec::NodeSums NodeShare::Most::all_sums() const {
  exec::NodeSums all{};
  for (std::size_t i = 0; i < std::min(sums.size(), all.size()); ++i) all[i] = sums[i].thousandths;
  return all;
}

NodeShare::NodeShare(Most most) : most_(std::move(most)) {
  exec::NodeHolding all;
  if (!has_ledger()) {
    all.own_cpus = most_.cpus;
    all.own_memory = most_.memory;
    const std::size_t pieces = most_.gpus.size() + most_.pieces.size();
    for (std::size_t i = 0; i < std::min(pieces, exec::NodeMember::kMostGpus); ++i)
      all.gpus |= std::uint64_t{1} << i;
    all.sums = most_.all_sums();
  }
  use_ = ShareUse(all, {most_.gpus, most_.gpu_kinds, most_.pieces, most_.gpu_groups}, most_.sums);
}

bool NodeShare::has_all() const {
  const std::uint32_t pieces = most_.ledger_gpus.value_or(use_.piece_count());
  return is_nothing(use_.lacking({most_.cpus, most_.memory, pieces, most_.all_sums()})) &&
         use_.used_cpus() == 0;
}

bool NodeShare::grow(Commands& out) {
  if (!has_ledger()) return false;
  const exec::NodeAmount want =
      use_.lacking({most_.cpus, most_.memory, *most_.ledger_gpus, most_.all_sums()});
  if (is_nothing(want)) {
    limited_ = false;
    return false;
  }
  wanted_for_.reset();
  out.emplace_back(command::TakeShare{want});
  return true;
}

bool NodeShare::grow_for(const claim::Requirement& need, Commands& out) {
  // What was tried was there, though it was not enough for what it was tried for.
  const bool in_vain = tried_ && !use_.fits_in(need, *tried_);
  if (in_vain || !grow(out)) return false;
  wanted_for_ = need;
  return true;
}

void NodeShare::grown(const event::ShareTaken& answer, BootTime now, Commands& out) {
  use_.now_has(answer.holding);
  again_ = answer.again;
  limited_ = !answer.complete;
  const auto wanted = std::exchange(wanted_for_, std::nullopt);
  if (tried_ && is_more(use_.free(), *tried_)) {
    // What was waited for may be here: a job of the queue may ask for it.
    tried_.reset();
    wake_at_.reset();
  }
  if (!limited_) {
    stop_waiting(out);
  } else if (wanted && !use_.fits(*wanted)) {
    wait(now, out);
  }
}

void NodeShare::lost(const exec::NodeHolding& holding) {
  use_.now_has(holding);
  waits_ = false;
  tried_.reset();
  wake_at_.reset();
  doubtful_ = use_.used_cpus() > 0;
}

// What the ledger says comes with the answer.
void NodeShare::keep(const exec::NodeHolding& rest, Commands& out) {
  use_.now_has(rest);
  out.emplace_back(command::KeepShare{rest});
}

void NodeShare::give_back_free(Cpus cpus, Commands& out) {
  if (!has_ledger()) return;
  if (doubtful_) cpus = Cpus::give;
  doubtful_ = doubtful_ && use_.used_cpus() > 0;
  const ShareUse::Free left = use_.free();
  const bool gives_cpus = cpus == Cpus::give && left.cpus > 0;
  if (!gives_cpus && left.memory == ByteCount{} && left.pieces == 0 &&
      left.sums == exec::NodeSums{})
    return;
  exec::NodeHolding kept = use_.in_use();
  if (cpus == Cpus::keep) {
    kept.cpus = use_.holding().cpus;
    kept.own_cpus = use_.holding().own_cpus;
  }
  keep(kept, out);
}

bool NodeShare::let_others(std::uint32_t owed, BootTime now, Commands& out) {
  if (!has_ledger()) return false;
  owed = std::min(owed, use_.free().cpus);
  if (owed == 0) return false;
  exec::NodeHolding kept = use_.in_use();
  // All but what is owed of the free CPUs stays.
  for (const std::uint32_t cpu : (use_.holding().cpus - kept.cpus).numbers()) {
    if (owed > 0) {
      --owed;
    } else {
      kept.cpus.add(cpu);
    }
  }
  kept.own_cpus = use_.holding().own_cpus;
  keep(kept, out);
  limited_ = true;
  // What nobody has taken by then is this worker's again.
  again_ = now + exec::NodeLedger::kHeadStart;
  wait(now, out);
  return true;
}

// Not while every CPU that it may have is in use: memory would not help.
void NodeShare::wait_for_more(BootTime now, Commands& out) {
  if (!has_ledger() || !limited_) return;
  const bool lacks_cpus = use_.cpus() < most_.cpus;
  const exec::NodeAmount lacks = use_.lacking({0, {}, *most_.ledger_gpus, most_.all_sums()});
  const bool lacks_memory = use_.free().cpus > 0 && use_.memory() < most_.memory;
  if (lacks_cpus || lacks_memory || !is_nothing(lacks)) wait(now, out);
}

void NodeShare::wait(BootTime now, Commands& out) {
  tried_ = use_.free();
  waits_ = true;
  out.emplace_back(command::WaitForShare{true});
  wake_at_ = again_.value_or(now + kLookAnyway);
}

void NodeShare::stop_waiting(Commands& out) {
  if (!has_ledger()) return;
  tried_.reset();
  wake_at_.reset();
  if (std::exchange(waits_, false)) out.emplace_back(command::WaitForShare{false});
}

bool NodeShare::look(const exec::NodeHolding& could, BootTime now) {
  if (!tried_) return false;
  again_.reset();
  wake_at_ = now + kLookAnyway;
  if (!is_more(use_.free_of(could), *tried_)) return false;
  // Nothing is looked for until something was asked for in vain again.
  tried_.reset();
  wake_at_.reset();
  return true;
}

}  // namespace torc::worker
