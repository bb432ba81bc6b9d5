#include "lib/claim/transactions/reshape_parts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/claim/scheduling/quota.h"
#include "lib/claim/scheduling/rank.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/past_templates.h"

namespace torc::claim {
namespace {

std::uint64_t end_of(const JobRange& range) {
  return raw(range.first) + range.count;
}

// The one of `all`, sorted and disjoint, that has this job; nullptr: none.
const SpanTerms* terms_of(const std::vector<SpanTerms>& all, std::uint64_t id) {
  const auto after =
      std::ranges::upper_bound(all, id, {}, [](const SpanTerms& t) { return raw(t.jobs.first); });
  if (after == all.begin()) return nullptr;
  const SpanTerms& terms = *std::prev(after);
  return id < end_of(terms.jobs) ? &terms : nullptr;
}

void sort_terms(std::vector<SpanTerms>& all) {
  std::ranges::sort(all, {}, [](const SpanTerms& t) { return raw(t.jobs.first); });
}

// Templates, and the indices of names that follow them.
class TemplateWriter {
 public:
  TemplateWriter(Transaction& tx, const PartOf& part_of) : tx_(tx), part_of_(part_of) {}

  Result<void> run(const std::vector<Template>& entries) {
    if (entries.empty()) return {};
    TORC_TRY(scan_classes(tx_, [&](const JobClass& c) {
      if (c.learns_from != 0) learned_.insert(c.learns_from);
      return true;
    }));
    for (const Template& t : entries) TORC_TRY(replace(t));
    tx_.put(Key(Table::edition), Value().varint(tx_.sequence()));
    return {};
  }

 private:
  Result<void> replace(const Template& entry) {
    const std::uint64_t first = raw(entry.first);
    const std::uint64_t end = first + entry.count;
    TORC_TRY(split_at(first));
    TORC_TRY(split_at(end));
    for (std::uint64_t at = first; at < end;) {
      const auto old = read_template(tx_, JobId{at});
      if (!old || old->count == 0) return bad_entry();
      if (old->recipe != entry.recipe) keep_template(tx_, *old);
      erase(*old);
      at = raw(old->first) + old->count;
    }
    std::uint64_t from = first;
    for (auto cut = learned_.upper_bound(first); cut != learned_.end() && *cut < end; ++cut) {
      TORC_ASSIGN(const Template part, part_of_(entry, from - first, *cut - from));
      write(part);
      from = *cut;
    }
    if (from == first) {
      write(entry);
    } else {
      TORC_ASSIGN(const Template rest, part_of_(entry, from - first, end - from));
      write(rest);
    }
    return {};
  }

  static Error bad_entry() {
    return Error{ErrorKind::corrupt, "the entries of the workflow in the store have a gap",
                 "run `torc verify` on the store"};
  }

  // So that a template begins there, or none goes over it.
  Result<void> split_at(std::uint64_t id) {
    const auto t = read_template(tx_, JobId{id});
    if (!t || raw(t->first) == id || id >= raw(t->first) + t->count) return {};
    const std::uint64_t left = id - raw(t->first);
    TORC_ASSIGN(const Template before, part_of_(*t, 0, left));
    TORC_ASSIGN(const Template after, part_of_(*t, left, t->count - left));
    erase(*t);
    write(before);
    write(after);
    return {};
  }

  void erase(const Template& t) {
    tx_.erase(Key(Table::job_template, raw(t.first)));
    if (t.count > 1) {
      tx_.erase(Key(Table::sweep, raw(t.first)));
    } else if (t.name_hash != 0) {
      tx_.erase(Key(Table::name, t.name_hash).be64(raw(t.first)));
    }
  }

  void write(const Template& t) {
    tx_.put(Key(Table::job_template, raw(t.first)), encode(t));
    if (t.count > 1) {
      tx_.put(Key(Table::sweep, raw(t.first)), {});
    } else if (t.name_hash != 0) {
      tx_.put(Key(Table::name, t.name_hash).be64(raw(t.first)), {});
    }
  }

