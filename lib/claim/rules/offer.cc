#include "lib/claim/rules/offer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/labels.h"

namespace torc::claim {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t quotient(std::uint64_t free, std::uint64_t need) {
  return need == 0 ? kUnlimited : free / need;
}

template <class Visit>
void for_shared(Visit visit) {
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.shared) visit(kind);
  }
}

Resources shared(std::uint32_t cpus, std::uint32_t gpus, ByteCount memory, Resources out) {
  out.cpus = cpus;
  out.gpus = gpus;
  out.memory = memory;
  return out;
}

}  // namespace

Resources free_of(const Offer& offer) {
  return shared(offer.cpus, offer.gpus, offer.memory, offer.more);
}

Resources total_of(const Offer& offer) {
  return shared(offer.total_cpus, offer.total_gpus, offer.total_memory, offer.total_more);
}

Resources total_of(const WorkerInfo& info) {
  return shared(info.cpus, info.gpus, info.memory, info.more);
}

std::uint8_t mismatch::of(const ResourceKind& shared) {
  std::uint8_t bit = kCpus;
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.word == shared.word) break;
    if (kind.shared) bit = static_cast<std::uint8_t>(bit << 1U);
  }
  return bit;
}

namespace {

std::uint8_t mismatches_of(const JobClass& job_class, const Requirement& need, const Offer& offer) {
  std::uint8_t found = 0;
  const auto note = [&found](bool misses, std::uint8_t what) {
    if (misses) found = static_cast<std::uint8_t>(found | what);
  };
  note(need.nodes > offer.nodes, mismatch::kNodes);
  if (!offer.any_binding) {
    note(!job_class.scheduler.empty() && job_class.scheduler != offer.scheduler,
         mismatch::kScheduler);
    const bool serves = job_class.labels.empty() ? offer.labels.empty() || offer.also_unlabelled
                                                 : covers_labels(offer.labels, job_class.labels);
    note(!serves, mismatch::kLabel);
  }
  note(offer.remaining && least_time(need) > *offer.remaining, mismatch::kTime);
  if (offer.ignore_resources) return found;
  const Resources total = total_of(offer);
  for_shared([&](const ResourceKind& kind) {
    note(kind.get(need) > kind.get(total), mismatch::of(kind));
  });
  note(!need.named.empty() && !could_give_named(total, need), mismatch::kNamed);
  return found;
}

}  // namespace

std::uint8_t mismatches_of(const JobClass& job_class, const Offer& offer) {
  const std::uint8_t first = mismatches_of(job_class, job_class.need, offer);
  if (first == 0) return 0;
  const bool other_fits = std::ranges::any_of(job_class.others, [&](const Alternative& one) {
    return mismatches_of(job_class, one.need, offer) == 0;
  });
  return other_fits ? 0 : first;
}

Capacity free_capacity(const Offer& offer) {
  const Resources left = free_of(offer);
  return {left, left == total_of(offer), Alone::no, false, offer.pieces};
}

bool may_be_prefetched(const JobClass& job_class) {
  return job_class.alone == Alone::no && !needs_pieces(job_class.need) && job_class.others.empty();
}

std::uint64_t how_many_fit(const JobClass& job_class, const Capacity& free, const Offer& offer) {
  if (free.taken_whole || job_class.alone > free.leaves) return 0;
  const std::uint64_t most = job_class.alone != Alone::no ? 1 : kUnlimited;
  if (offer.ignore_resources) return most;
  const Requirement& need = job_class.need;
  if (need.nodes > 1) return free.untouched ? 1 : 0;
  std::uint64_t fitting = most;
  for_shared([&](const ResourceKind& kind) {
    fitting = std::min(fitting, quotient(kind.get(free.left), kind.get(need)));
  });
  if (!needs_pieces(need) || fitting == 0) return fitting;
  return std::min(fitting, how_many_named_fit(need, {free.left, total_of(offer), free.pieces}));
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
    free = Capacity{no_resources(), false, Alone::no, false};
    return;
  }
  const bool named = !need.named.empty() || (need.gpus > 0 && !free.pieces.empty());
  for_shared([&](const ResourceKind& kind) {
    kind.put(free.left, kind.get(free.left) - kind.get(need) * jobs);
  });
  if (!named) return;
  Room room{std::move(free.left), total_of(offer), std::move(free.pieces)};
  occupy_named(room, need, jobs);
  free.left = std::move(room.left);
  free.pieces = std::move(room.pieces);
}

bool could_fit(const JobClass& job_class, const Offer& offer) {
  return mismatches_of(job_class, offer) == 0;
}

bool could_be_part(const JobClass& job_class, const Offer& offer) {
  return (mismatches_of(job_class, offer) & ~unsigned{mismatch::kNodes}) == 0;
}

Offer whole_offer(const WorkerInfo& info, WallTime now) {
  Offer offer;
  offer.total_cpus = info.cpus;
  offer.total_gpus = info.gpus;
  offer.total_memory = info.memory;
  offer.total_more = info.more;
  if (info.ends_at.count() != 0) {
    offer.remaining = std::chrono::duration_cast<std::chrono::seconds>(info.ends_at - now);
  }
  offer.scheduler = info.scheduler;
  offer.labels = info.labels;
  offer.also_unlabelled = info.also_unlabelled;
  offer.any_binding = info.any_binding;
  offer.ignore_resources = info.ignores_resources;
  return offer;
}

}  // namespace torc::claim
