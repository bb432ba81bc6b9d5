#include "lib/claim/scheduling/ready_queue.h"

#include <algorithm>

#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"

namespace torc::claim {
namespace {

std::array<std::uint64_t, 3> size_of(const Requirement& need, SortMethod sort) {
  const auto runtime = static_cast<std::uint64_t>(expected_time(need).count());
  switch (sort) {
    case SortMethod::none:
      return {};
    case SortMethod::gpus_runtime_memory:
      return {gpu_count(need), runtime, need.memory.value};
    case SortMethod::gpus_memory_runtime:
      return {gpu_count(need), need.memory.value, runtime};
  }
  return {};
}

// Joins `range` with the ranges of the same rank that end or begin where it begins or ends.
ReadyRange absorb_neighbours(Transaction& tx, ReadyRange range) {
  const auto joins = [&](const ReadyRange& other) {
    return other.job_class == range.job_class && other.priority == range.priority &&
           other.age == range.age && (other.end() == range.first || range.end() == other.first);
  };
  std::optional<ReadyRange> left;
  if (const auto e = tx.seek_before(ready_key(range))) left = decode_ready(e->key, e->value);
  std::optional<ReadyRange> right;
  if (const auto e = tx.seek(ready_key(range))) right = decode_ready(e->key, e->value);
  if (right && joins(*right)) {
    tx.erase(ready_key(*right));
    range.count += right->count;
  }
  if (left && joins(*left)) {
    range.first = left->first;  // its key is overwritten
    range.count += left->count;
  }
  return range;
}

// The range of the queues that holds the job. nullopt: it is in none.
std::optional<ReadyRange> range_with(Transaction& tx, State& state, const ReadyJob& job) {
  const Span* span = state.span_of(job.id);
  if (span == nullptr) return std::nullopt;
  for (const std::uint64_t age : {std::uint64_t{0}, state.opened_at(span->barrier)}) {
    const auto e = tx.seek_before(ready_key({job.job_class, job.priority, age, job.id + 1, 0}));
    const auto range = e ? decode_ready(e->key, e->value) : std::nullopt;
    if (range && range->job_class == job.job_class && range->priority == job.priority &&
        range->age == age && job.id < range->end()) {
      return range;
    }
  }
  return std::nullopt;
}

}  // namespace

void withdraw(Transaction& tx, State& state, std::vector<ReadyJob>& jobs) {
  std::sort(jobs.begin(), jobs.end());
  for (std::size_t i = 0; i < jobs.size();) {
    const ReadyJob first = jobs[i];
    std::uint64_t end = first.id;
    for (; i < jobs.size() && jobs[i] == ReadyJob{first.job_class, first.priority, end}; ++i) ++end;
    withdraw(tx, state, first, end - first.id);
  }
  jobs.clear();
}

void withdraw(Transaction& tx, State& state, const ReadyJob& first, std::uint64_t count) {
  const std::uint64_t end = first.id + count;
  for (ReadyJob at = first; at.id < end;) {
    const auto range = range_with(tx, state, at);
    if (!range) return state.damaged(Key(Table::job, at.id));
    ReadyRange before = *range;
    before.count = at.id - range->first;
    ReadyRange after = *range;
    after.first = std::min(end, range->end());
    after.count = range->end() - after.first;
    if (before.count > 0) {
      put_ready(tx, before);
    } else {
      tx.erase(ready_key(*range));
    }
    if (after.count > 0) put_ready(tx, after);
    at.id = after.first;
  }
}

void put_ready(Transaction& tx, const ReadyRange& range) {
  tx.put(ready_key(range), Value().varint(range.count));
}

void put_ready_again(Transaction& tx, std::vector<ReadyJob>& jobs) {
  std::sort(jobs.begin(), jobs.end());
  for (std::size_t i = 0; i < jobs.size();) {
    ReadyRange range{jobs[i].job_class, jobs[i].priority, 0, jobs[i].id, 1};
    for (++i; i < jobs.size() && jobs[i] == ReadyJob{range.job_class, range.priority, range.end()};
         ++i) {
      ++range.count;
    }
    put_ready(tx, absorb_neighbours(tx, range));
  }
  jobs.clear();
}

ReadyHeads::ReadyHeads(Transaction& tx, State& state, Quota& quota, WorkerEpoch worker,
                       const Offer& offer, SortMethod sort, GangPlan* gangs)
    : tx_(tx), state_(state), quota_(quota), worker_(worker), offer_(offer), gangs_(gangs) {
  each_ready_head(state_, [&](const ReadyRange& range) {
    JobClass job_class = state_.job_class(range.job_class);
    // What has been learned decides whether and when, and is promised to nobody.
    const JobClass seen = as_learned(tx_, job_class);
    const bool gang = gangs_ != nullptr && gangs_->concerns(seen);
    if (gang || could_fit(seen, offer)) {
      const auto size = size_of(seen.need, sort);
      heads_.push_back(
          {std::move(job_class), seen.need.runtime, size, range, 0, gang, false, false});
    }
    return true;
  });
}

bool ReadyHeads::before(const Head& a, const Head& b) {
  if (a.range.priority != b.range.priority) return a.range.priority > b.range.priority;
  if (a.size != b.size) return a.size > b.size;
  if (a.range.age != b.range.age) return a.range.age < b.range.age;
  // What is hardest to place first: the others fill what it leaves.
  if (a.job_class.need.nodes != b.job_class.need.nodes)
    return a.job_class.need.nodes > b.job_class.need.nodes;
  return a.first() < b.first();
}

bool ReadyHeads::is_eligible(const Head& head, const Capacity* free) const {
  if (head.exhausted || head.waits) return false;
  if (head.gang) return true;
  if (gangs_ != nullptr && !gangs_->lets(head.runtime)) return false;
  return free != nullptr ? how_many_fit(head.job_class, *free, offer_) > 0
                         : may_be_prefetched(head.job_class);
}

ReadyHeads::Head* ReadyHeads::next(const Capacity* free) {
  Head* best = nullptr;
  for (Head& head : heads_) {
    if (!is_eligible(head, free) || (best != nullptr && !before(head, *best))) continue;
    if (quota_.room(head.job_class, worker_) > 0) best = &head;
  }
  return best;
}

std::optional<ReadyHeads::Take> ReadyHeads::take(Capacity* free, std::uint64_t limit) {
  Head* best = next(free);
  for (; best != nullptr && best->gang; best = next(free)) {
    const bool untouched = free != nullptr && free->untouched && limit > 0;
    JobClass seen = best->job_class;
    seen.need.runtime = best->runtime;
    if (gangs_->begins(seen, best->range.job_class, best->first(), untouched)) {
      const Take taken{best->range.job_class, best->range.priority, best->first(), 1, true};
      *free = Capacity{no_resources(), false, Alone::no, true};
      ++best->taken;
      if (best->count() == 0) advance(*best);
      return taken;
    }
    best->waits = true;
    // Nothing is prefetched to a node that is kept.
    if (free == nullptr && gangs_->keeps_asker()) return std::nullopt;
  }
  looked_at_all_ = best == nullptr;
  if (best == nullptr || limit == 0) return std::nullopt;

  // All of the range goes before the next head: ranges are disjoint, so that they never interleave
  // by id.
  std::uint64_t count = std::min({limit, best->count(), quota_.room(best->job_class, worker_)});
  if (free != nullptr) {
    count = std::min(count, how_many_fit(best->job_class, *free, offer_));
    occupy(*free, best->job_class, count, offer_);
  } else {
    quota_.take_prefetch(best->job_class, count);
  }
  const Take taken{best->range.job_class, best->range.priority, best->first(), count, false};
  best->taken += count;
  if (best->count() == 0) advance(*best);
  return taken;
}

void ReadyHeads::advance(Head& head) {
  const Key key = ready_key(head.range);
  tx_.erase(key);
  const auto entry = tx_.seek(key);
  const auto range = entry ? decode_ready(entry->key, entry->value) : std::nullopt;
  if (entry && is_in(Table::ready, entry->key) && !range) state_.damaged(entry->key);
  head.exhausted = !range || range->job_class != head.range.job_class;
  if (!head.exhausted) {
    head.range = *range;
    head.taken = 0;
  }
}

void ReadyHeads::write_back() {
  for (Head& head : heads_) {
    if (head.exhausted || head.taken == 0) continue;
    tx_.erase(ready_key(head.range));
    head.range.first += head.taken;
    head.range.count -= head.taken;
    head.taken = 0;
    put_ready(tx_, head.range);
  }
}

}  // namespace torc::claim