  Transaction& tx_;
  const PartOf& part_of_;
  std::set<std::uint64_t> learned_;  // where templates begin that classes learn from
};

// `barrier` waits for the jobs of the range no more.
void stop_waiting(Transaction& tx, State& state, std::uint64_t barrier, const JobRange& range) {
  for (std::uint64_t at = raw(range.first); at < end_of(range);) {
    auto run = state.upstream_run(at);
    if (!run) return state.damaged(Key(Table::upstream, at));
    std::erase_if(run->waiters, [&](const Waiter& w) { return w.barrier == barrier; });
    if (run->waiters.empty()) {
      tx.erase(Key(Table::upstream, run->first));
    } else {
      tx.put(Key(Table::upstream, run->first), encode(*run));
    }
    at = run->first + run->count;
  }
}

}  // namespace

void sort_ranges(std::vector<JobRange>& ranges) {
  std::ranges::sort(ranges, {}, &JobRange::first);
}

std::vector<JobRange> joined_ranges(std::vector<JobRange> ranges) {
  sort_ranges(ranges);
  std::vector<JobRange> out;
  for (const JobRange& r : ranges) {
    if (r.count == 0) continue;
    if (!out.empty() && end_of(out.back()) >= raw(r.first)) {
      out.back().count = std::max(end_of(out.back()), end_of(r)) - raw(out.back().first);
    } else {
      out.push_back(r);
    }
  }
  return out;
}

Key removed_key(JobId id) {
  return Key(Table::removed, raw(id));
}

Result<void> replace_templates(Transaction& tx, const std::vector<Template>& entries,
                               const PartOf& part_of) {
  return TemplateWriter(tx, part_of).run(entries);
}

SpanChange::SpanChange(Transaction& tx, Tally& tally, const std::vector<SpanTerms>& ranks,
                       const std::vector<SpanTerms>& barriers)
    : tx_(tx), tally_(tally), barriers_(barriers) {
  State state(tx_);
  for (const SpanTerms& t : ranks) {
    for (std::uint64_t at = raw(t.jobs.first); at < end_of(t.jobs);) {
      const Span* span = state.span_of(at);
      if (span == nullptr) break;  // lift() says so
      const std::uint64_t to = std::min(end_of(t.jobs), span->end());
      if (t.rank && *t.rank != Rank{span->job_class, span->priority})
        ranks_.push_back({{JobId{at}, to - at}, t.rank, {}});
      at = to;
    }
  }
  sort_terms(ranks_);
  sort_terms(barriers_);
  for (const auto* all : {&ranks_, &barriers_}) {
    for (const SpanTerms& t : *all) changed_.push_back(t.jobs);
  }
  changed_ = joined_ranges(std::move(changed_));
}

Result<void> SpanChange::lift() {
  return move(Way::out);
}

Result<void> SpanChange::drop() {
  return move(Way::in);
}

Result<void> SpanChange::move(Way way) {
  State state(tx_);
  ReadyQueues queues(tx_, state, tally_.ordered);
  for (const JobRange& range : changed_) {
    for (std::uint64_t at = raw(range.first); at < end_of(range);) {
      const Span* span = state.span_of(at);
      if (span == nullptr) {
        state.damaged(Key(Table::span, at));
        return state.sound();
      }
      const std::uint64_t end = std::min(end_of(range), span->end());
      const std::uint64_t recorded = std::min(end, state.next_record(at).value_or(end));
      if (recorded > at) move_run(state, queues, way, at, recorded - at);
      at = recorded;
      if (at == end) continue;
      const auto job = state.open_record(at);
      if (!job) return state.sound();
      if (job->state == JobState::ready) move_run(state, queues, way, at, 1);
      ++at;
    }
  }
  queues.store();
  return state.sound();
}

// All of one span, and waiting.
void SpanChange::move_run(State& state, ReadyQueues& queues, Way way, std::uint64_t first,
                          std::uint64_t count) {
  const Span span = *state.span_of(first);
  const bool open = state.is_open(span.barrier);
  auto& counted =
      tally_.counts[static_cast<std::size_t>(open ? JobState::ready : JobState::blocked)];
  if (way == Way::in) {
    counted += count;
  } else {
    counted -= count;
  }
  if (!open) return;
  const std::uint64_t age = state.opened_at(span.barrier);
  each_rank(state, span, first, count,
            [&](const Rank& rank, std::uint64_t from, std::uint64_t jobs) {
              if (way == Way::in) {
                queues.put({rank.job_class, rank.priority, age, from, jobs});
              } else {
                queues.withdraw({rank.job_class, rank.priority, from}, jobs);
              }
            });
}

// Where the terms change inside of the span: its beginning and its end, and all places between.
std::vector<std::uint64_t> SpanChange::cuts_of(const Span& span) const {
  std::vector<std::uint64_t> cuts{span.first, span.end()};
  for (const auto* all : {&ranks_, &barriers_}) {
    auto at = std::ranges::upper_bound(*all, span.first, {},
                                       [](const SpanTerms& t) { return raw(t.jobs.first); });
    if (at != all->begin()) --at;
    for (; at != all->end() && raw(at->jobs.first) < span.end(); ++at) {
      for (const std::uint64_t cut : {raw(at->jobs.first), end_of(at->jobs)}) {
        if (cut > span.first && cut < span.end()) cuts.push_back(cut);
      }
    }
  }
  std::ranges::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

void SpanChange::write_span(std::vector<Span>& spans, const Span& span) const {
  if (!spans.empty() && spans.back().end() == span.first && spans.back().barrier == span.barrier &&
      spans.back().job_class == span.job_class && spans.back().priority == span.priority) {
    spans.back().count += span.count;
  } else {
    spans.push_back(span);
  }
}

std::vector<std::uint64_t> SpanChange::rewrite() {
  forget_own_ranks();
  std::set<std::uint64_t> lost;
  for (const JobRange& range : changed_) {
    State state(tx_);
    std::vector<Span> old;
    for (std::uint64_t at = raw(range.first); at < end_of(range);) {
      const Span* span = state.span_of(at);
      if (span == nullptr) break;
      old.push_back(*span);
      at = span->end();
    }
    std::vector<Span> now;
    for (const Span& span : old) {
      const std::vector<std::uint64_t> cuts = cuts_of(span);
      for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        Span piece = span;
        piece.first = cuts[i];
        piece.count = cuts[i + 1] - cuts[i];
        // Others of the same span have had their turn, or will.
        const bool is_of_range = piece.first >= raw(range.first) && piece.first < end_of(range);
        const SpanTerms* rank = is_of_range ? terms_of(ranks_, piece.first) : nullptr;
        const SpanTerms* barrier = is_of_range ? terms_of(barriers_, piece.first) : nullptr;
        if (rank != nullptr) {
          piece.job_class = rank->rank->job_class;
          piece.priority = rank->rank->priority;
        }
        if (barrier != nullptr) {
          if (piece.barrier != 0 && piece.barrier != *barrier->barrier) lost.insert(piece.barrier);
          piece.barrier = *barrier->barrier;
        }
        write_span(now, piece);
      }
    }
    for (const Span& span : old) tx_.erase(Key(Table::span, span.first));
    for (const Span& span : now) tx_.put(Key(Table::span, span.first), encode(span));
  }
  return {lost.begin(), lost.end()};
}

// What was set for single jobs is what their entry says from now on, but that a suspect is alone;
// and nobody remembers an alternative that the class does not have.
void SpanChange::forget_own_ranks() {
  State state(tx_);
  Quota quota(tx_, state, tally_.rules);
  for (const SpanTerms& t : ranks_) {
    const std::uint64_t end = end_of(t.jobs);
    std::map<std::uint64_t, Rank> ranks_before;
    for (auto at = state.id_of(Table::own_rank, tx_.seek(Key(Table::own_rank, raw(t.jobs.first))));
         at && *at < end;
         at = state.id_of(Table::own_rank, tx_.seek(Key(Table::own_rank, *at + 1)))) {
      if (const auto own = state.rank_of(*at)) ranks_before.emplace(*at, *own);
      tx_.erase(Key(Table::own_rank, *at));
    }
    const JobClass now = state.job_class(t.rank->job_class);
    for (auto at = state.next_record(raw(t.jobs.first)); at && *at < end;
         at = state.next_record(*at + 1)) {
      auto job = state.open_record(*at);
      if (!job) return;
      if (is_occupied(*job)) {
        const auto before = ranks_before.find(*at);
        const auto rank = state.rank_of(*at);
        if (!rank) return;
        const std::uint32_t was =
            before != ranks_before.end() ? before->second.job_class : rank->job_class;
        quota.change_class(job->worker, job->alternative, was, t.rank->job_class);
      }
      if (job->alternative >= now.alternatives()) {
        job->alternative = 0;
        tx_.put(Key(Table::job, *at), encode(*job));
      }
      if (alone(*job) == Alone::no) continue;
      JobClass by_itself = now;
      by_itself.alone = alone(*job);
      tx_.put(Key(Table::own_rank, *at),
              encode(Rank{find_or_add_class(tx_, state, by_itself), t.rank->priority}));
    }
  }
  quota.store();
}

Result<void> forget_members(Transaction& tx, const std::vector<std::uint64_t>& barriers,
                            const std::vector<JobRange>& jobs) {
  State state(tx);
  const std::vector<JobRange> gone = joined_ranges(jobs);
  for (const std::uint64_t id : barriers) {
    auto barrier = state.barrier(id);
    if (!barrier) break;
    sort_ranges(barrier->members);
    barrier->members = without(barrier->members, gone);
    if (!barrier->members.empty()) {
      tx.put(Key(Table::barrier, id), encode(*barrier));
      continue;
    }
    for (const JobRange& r : barrier->upstream) stop_waiting(tx, state, id, r);
    for (const Dependency& d : barrier->conditional) stop_waiting(tx, state, id, d.jobs);
    tx.erase(Key(Table::barrier, id));
    tx.erase(Key(Table::countdown, id));
  }
  return state.sound();
}

}  // namespace torc::claim
