#include "lib/claim/transactions/plan_joining.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/base/codec.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/condition.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/tables/definition.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/plan_parts.h"

namespace torc::claim {
std::uint64_t last_barrier(State& state) {
  return state.id_of(Table::barrier, last_of(state.reader(), Table::barrier)).value_or(0);
}

namespace {

// Finds the classes of the addition again among those there are, and puts down the others.
class Classes {
 public:
  explicit Classes(Transaction& tx) : tx_(tx) {}
  Result<void> read() {
    return scan_classes(tx_, [&](const JobClass& c) {
      known_.emplace(c, next_++);
      return true;
    });
  }
  std::uint32_t number_of(const JobClass& c) {
    const auto [it, is_new] = known_.emplace(c, next_);
    if (is_new) tx_.put(Key(Table::job_class).be32(next_++), encode(c));
    return it->second;
  }

 private:
  Transaction& tx_;
  std::map<JobClass, std::uint32_t> known_;
  std::uint32_t next_ = 0;
};

// A limit that is there already is that one.
Result<void> renumber_limits(Transaction& tx, Plan& plan) {
  if (plan.limits.empty()) return {};
  std::vector<Limit> known;
  TORC_TRY(scan_limits(tx, [&](const LimitState& one) {
    known.push_back(one.limit);
    return true;
  }));
  std::vector<std::uint32_t> numbers{0};
  for (const Limit& limit : plan.limits) {
    const auto at =
        std::ranges::find_if(known, [&](const Limit& one) { return is_same_limit(one, limit); });
    const auto number = static_cast<std::uint32_t>(at - known.begin() + 1);
    if (at == known.end()) {
      known.push_back(limit);
      tx.put(Key(Table::limit).be32(number), encode(limit));
    }
    numbers.push_back(number);
  }
  for (JobClass& c : plan.classes) {
    for (LimitShare& share : c.limits) share.number = numbers[share.number];
    std::ranges::sort(c.limits);
  }
  return {};
}

}  // namespace

Result<std::vector<std::uint32_t>> renumber_classes(Transaction& tx, Plan& plan) {
  TORC_TRY(renumber_limits(tx, plan));
  Classes classes(tx);
  TORC_TRY(classes.read());
  std::vector<std::uint32_t> numbers;
  for (const JobClass& c : plan.classes) numbers.push_back(classes.number_of(c));
  for (Template& t : plan.templates) t.job_class = numbers[t.job_class];
  return numbers;
}

std::vector<std::uint32_t> renumber_handlers(Transaction& tx, State& state, Plan& plan) {
  if (plan.handlers.empty()) return {0};
  std::vector<std::string> known;
  tx.scan_prefix(Key(Table::handler), [&](const store::Entry& e) {
    known.emplace_back(e.value);
    if (id_in(Table::handler, e.key) == known.size()) return true;
    state.damaged(e.key);
    return false;
  });
  std::vector<std::uint32_t> numbers = {0};
  for (const Handler& handler : plan.handlers) {
    const std::string bytes = encode(handler);
    const auto at = std::find(known.begin(), known.end(), bytes);
    numbers.push_back(static_cast<std::uint32_t>(at - known.begin() + 1));
    if (at != known.end()) continue;
    known.push_back(bytes);
    tx.put(Key(Table::handler, known.size()), bytes);
  }
  for (Template& t : plan.templates) t.handler = numbers[t.handler];
  return numbers;
}

namespace {

void put_run(Transaction& tx, std::uint64_t first, std::uint64_t end, std::vector<Waiter> waiters) {
  if (first >= end) return;
  tx.put(Key(Table::upstream, first), encode(UpstreamRun{first, end - first, std::move(waiters)}));
}

}  // namespace

void extend_upstream(Transaction& tx, State& state, const UpstreamRun& added, std::uint64_t fresh) {
  const std::uint64_t end = added.first + added.count;
  for (std::uint64_t at = added.first; at < end;) {
    const auto run = at < fresh ? state.upstream_run(at) : std::nullopt;
    if (!run) {
      std::uint64_t to = end;
      const auto next = at < fresh ? tx.seek(Key(Table::upstream, at)) : std::nullopt;
      if (const auto first = state.id_of(Table::upstream, next)) to = std::min(to, *first);
      if (to == at) return state.damaged(Key(Table::upstream, at));  // there, and unreadable
      put_run(tx, at, to, added.waiters);
      at = to;
      continue;
    }
    const std::uint64_t run_end = run->first + run->count;
    const std::uint64_t to = std::min(end, run_end);
    std::vector<Waiter> both = run->waiters;
    both.insert(both.end(), added.waiters.begin(), added.waiters.end());
    put_run(tx, run->first, at, run->waiters);
    put_run(tx, at, to, std::move(both));
    put_run(tx, to, run_end, run->waiters);
    at = to;
  }
}

namespace {

// Takes off what is met of the edges from these jobs, and counts what can no longer be. Those to
// which nothing has happened cost nothing.
void count_edges(State& state, const JobRange& jobs, const Waiter& waiter, Countdown& countdown) {
  const std::uint64_t end = raw(jobs.first) + jobs.count;
  state.reader().scan(Key(Table::job, raw(jobs.first)), [&](const store::Entry& e) {
    if (!is_in(Table::job, e.key)) return false;
    const auto id = id_in(Table::job, e.key);
    if (id && *id >= end) return false;
    const auto job = id ? decode_job(e.value) : std::nullopt;
    if (!job) state.damaged(e.key);
    const Edge edge =
        job ? judge(signal_of(*job), waiter.condition, waiter.cancels) : Edge::pending;
    if (edge == Edge::met) --countdown.left;
    if (edge == Edge::unmet) ++countdown.unmet;
    if (edge == Edge::failed) ++countdown.failed;
    return true;
  });
}

bool is_plain(const Barrier& barrier) {
  return barrier.conditional.empty() && !barrier.cancels;
}

bool same(const std::vector<JobRange>& a, const std::vector<JobRange>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const JobRange& x, const JobRange& y) {
                      return x.first == y.first && x.count == y.count;
                    });
}

