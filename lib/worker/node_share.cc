#include "lib/worker/node_share.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace torc::worker {
namespace {

// A process that is killed rings no bell.
constexpr std::chrono::nanoseconds kLookAnyway = std::chrono::seconds(2);

template <class T>
T rest(T all, T used) {
  return all > used ? all - used : T{};
}

std::uint32_t count(std::uint64_t bits) {
  return static_cast<std::uint32_t>(std::popcount(bits));
}

}  // namespace

NodeShare::NodeShare(const exec::Machine& machine, std::unique_ptr<exec::NodeLedger> ledger,
                     Clock& clock)
    : machine_(machine), ledger_(std::move(ledger)), clock_(clock) {
  if (ledger_ != nullptr) return;
  has_.own_cpus = machine.cpus;
  has_.own_memory = machine.memory;
  for (std::size_t i = 0; i < std::min<std::size_t>(machine.gpus.size(), 64); ++i)
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

void NodeShare::grow() {
  if (ledger_ == nullptr) return;
  const auto gpus = static_cast<std::uint32_t>(ledger_->member().gpus.size());
  const exec::NodeAmount want{rest(machine_.cpus, cpus()), rest(machine_.memory, memory()),
                              rest(gpus, count(has_.gpus))};
  if (want.cpus == 0 && want.memory == ByteCount{} && want.gpus == 0) {
    limited_ = false;
    return;
  }
  const exec::NodeLedger::Taken taken = ledger_->take(want);
  has_ = ledger_->holding();
  again_ = taken.again;
  limited_ = !taken.complete;
  if (!limited_) stop_waiting();
}

bool NodeShare::grow_for(const claim::Requirement& need) {
  if (ledger_ == nullptr || tried_) return false;
  grow();
  if (!fits(need) && limited_) wait();
  return fits(need);
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

void NodeShare::give_back_free(Cpus cpus) {
  if (ledger_ == nullptr) return;
  const bool gives_cpus = cpus == Cpus::give && free_cpus() > 0;
  if (!gives_cpus && free_memory() == ByteCount{} && free_gpus() == 0) return;
  exec::NodeHolding kept = in_use();
  if (cpus == Cpus::keep) {
    kept.cpus = has_.cpus;
    kept.own_cpus = has_.own_cpus;
  }
  ledger_->keep(kept);
  has_ = ledger_->holding();
}

bool NodeShare::owes() const {
  return used_.cpus > cpus() || (ledger_ != nullptr && ledger_->owed_to_others() > 0);
}

bool NodeShare::let_others() {
  if (ledger_ == nullptr || free_cpus() == 0) return false;
  std::uint32_t owed = std::min(ledger_->owed_to_others(), free_cpus());
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
  ledger_->keep(kept);
  has_ = ledger_->holding();
  limited_ = true;
  // What nobody has taken by then is this worker's again.
  again_ = clock_.boot_now() + exec::NodeLedger::kHeadStart;
  wait();
  return true;
}

// Not while every CPU that it may have is in use: memory would not help.
void NodeShare::wait_for_more() {
  if (ledger_ == nullptr || !limited_) return;
  const bool lacks_cpus = cpus() < machine_.cpus;
  const bool lacks_gpus = count(has_.gpus) < ledger_->member().gpus.size();
  const bool lacks_memory = free_cpus() > 0 && memory() < machine_.memory;
  if (lacks_cpus || lacks_gpus || lacks_memory) wait();
}

void NodeShare::wait() {
  tried_ = exec::NodeAmount{free_cpus(), free_memory(), free_gpus()};
  ledger_->wait_for_more(true);
  has_ = ledger_->holding();
  fd_ = ledger_->bell();
  wake_at_ = again_.value_or(clock_.boot_now() + kLookAnyway);
}

void NodeShare::stop_waiting() {
  if (ledger_ == nullptr) return;
  tried_.reset();
  wake_at_.reset();
  ledger_->wait_for_more(false);
  has_ = ledger_->holding();
}

bool NodeShare::look() {
  if (ledger_ == nullptr) return false;
  ledger_->silence_bell();
  if (!tried_) return false;
  again_.reset();
  wake_at_ = clock_.boot_now() + kLookAnyway;
  const exec::NodeHolding could = ledger_->could_hold();
  const bool more = rest(could.cpu_count(), used_.cpus) > tried_->cpus ||
                    rest(could.memory + could.own_memory, used_.memory) > tried_->memory ||
                    count(could.gpus & ~used_.gpus) > tried_->gpus;
  if (!more) return false;
  tried_.reset();
  return true;
}

void NodeShare::check() {
  if (ledger_ == nullptr || ledger_->is_there()) return;
  exec::NodeHolding used = in_use();
  used.waiting_since = {};
  ledger_->reenter(used);
  has_ = ledger_->holding();
  fd_ = ledger_->bell();
  tried_.reset();
}

std::vector<std::string> NodeShare::take(const claim::Requirement& need) {
  used_.cpus += need.cpus;
  used_.memory = used_.memory + need.memory;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < machine_.gpus.size() && i < 64 && names.size() < need.gpus; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((has_.gpus & ~used_.gpus & bit) == 0) continue;
    used_.gpus |= bit;
    names.push_back(machine_.gpus[i]);
  }
  return names;
}

void NodeShare::put_back(const claim::Requirement& need, const std::vector<std::string>& gpus) {
  used_.cpus = rest(used_.cpus, need.cpus);
  used_.memory = rest(used_.memory, need.memory);
  for (std::size_t i = 0; i < machine_.gpus.size() && i < 64; ++i) {
    if (std::find(gpus.begin(), gpus.end(), machine_.gpus[i]) != gpus.end())
      used_.gpus &= ~(std::uint64_t{1} << i);
  }
}

}  // namespace torc::worker
