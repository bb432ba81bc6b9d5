#include "lib/claim/barrier.h"

#include <algorithm>

#include "lib/claim/override.h"
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

// Visits the parts of the barrier's members that lie within one span.
template <class Visit>
void each_part(State& state, std::uint64_t id, const Visit& visit) {
  const auto barrier = state.barrier(id);
  if (!barrier) return;
  for (const JobRange& members : barrier->members) {
    const std::uint64_t end = raw(members.first) + members.count;
    for (std::uint64_t at = raw(members.first); at < end;) {
      const Span* span = state.span_of(at);
      if (span == nullptr) return state.damaged(Key(Table::span, at));
      const Span part = *span;
      const std::uint64_t next = std::min(end, part.end());
      visit(part, at, next);
      at = next;
    }
  }
}

// Visits the runs of jobs in [first, end) that wait. Most have no record: one look passes over them
// all.
template <class Visit>
void each_waiting(State& state, std::uint64_t first, std::uint64_t end, const Visit& visit) {
  std::uint64_t from = first;
  const auto run = [&](std::uint64_t to) {
    if (from < to) visit(from, to - from);
  };
  for (auto at = state.next_record(first); at && *at < end; at = state.next_record(*at + 1)) {
    const auto job = state.open_record(*at);
    if (!job || job->state == JobState::ready) continue;
    run(*at);
    from = *at + 1;
  }
  run(end);
}

void open(Transaction& tx, State& state, Tally& tally, std::uint64_t id) {
  each_part(state, id, [&](const Span& span, std::uint64_t first, std::uint64_t end) {
    each_waiting(state, first, end, [&](std::uint64_t from, std::uint64_t n) {
      each_rank(state, span, from, n, [&](const Rank& rank, std::uint64_t at, std::uint64_t some) {
        put_ready(tx, {rank.job_class, rank.priority, tx.sequence(), at, some});
      });
      tally.move(JobState::blocked, JobState::ready, n);
    });
  });
}

void close(Transaction& tx, State& state, Tally& tally, std::uint64_t id) {
  each_part(state, id, [&](const Span& span, std::uint64_t first, std::uint64_t end) {
    each_waiting(state, first, end, [&](std::uint64_t from, std::uint64_t n) {
      each_rank(state, span, from, n, [&](const Rank& rank, std::uint64_t at, std::uint64_t some) {
        withdraw(tx, state, ReadyJob{rank.job_class, rank.priority, at}, some);
      });
      tally.move(JobState::ready, JobState::blocked, n);
    });
  });
}

// By how much each barrier changes; sorted by barrier.
std::vector<Decrement> summed(std::vector<Decrement> all) {
  std::sort(all.begin(), all.end(),
            [](const Decrement& a, const Decrement& b) { return a.barrier < b.barrier; });
  std::vector<Decrement> sums;
  for (const Decrement& d : all) {
    if (sums.empty() || sums.back().barrier != d.barrier) sums.push_back({d.barrier, 0});
    sums.back().by += d.by;
  }
  return sums;
}

}  // namespace

void count_down(Transaction& tx, State& state, Tally& tally,
                std::vector<std::uint64_t>& completed) {
  if (completed.empty()) return;
  std::sort(completed.begin(), completed.end());
  const std::vector<Decrement> all = summed(decrements_for(state, completed));
  completed.clear();
  for (const auto& [id, by] : all) {
    const std::uint64_t before = state.remaining(id);
    const Key key(Table::countdown, id);
    if (by > before) return state.damaged(key);
    tx.put(key, encode_countdown(before - by, tx.sequence()));
    if (before == by) open(tx, state, tally, id);
  }
}

void count_up(Transaction& tx, State& state, Tally& tally,
              const std::vector<std::uint64_t>& completed) {
  for (const auto& [id, by] : summed(decrements_for(state, completed))) {
    const std::uint64_t before = state.remaining(id);
    if (before == 0) close(tx, state, tally, id);
    tx.put(Key(Table::countdown, id), encode_countdown(before + by, 0));
  }
}

}  // namespace torc::claim
