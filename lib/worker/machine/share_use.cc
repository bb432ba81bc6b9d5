#include "lib/worker/machine/share_use.h"

#include <algorithm>
#include <bit>

namespace torc::worker {
namespace {

template <class T>
T rest(T all, T used) {
  return all > used ? all - used : T{};
}

std::uint32_t count(std::uint64_t bits) {
  return static_cast<std::uint32_t>(std::popcount(bits));
}

}  // namespace

exec::NodeAmount ShareUse::free_of(const exec::NodeHolding& other) const {
  return {rest(other.cpu_count(), used_.cpus), rest(other.memory + other.own_memory, used_.memory),
          count(other.gpus & ~used_.gpus)};
}

exec::NodeAmount ShareUse::lacking(const exec::NodeAmount& most) const {
  return {rest(most.cpus, cpus()), rest(most.memory, memory()), rest(most.gpus, gpus())};
}

std::uint32_t ShareUse::gpus() const {
  return count(has_.gpus);
}

bool ShareUse::fits(const claim::Requirement& need) const {
  const exec::NodeAmount left = free();
  return need.cpus <= left.cpus && need.memory <= left.memory && need.gpus <= left.gpus;
}

std::vector<std::string> ShareUse::take(const claim::Requirement& need) {
  used_.cpus += need.cpus;
  used_.memory = used_.memory + need.memory;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < gpu_names_.size() && names.size() < need.gpus; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((has_.gpus & ~used_.gpus & bit) == 0) continue;
    used_.gpus |= bit;
    names.push_back(gpu_names_[i]);
  }
  return names;
}

void ShareUse::put_back(const claim::Requirement& need, const std::vector<std::string>& gpus) {
  used_.cpus = rest(used_.cpus, need.cpus);
  used_.memory = rest(used_.memory, need.memory);
  for (std::size_t i = 0; i < gpu_names_.size(); ++i) {
    if (std::find(gpus.begin(), gpus.end(), gpu_names_[i]) != gpus.end())
      used_.gpus &= ~(std::uint64_t{1} << i);
  }
}

exec::NodeHolding ShareUse::in_use() const {
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

}  // namespace torc::worker
