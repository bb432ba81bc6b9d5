#include "lib/claim/scheduling/ready_queue.h"

#include <algorithm>
#include <string>

#include "lib/claim/queries/queries.h"

namespace torc::claim {
namespace {

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

void put_ready(Transaction& tx, const ReadyRange& range) {
  tx.put(ready_key(range), Value().varint(range.count));
}

std::optional<ReadyRange> first_ready(State& state, std::uint32_t job_class) {
  const auto entry = state.reader().seek(Key(Table::ready).be32(job_class));
  if (!entry || !is_in(Table::ready, entry->key)) return std::nullopt;
  const auto range = decode_ready(entry->key, entry->value);
  if (!range) state.damaged(entry->key);
  return range && range->job_class == job_class ? range : std::nullopt;
}

void ReadyQueues::put(const ReadyRange& range) {
  touch(range.job_class);
  put_ready(tx_, range);
}

void ReadyQueues::put_again(std::vector<ReadyJob>& jobs) {
  std::sort(jobs.begin(), jobs.end());
  for (std::size_t i = 0; i < jobs.size();) {
    ReadyRange range{jobs[i].job_class, jobs[i].priority, 0, jobs[i].id, 1};
    for (++i; i < jobs.size() && jobs[i] == ReadyJob{range.job_class, range.priority, range.end()};
         ++i) {
      ++range.count;
    }
    touch(range.job_class);
    put_ready(tx_, absorb_neighbours(tx_, range));
  }
  jobs.clear();
}

void ReadyQueues::withdraw(std::vector<ReadyJob>& jobs) {
  std::sort(jobs.begin(), jobs.end());
  for (std::size_t i = 0; i < jobs.size();) {
    const ReadyJob first = jobs[i];
    std::uint64_t end = first.id;
    for (; i < jobs.size() && jobs[i] == ReadyJob{first.job_class, first.priority, end}; ++i) ++end;
    withdraw(first, end - first.id);
  }
  jobs.clear();
}

void ReadyQueues::withdraw(const ReadyJob& first, std::uint64_t count) {
  touch(first.job_class);
  const std::uint64_t end = first.id + count;
  for (ReadyJob at = first; at.id < end;) {
    const auto range = range_with(tx_, state_, at);
    if (!range) return state_.damaged(Key(Table::job, at.id));
    ReadyRange before = *range;
    before.count = at.id - range->first;
    ReadyRange after = *range;
    after.first = std::min(end, range->end());
    after.count = range->end() - after.first;
    if (before.count > 0) {
      put_ready(tx_, before);
    } else {
      tx_.erase(ready_key(*range));
    }
    if (after.count > 0) put_ready(tx_, after);
    at.id = after.first;
  }
}

void ReadyQueues::touch(std::uint32_t job_class) {
  if (!ordered_) return;
  const auto [before, added] = before_.try_emplace(job_class);
  if (added) before->second = first_ready(state_, job_class);
}

void ReadyQueues::store() {
  if (before_.empty()) return;
  const SortMethod sort = read_sort(state_);
  const bool sized = sort != SortMethod::none;
  for (const auto& [number, before] : before_) {
    const auto now = first_ready(state_, number);
    if (now == before) continue;
    const JobClass job_class = state_.job_class(number);
    QueueHead head{{}, size_of(job_class.need, sort), job_class.need.nodes};
    if (before) {
      head.range = *before;
      tx_.erase(order_key(head, sized));
    }
    if (now) {
      head.range = *now;
      tx_.put(order_key(head, sized), order_value(head));
    }
  }
  before_.clear();
}

void order_heads(Transaction& tx, State& state, SortMethod sort) {
  std::vector<ReadyRange> heads;
  each_ready_head(state, [&](const ReadyRange& range) {
    heads.push_back(range);
    return true;
  });
  for (const ReadyRange& range : heads) {
    const JobClass job_class = state.job_class(range.job_class);
    const QueueHead head{range, size_of(job_class.need, sort), job_class.need.nodes};
    tx.put(order_key(head, sort != SortMethod::none), order_value(head));
  }
}

void forget_order(Transaction& tx) {
  while (const auto entry = tx.seek(Key(Table::order))) {
    if (!is_in(Table::order, entry->key)) return;
    tx.erase(std::string(entry->key));
  }
}

}  // namespace torc::claim
