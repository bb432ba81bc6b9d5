#include "lib/claim/rules/offer.h"

#include <algorithm>
#include <limits>

namespace torc::claim {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t quotient(std::uint64_t free, std::uint64_t need) {
  return need == 0 ? kUnlimited : free / need;
}

}  // namespace

std::uint8_t misfits_of(const JobClass& job_class, const Offer& offer) {
  const Requirement& need = job_class.need;
  std::uint8_t found = 0;
  const auto note = [&found](bool misses, std::uint8_t what) {
    if (misses) found = static_cast<std::uint8_t>(found | what);
  };
  note(need.nodes > offer.nodes, misfit::kNodes);
  if (!offer.any_binding) {
    note(!job_class.scheduler.empty() && job_class.scheduler != offer.scheduler,
         misfit::kScheduler);
    note(!job_class.label.empty() && job_class.label != offer.label, misfit::kLabel);
  }
  note(offer.remaining && need.runtime > *offer.remaining, misfit::kTime);
  if (offer.ignore_resources) return found;
  note(need.cpus > offer.total_cpus, misfit::kCpus);
  note(need.gpus > offer.total_gpus, misfit::kGpus);
  note(need.memory > offer.total_memory, misfit::kMemory);
  return found;
}

Capacity free_capacity(const Offer& offer) {
  const bool untouched = offer.cpus == offer.total_cpus && offer.gpus == offer.total_gpus &&
                         offer.memory == offer.total_memory;
  return {offer.cpus, offer.gpus, offer.memory, untouched, Alone::no, false};
}

std::uint64_t how_many_fit(const JobClass& job_class, const Capacity& free, const Offer& offer) {
  if (free.taken_whole || job_class.alone > free.leaves) return 0;
  const std::uint64_t most = job_class.alone != Alone::no ? 1 : kUnlimited;
  if (offer.ignore_resources) return most;
  const Requirement& need = job_class.need;
  if (need.nodes > 1) return free.untouched ? 1 : 0;
  return std::min({most, quotient(free.cpus, need.cpus), quotient(free.gpus, need.gpus),
                   quotient(free.memory.value, need.memory.value)});
}

void occupy(Capacity& free, const JobClass& job_class, std::uint64_t jobs, const Offer& offer) {
  const Requirement& need = job_class.need;
  free.untouched = false;
  free.leaves = Alone::no;
  if (job_class.alone != Alone::no) {
    free.taken_whole = true;
    return;
  }
  if (offer.ignore_resources) return;
  if (need.nodes > 1) {
    free = Capacity{0, 0, ByteCount{0}, false, Alone::no, false};
    return;
  }
  free.cpus -= static_cast<std::uint32_t>(need.cpus * jobs);
  free.gpus -= static_cast<std::uint32_t>(need.gpus * jobs);
  free.memory.value -= need.memory.value * jobs;
}

bool could_fit(const JobClass& job_class, const Offer& offer) {
  return misfits_of(job_class, offer) == 0;
}

Offer whole_offer(const WorkerInfo& info, WallTime now) {
  Offer offer;
  offer.total_cpus = info.cpus;
  offer.total_gpus = info.gpus;
  offer.total_memory = info.memory;
  if (info.ends_at.count() != 0) {
    offer.remaining = std::chrono::duration_cast<std::chrono::seconds>(info.ends_at - now);
  }
  offer.scheduler = info.scheduler;
  offer.label = info.label;
  offer.any_binding = info.any_binding;
  offer.ignore_resources = info.ignores_resources;
  return offer;
}

}  // namespace torc::claim
