#include "lib/worker/machine/node_share.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "lib/exec/node/node_ledger.h"

namespace torc::worker {
namespace {

// A process that is killed rings no bell.
constexpr std::chrono::nanoseconds kLookAnyway = std::chrono::seconds(2);
constexpr std::size_t kMostGpus = exec::NodeMember::kMostGpus;

template <class T>
T rest(T all, T used) {
  return all > used ? all - used : T{};
}

std::uint32_t count(std::uint64_t bits) {
  return static_cast<std::uint32_t>(std::popcount(bits));
}

}  // namespace

NodeShare::NodeShare(Most most) : most_(std::move(most)) {
  if (has_ledger()) return;
  has_.own_cpus = most_.cpus;
  has_.own_memory = most_.memory;
  for (std::size_t i = 0; i < std::min(most_.gpus.size(), kMostGpus); ++i)
    has_.gpus |= std::uint64_t{1} << i;
}

std::uint32_t NodeShare::free_cpus() const {
  return rest(cpus(), used_.cpus);
}

ByteCount NodeShare::free_memory() const {
  return rest(memory(), used_.memory);
}

std::uint32_t NodeShare::free_gpus() const {
  return count(has_.gpus & ~used_.gpus);
}

bool NodeShare::fits(const claim::Requirement& need) const {
  return need.cpus <= free_cpus() && need.memory <= free_memory() && need.gpus <= free_gpus();
}

bool NodeShare::grow(Commands& out) {
  if (!has_ledger()) return false;
  const exec::NodeAmount want{rest(most_.cpus, cpus()), rest(most_.memory, memory()),
                              rest(*most_.ledger_gpus, count(has_.gpus))};
  if (want.cpus == 0 && want.memory == ByteCount{} && want.gpus == 0) {
    limited_ = false;
    return false;
  }
  wanted_for_.reset();
  out.emplace_back(command::TakeShare{want});
  return true;
}

bool NodeShare::grow_for(const claim::Requirement& need, Commands& out) {
  // What was tried was there, though it was not enough for what it was tried for.
  const bool in_vain = tried_ && (need.cpus > tried_->cpus || need.memory > tried_->memory ||
                                  need.gpus > tried_->gpus);
  if (in_vain || !grow(out)) return false;
  wanted_for_ = need;
  return true;
}

void NodeShare::grown(const event::ShareTaken& answer, BootTime now, Commands& out) {
  has_ = answer.holding;
  again_ = answer.again;
  limited_ = !answer.complete;
  const auto wanted = std::exchange(wanted_for_, std::nullopt);
  if (tried_ && (free_cpus() > tried_->cpus || free_memory() > tried_->memory ||
                 free_gpus() > tried_->gpus)) {
    // What was waited for may be here: a job of the queue may ask for it.
    tried_.reset();
    wake_at_.reset();
  }
  if (!limited_) {
    stop_waiting(out);
  } else if (wanted && !fits(*wanted)) {
    wait(now, out);
  }
}

void NodeShare::lost(const exec::NodeHolding& holding) {
  has_ = holding;
  waits_ = false;
  tried_.reset();
  wake_at_.reset();
  doubtful_ = used_.cpus > 0;
}

exec::NodeHolding NodeShare::in_use() const {
  exec::NodeHolding used;
  used.cpus = pinned_;
  std::uint32_t left = rest(used_.cpus, static_cast<std::uint32_t>(pinned_.count()));
  for (const std::uint32_t cpu : (has_.cpus - pinned_).numbers()) {
    if (left == 0) break;
    used.cpus.add(cpu);
    --left;
  }
  used.own_cpus = left;
  used.memory = std::min(used_.memory, has_.memory);
  used.own_memory = used_.memory - used.memory;
  used.gpus = used_.gpus;
  used.waiting_since = has_.waiting_since;
  return used;
}

// What the ledger says comes with the answer.
void NodeShare::keep(const exec::NodeHolding& rest, Commands& out) {
  has_ = rest;
  out.emplace_back(command::KeepShare{rest});
}

void NodeShare::give_back_free(Cpus cpus, Commands& out) {
  if (!has_ledger()) return;
  if (doubtful_) cpus = Cpus::give;
  doubtful_ = doubtful_ && used_.cpus > 0;
  const bool gives_cpus = cpus == Cpus::give && free_cpus() > 0;
  if (!gives_cpus && free_memory() == ByteCount{} && free_gpus() == 0) return;
  exec::NodeHolding kept = in_use();
  if (cpus == Cpus::keep) {
    kept.cpus = has_.cpus;
    kept.own_cpus = has_.own_cpus;
  }
  keep(kept, out);
}

bool NodeShare::let_others(std::uint32_t owed, BootTime now, Commands& out) {
  if (!has_ledger()) return false;
  owed = std::min(owed, free_cpus());
  if (owed == 0) return false;
  exec::NodeHolding kept = in_use();
  // All but what is owed of the free CPUs stays.
  for (const std::uint32_t cpu : (has_.cpus - kept.cpus).numbers()) {
    if (owed > 0) {
      --owed;
    } else {
      kept.cpus.add(cpu);
    }
  }
  kept.own_cpus = has_.own_cpus;
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
  const bool lacks_cpus = cpus() < most_.cpus;
  const bool lacks_gpus = count(has_.gpus) < *most_.ledger_gpus;
  const bool lacks_memory = free_cpus() > 0 && memory() < most_.memory;
  if (lacks_cpus || lacks_gpus || lacks_memory) wait(now, out);
}

void NodeShare::wait(BootTime now, Commands& out) {
  tried_ = exec::NodeAmount{free_cpus(), free_memory(), free_gpus()};
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
  const bool more = rest(could.cpu_count(), used_.cpus) > tried_->cpus ||
                    rest(could.memory + could.own_memory, used_.memory) > tried_->memory ||
                    count(could.gpus & ~used_.gpus) > tried_->gpus;
  if (!more) return false;
  // Nothing is looked for until something was asked for in vain again.
  tried_.reset();
  wake_at_.reset();
  return true;
}

std::vector<std::string> NodeShare::take(const claim::Requirement& need) {
  used_.cpus += need.cpus;
  used_.memory = used_.memory + need.memory;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < most_.gpus.size() && i < kMostGpus && names.size() < need.gpus; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((has_.gpus & ~used_.gpus & bit) == 0) continue;
    used_.gpus |= bit;
    names.push_back(most_.gpus[i]);
  }
  return names;
}

void NodeShare::put_back(const claim::Requirement& need, const std::vector<std::string>& gpus) {
  used_.cpus = rest(used_.cpus, need.cpus);
  used_.memory = rest(used_.memory, need.memory);
  for (std::size_t i = 0; i < most_.gpus.size() && i < kMostGpus; ++i) {
    if (std::find(gpus.begin(), gpus.end(), most_.gpus[i]) != gpus.end())
      used_.gpus &= ~(std::uint64_t{1} << i);
  }
}

}  // namespace torc::worker
