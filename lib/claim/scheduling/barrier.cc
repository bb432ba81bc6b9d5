#include "lib/claim/scheduling/barrier.h"

#include <algorithm>
#include <optional>
#include <span>

#include "lib/claim/scheduling/firing.h"
#include "lib/claim/scheduling/rank.h"
#include "lib/claim/scheduling/ready_queue.h"

namespace torc::claim {
namespace {

// By how much the countdown of one barrier changes, and the first jobs that make it impossible.
struct Delta {
  std::uint64_t barrier = 0;
  EdgeChange change;
  std::uint64_t unmet = UINT64_MAX;
  std::uint64_t failed = UINT64_MAX;
};

// Moves of one kind within one run.
struct Alike {
  Signal before;
  Signal after;
  std::int64_t count;
  std::uint64_t first;
};

// The first job behind `id` that a barrier waits for.
std::uint64_t next_upstream(State& state, std::uint64_t id) {
  const auto found = state.reader().seek(Key(Table::upstream, id + 1));
  return state.id_of(Table::upstream, found).value_or(UINT64_MAX);
}

using Moves = std::span<const Move>;

std::vector<Alike> alike(Moves moves) {
  std::vector<Alike> kinds;
  for (const Move& m : moves) {
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const Alike& k) {
      return k.before == m.before && k.after == m.after;
    });
    if (known == kinds.end()) {
      kinds.push_back({m.before, m.after, 1, m.job});
    } else {
      ++known->count;
    }
  }
  return kinds;
}

Delta delta_of(const Waiter& waiter, const std::vector<Alike>& kinds) {
  Delta delta;
  delta.barrier = waiter.barrier;
  for (const Alike& k : kinds) {
    const Edge before = judge(k.before, waiter.condition, waiter.cancels);
    const Edge after = judge(k.after, waiter.condition, waiter.cancels);
    if (before == after) continue;
    delta.change.add(before, after, k.count);
    if (after == Edge::unmet) delta.unmet = std::min(delta.unmet, k.first);
    if (after == Edge::failed) delta.failed = std::min(delta.failed, k.first);
  }
  return delta;
}

// `moves`: sorted by job.
std::vector<Delta> deltas_of(State& state, Moves moves) {
  std::vector<Delta> out;
  for (std::size_t i = 0; i < moves.size();) {
    const auto run = state.upstream_run(moves[i].job);
    // Of the jobs that share what was found for this one.
    const std::uint64_t end = run ? run->first + run->count : next_upstream(state, moves[i].job);
    std::size_t n = 1;
    while (i + n < moves.size() && moves[i + n].job < end) ++n;
    if (run) {
      const std::vector<Alike> kinds = alike(moves.subspan(i, n));
      for (const Waiter& w : run->waiters) {
        const Delta delta = delta_of(w, kinds);
        if (!delta.change.is_nothing()) out.push_back(delta);
      }
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

// The barrier opens (`to` ready) or closes (`to` blocked): moves its members that wait into the
// queues, or out of them.
void move_members(Transaction& tx, State& state, ReadyQueues& queues, Tally& tally,
                  std::uint64_t id, JobState to, std::vector<Followers>* followers) {
  const bool opens = to == JobState::ready;
  const JobState from = opens ? JobState::blocked : JobState::ready;
  each_part(state, id, [&](const Span& span, std::uint64_t begin, std::uint64_t end) {
    each_waiting(state, begin, end, [&](std::uint64_t first, std::uint64_t n) {
      each_rank(state, span, first, n, [&](const Rank& rank, std::uint64_t at, std::uint64_t some) {
        if (opens) {
          queues.put({rank.job_class, rank.priority, tx.sequence(), at, some});
        } else {
          queues.withdraw(ReadyJob{rank.job_class, rank.priority, at}, some);
        }
      });
      tally.move(from, to, n);
      if (followers != nullptr) note_followers(*followers, {{JobId{first}, n}, from, to});
    });
  });
}

// One for each barrier, sorted.
std::vector<Delta> summed(std::vector<Delta> all) {
  std::sort(all.begin(), all.end(),
            [](const Delta& a, const Delta& b) { return a.barrier < b.barrier; });
  std::vector<Delta> sums;
  for (const Delta& d : all) {
    if (sums.empty() || sums.back().barrier != d.barrier) {
      sums.push_back(d);
      continue;
    }
    Delta& sum = sums.back();
    sum.change.left += d.change.left;
    sum.change.unmet += d.change.unmet;
    sum.change.failed += d.change.failed;
    sum.unmet = std::min(sum.unmet, d.unmet);
    sum.failed = std::min(sum.failed, d.failed);
  }
  return sums;
}

// False: it would fall below zero.
bool shift(std::uint64_t& number, std::int64_t by) {
  if (by < 0 && number < static_cast<std::uint64_t>(-by)) return false;
  number += static_cast<std::uint64_t>(by);
  return true;
}

// Writes what becomes of one barrier, and moves its members in and out of the queues.
std::optional<Turn> turn(Transaction& tx, State& state, ReadyQueues& queues, Tally& tally,
                         const Delta& delta, Reopen reopen, std::vector<Followers>* followers) {
  const Key key(Table::countdown, delta.barrier);
  const Countdown before = state.countdown(delta.barrier);
  Countdown now = before;
  if (!shift(now.left, delta.change.left) || !shift(now.unmet, delta.change.unmet) ||
      !shift(now.failed, delta.change.failed)) {
    state.damaged(key);
    return std::nullopt;
  }
  if (now.opened && now.left > 0 && reopen == Reopen::closes) now.opened.reset();
  if (now.left == 0 && !now.opened) now.opened = tx.sequence();
  if (now == before) return std::nullopt;
  if (before.opened && !now.opened)
    move_members(tx, state, queues, tally, delta.barrier, JobState::blocked, followers);
  tx.put(key, encode(now));
  if (!before.opened && now.opened) {
    move_members(tx, state, queues, tally, delta.barrier, JobState::ready, followers);
    if ((tally.rules & rule::kActions) != 0) {
      const auto barrier = state.barrier(delta.barrier);
      if (barrier && barrier->action != 0) fire(tx, state, barrier->action);
    }
  }
  if (before.doom() == now.doom()) return std::nullopt;
  const std::uint64_t because = now.doom() == EndCause::unmet ? delta.unmet : delta.failed;
  return Turn{delta.barrier, before.doom(), now.doom(), JobId{because == UINT64_MAX ? 0 : because}};
}

}  // namespace

void note_followers(std::vector<Followers>& all, const Followers& more) {
  if (!all.empty()) {
    Followers& last = all.back();
    if (last.before == more.before && last.after == more.after &&
        torc::raw(last.jobs.first) + last.jobs.count == torc::raw(more.jobs.first)) {
      last.jobs.count += more.jobs.count;
      return;
    }
  }
  all.push_back(more);
}

std::vector<Turn> count_moves(Transaction& tx, State& state, ReadyQueues& queues, Tally& tally,
                              std::vector<Move>& moves, Reopen reopen,
                              const std::vector<std::uint64_t>& touched,
                              std::vector<Followers>* followers) {
  std::sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.job < b.job; });
  std::vector<Delta> all = deltas_of(state, moves);
  moves.clear();
  for (const std::uint64_t id : touched) all.push_back({id, {}});
  std::vector<Turn> turns;
  for (const Delta& delta : summed(std::move(all))) {
    if (const auto one = turn(tx, state, queues, tally, delta, reopen, followers))
      turns.push_back(*one);
  }
  return turns;
}

