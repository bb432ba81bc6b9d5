#include "lib/claim/barrier.h"

#include <algorithm>

#include "lib/claim/ready_queue.h"

namespace torc::claim {
namespace {

struct Decrement {
  std::uint64_t barrier = 0;
  std::uint64_t by = 0;
};

// The run that holds `id`, or nothing, and then in `skip_to` the first job of the next run.
std::optional<UpstreamRun> run_of(State& state, std::uint64_t id, std::uint64_t& skip_to) {
  const Reader& reader = state.reader();
  if (const auto e = reader.seek_before(Key(Table::upstream, id + 1));
      e && is_in(Table::upstream, e->key)) {
    auto run = decode_upstream(e->key, e->value);
    if (!run) state.damaged(e->key);
    if (run && id - run->first < run->count) return run;
  }
  const auto e = reader.seek(Key(Table::upstream, id + 1));
  const auto next = e ? id_in(Table::upstream, e->key) : std::nullopt;
  skip_to = next.value_or(UINT64_MAX);
  return std::nullopt;
}

std::vector<Decrement> decrements_for(State& state, const std::vector<std::uint64_t>& completed) {
  std::vector<Decrement> out;
  for (std::size_t i = 0; i < completed.size();) {
    std::uint64_t end = completed[i] + 1;  // of the jobs that share what was found for this one
    const auto run = run_of(state, completed[i], end);
    if (run) end = run->first + run->count;
    const auto last =
        std::lower_bound(completed.begin() + static_cast<std::ptrdiff_t>(i), completed.end(), end);
    const auto n = static_cast<std::size_t>(last - completed.begin()) - i;
    if (run) {
      for (std::uint64_t b : run->barriers) out.push_back({b, n});
    }
    i += n;
  }
  return out;
}

void open(Transaction& tx, State& state, Tally& tally, std::uint64_t id) {
  const auto barrier = state.barrier(id);
  if (!barrier) return;
  for (const JobRange& members : barrier->members) {
    const std::uint64_t end = raw(members.first) + members.count;
    for (std::uint64_t at = raw(members.first); at < end;) {
      const Span* span = state.span_of(at);
      if (span == nullptr) return state.damaged(Key(Table::span, at));
      const std::uint64_t n = std::min(end, span->end()) - at;
      put_ready(tx, {span->job_class, span->priority, tx.sequence(), at, n});
      tally.move(JobState::blocked, JobState::ready, n);
      at += n;
    }
  }
}

}  // namespace

void count_down(Transaction& tx, State& state, Tally& tally,
                std::vector<std::uint64_t>& completed) {
  if (completed.empty()) return;
  std::sort(completed.begin(), completed.end());
  std::vector<Decrement> all = decrements_for(state, completed);
  completed.clear();
  std::sort(all.begin(), all.end(),
            [](const Decrement& a, const Decrement& b) { return a.barrier < b.barrier; });
  for (std::size_t i = 0; i < all.size();) {
    const std::uint64_t id = all[i].barrier;
    std::uint64_t by = 0;
    for (; i < all.size() && all[i].barrier == id; ++i) by += all[i].by;
    const std::uint64_t before = state.remaining(id);
    const Key key(Table::countdown, id);
    if (by > before) return state.damaged(key);
    tx.put(key, Value().varint(before - by));
    if (before == by) open(tx, state, tally, id);
  }
}

}  // namespace torc::claim