// As a barrier that waits for the completion of the same jobs already knows.
std::optional<Countdown> countdown_of_twin(State& state, const Barrier& barrier) {
  const auto run = state.upstream_run(raw(barrier.upstream.front().first));
  if (!run) return {};
  for (const Waiter& w : run->waiters) {
    if (w.condition != Condition::afterok || w.cancels) continue;
    const auto other = state.barrier(w.barrier);
    if (!other || !is_plain(*other) || !same(other->upstream, barrier.upstream)) continue;
    Countdown known = state.countdown(w.barrier);
    known.opened.reset();
    return known;
  }
  return {};
}

Countdown countdown_of(State& state, const Barrier& barrier, std::uint64_t before) {
  Countdown countdown;
  countdown.left = barrier.total;
  if (is_plain(barrier)) {
    if (raw(barrier.upstream.front().first) > before) return countdown;
    if (const auto known = countdown_of_twin(state, barrier)) return *known;
  }
  for (const JobRange& r : barrier.upstream) {
    if (raw(r.first) > before) break;
    count_edges(state, r, {0, Condition::afterok, barrier.cancels}, countdown);
  }
  for (const Dependency& d : barrier.conditional) {
    if (raw(d.jobs.first) <= before) count_edges(state, d.jobs, {0, d.condition}, countdown);
  }
  return countdown;
}

}  // namespace

Begun write_barriers(Transaction& tx, State& state, const Plan& plan, std::uint64_t barriers,
                     std::uint64_t before) {
  Begun begun;
  for (const auto& [id, barrier] : barriers_of(plan, barriers)) {
    Countdown countdown = countdown_of(state, barrier, before);
    tx.put(Key(Table::barrier, id), encode(barrier));
    if (countdown.left == 0) {
      countdown.opened = tx.sequence();
      begun.open.push_back(id);
    }
    if (countdown.doom() != EndCause::none) begun.doomed.push_back(id);
    Countdown whole;
    whole.left = barrier.total;
    if (countdown != whole) tx.put(Key(Table::countdown, id), encode(countdown));
  }
  return begun;
}

void note_origin(Transaction& tx, State& state, const Origin& origin) {
  const Key all(Table::addition);
  const auto stored = tx.get(all);
  const auto before = stored ? decode_additions(*stored) : Additions{};
  if (!before) return state.damaged(all);
  Additions additions = *before;
  if (additions.count++ == 0) additions.first = raw(origin.jobs.first);
  tx.put(all, Value().varint(additions.count).varint(additions.first));
  tx.put(Key(Table::addition, raw(origin.jobs.first)), encode(origin));
}

void follow_classes(Transaction& tx, State& state, std::size_t few_classes, Tally& tally) {
  const SortMethod sort = read_sort(state);
  const auto last = last_of(tx, Table::job_class);
  const bool many = last && last->key.size() == 5 && number_at(last->key, 1, 4) >= few_classes;
  const bool can = can_be_ordered(sort, tally.rules);
  if (!tally.ordered && many && can) order_heads(tx, state, sort);
  if (tally.ordered && !can) forget_order(tx);
  tally.ordered = can && (many || tally.ordered);
}

Result<void> pass_over_members(Transaction& tx, const std::vector<std::uint64_t>& barriers,
                               WallTime now) {
  if (barriers.empty()) return {};
  Ledger ledger(tx, now);
  for (const std::uint64_t id : barriers) ledger.pass_over_members(id);
  return ledger.close();
}

}  // namespace torc::claim