JobId culprit(State& state, std::uint64_t id, EndCause why) {
  std::uint64_t lowest = UINT64_MAX;
  const auto barrier = state.barrier(id);
  if (!barrier) return JobId{};
  const Edge lost = why == EndCause::unmet ? Edge::unmet : Edge::failed;
  const auto look = [&](const JobRange& range, Condition condition) {
    const std::uint64_t end = std::min(lowest, raw(range.first) + range.count);
    for (auto at = state.next_record(raw(range.first)); at && *at < end;
         at = state.next_record(*at + 1)) {
      const auto job = state.open_record(*at);
      if (!job || judge(signal_of(*job), condition, barrier->cancels) != lost) continue;
      lowest = *at;
      return;
    }
  };
  for (const JobRange& r : barrier->upstream) look(r, Condition::afterok);
  for (const Dependency& d : barrier->conditional) look(d.jobs, d.condition);
  return JobId{lowest == UINT64_MAX ? 0 : lowest};
}

void each_blocked_member(State& state, std::uint64_t id, const VisitMember& visit) {
  each_part(state, id, [&](const Span& /*span*/, std::uint64_t first, std::uint64_t end) {
    each_waiting(state, first, end, [&](std::uint64_t from, std::uint64_t n) {
      std::uint64_t recorded = state.next_record(from).value_or(UINT64_MAX);
      for (std::uint64_t member = from; member < from + n; ++member) {
        Job job;
        if (member == recorded) {
          job = state.open_record(member).value_or(Job{});
          recorded = state.next_record(member + 1).value_or(UINT64_MAX);
        }
        job.state = JobState::blocked;
        visit(member, job);
      }
    });
  });
}

void each_passed_over_member(State& state, std::uint64_t id, const VisitMember& visit) {
  each_part(state, id, [&](const Span& /*span*/, std::uint64_t first, std::uint64_t end) {
    for (auto at = state.next_record(first); at && *at < end; at = state.next_record(*at + 1)) {
      const auto job = state.open_record(*at);
      if (job && is_passed_over(*job)) visit(*at, *job);
    }
  });
}

}  // namespace torc::claim
