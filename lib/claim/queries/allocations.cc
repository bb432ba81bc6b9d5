#include "lib/claim/queries/allocations.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

// Counts the work by class, from the few records that tell it.
class WorkCount {
 public:
  explicit WorkCount(const Reader& reader) : reader_(reader), state_(reader) {}

  Result<WorkOfStore> run() {
    TORC_ASSIGN(const WorkflowState workflow, read_workflow(reader_));
    count_held();
    if (!workflow.halted()) {
      count_ready();
      count_delayed();
      count_blocked();
      keep_to_limits();
    }
    TORC_TRY(state_.sound());
    WorkOfStore out;
    out.is_whole = is_whole_;
    for (auto& [number, work] : by_class_) {
      if (work.all() == 0) continue;
      work.job_class = as_learned(reader_, state_.job_class(number));
      out.work.push_back(std::move(work));
    }
    TORC_TRY(state_.sound());
    return out;
  }

 private:
  // False: enough was looked at.
  bool step() {
    if (looked_ < kMostSpansLooked) {
      ++looked_;
      return true;
    }
    is_whole_ = false;
    return false;
  }

  void count_ready() {
    const auto decode = [](const store::Entry& e) { return decode_ready(e.key, e.value); };
    each_readable(state_, Key(Table::ready), decode, [&](const ReadyRange& range) {
      by_class_[range.job_class].ready += range.count;
      live_ += range.count;
      return step();
    });
    looked_ = 0;
  }

  void count_held() {
    const auto decode = [](const store::Entry& e) { return decode_lease(e.value); };
    std::vector<std::uint64_t> held;
    each_readable(state_, Key(Table::lease), decode, [&](const Lease& lease) {
      held.insert(held.end(), lease.held.begin(), lease.held.end());
      return held.size() < kMostSpansLooked;
    });
    if (held.size() >= kMostSpansLooked) is_whole_ = false;
    for (const std::uint64_t id : held) {
      const auto rank = state_.rank_of(id);
      if (rank) ++by_class_[rank->job_class].held;
    }
    live_ += held.size();
  }

  void count_delayed() {
    reader_.scan_prefix(Key(Table::delayed), [&](const store::Entry& e) {
      const auto id = delayed_in(e.key);
      if (!id) {
        state_.damaged(e.key);
        return false;
      }
      const auto rank = state_.rank_of(*id);
      if (rank) ++by_class_[rank->job_class].soon;
      ++live_;
      return step();
    });
    looked_ = 0;
  }

  void count_blocked() {
    std::vector<Span> closed;
    const auto decode = [](const store::Entry& e) { return decode_span(e.key, e.value); };
    each_readable(state_, Key(Table::span), decode, [&](const Span& span) {
      if (span.barrier != 0) closed.push_back(span);
      return step();
    });
    looked_ = 0;
    std::erase_if(closed, [&](const Span& span) { return state_.is_open(span.barrier); });
    std::vector<Span> stuck;
    std::map<std::uint64_t, bool> are_stuck;  // by barrier, as the next one
    std::map<std::uint64_t, bool> are_soon;
    for (const Span& span : closed) {
      const auto [is_stuck, is_unknown] = are_stuck.try_emplace(span.barrier, false);
      if (is_unknown) is_stuck->second = waits_for_a_person(span.barrier, stuck);
      if (is_stuck->second) {
        stuck.push_back(span);
        continue;
      }
      const auto [at, is_new] = are_soon.try_emplace(span.barrier, false);
      if (is_new) at->second = waits_for_live_ones(span.barrier, closed);
      WorkLeft& work = by_class_[span.job_class];
      const std::uint64_t aside = aside_among(span.first, span.count, span.count);
      const std::uint64_t jobs = span.count - std::min(span.count, aside);
      (at->second ? work.soon : work.later) += jobs;
    }
    looked_ = 0;
  }

  // Whether some of the jobs are in one of these spans, which are in the order of their jobs.
  static bool are_in(const std::vector<Span>& spans, const JobRange& jobs) {
    // The first span that ends behind the first of them.
    const auto span = std::ranges::upper_bound(spans, raw(jobs.first), {}, &Span::end);
    return span != spans.end() && span->first < raw(jobs.first) + jobs.count;
  }

  // A job that has to complete before was set aside, or waits for such a one: nothing but a
  // person's word lets it. `stuck`: of the spans before, so of a workflow file that names jobs
  // before those that wait for them all are found.
  bool waits_for_a_person(std::uint64_t number, const std::vector<Span>& stuck) {
    const auto barrier = state_.barrier(number);
    return barrier && std::ranges::any_of(barrier->upstream, [&](const JobRange& jobs) {
             return are_in(stuck, jobs) || aside_among(raw(jobs.first), jobs.count, 1) > 0;
           });
  }

  // None of those that it waits for waits for others itself.
  bool waits_for_live_ones(std::uint64_t number, const std::vector<Span>& closed) {
    if (state_.countdown(number).left > live_) return false;
    const auto barrier = state_.barrier(number);
    if (!barrier) return false;
    const auto waits = [&](const JobRange& jobs) { return are_in(closed, jobs); };
    return std::ranges::none_of(barrier->upstream, waits) &&
           std::ranges::none_of(barrier->conditional,
                                [&](const Dependency& one) { return waits(one.jobs); });
  }

  // How many of these jobs are held, canceled, failed or the like; at most `most` are counted.
  std::uint64_t aside_among(std::uint64_t first, std::uint64_t count, std::uint64_t most) {
    std::uint64_t jobs = 0;
    if (!step()) return jobs;
    reader_.scan(Key(Table::set_aside, first), [&](const store::Entry& e) {
      if (!is_in(Table::set_aside, e.key)) return false;
      const auto id = id_in(Table::set_aside, e.key);
      if (!id) state_.damaged(e.key);
      if (!id || *id - first >= count) return false;
      return ++jobs < most && step();
    });
    return jobs;
  }

  // Jobs that a limit or the budget lets nobody claim now are not ready to be asked for.
  void keep_to_limits() {
    const std::uint8_t rules = state_.tally().rules;
    std::map<std::uint32_t, std::uint64_t> free;
    const auto room_in = [&](const LimitShare& share) {
      const auto [at, is_new] = free.try_emplace(share.number, 0);
      const auto known = is_new ? read_limit(reader_, share.number) : std::nullopt;
      if (is_new && !known) state_.damaged(Key(Table::limit).be32(share.number));
      if (known && known->limit.most > known->used) at->second = known->limit.most - known->used;
      return at->second / std::max<std::uint32_t>(1, share.amount);
    };
    const auto expense = (rules & rule::kBudget) != 0 ? read_expense(reader_) : std::nullopt;
    if ((rules & rule::kLimits) == 0 && !expense) return;
    for (auto& [number, work] : by_class_) {
      const JobClass job_class = as_learned(reader_, state_.job_class(number));
      std::uint64_t most = work.ready;
      for (const LimitShare& share : job_class.limits) most = std::min(most, room_in(share));
      for (const LimitShare& share : job_class.limits) free[share.number] -= most * share.amount;
      if (expense && is_beyond(*expense, job_class)) most = 0;
      work.later += work.ready - most;
      work.ready = most;
    }
  }

  const Reader& reader_;
  State state_;
  std::map<std::uint32_t, WorkLeft> by_class_;
  std::uint64_t live_ = 0;
  std::size_t looked_ = 0;
  bool is_whole_ = true;
};

// Of a scheduler that there is: whoever looks it up in the list of them finds it.
Result<void> take_allocation(const Reader& reader, std::uint32_t number, std::string_view value,
                             Allocations& all) {
  auto allocation = decode_allocation(value);
  if (!allocation || !reader.get(scheduler_key(allocation->scheduler)))
    return unreadable(allocation_key(number));
  all.emplace(number, *std::move(allocation));
  return {};
}

}  // namespace

Result<AllocationBook> read_allocation_book(const Reader& reader) {
  const Key key(Table::allocation);
  const auto value = reader.get(key);
  if (!value) return AllocationBook{};
  const auto book = decode_book(*value);
  if (!book) return unreadable(key);
  return *book;
}

Result<PassState> read_pass_state(const Reader& reader) {
  TORC_ASSIGN(const AllocationBook book, read_allocation_book(reader));
  if (book.live > 0) return PassState{book.passes, true};
  TORC_ASSIGN(const auto all, read_schedulers(reader));
  return PassState{book.passes, std::ranges::any_of(all, &Scheduler::is_managed)};
}

Result<std::vector<Scheduler>> read_schedulers(const Reader& reader) {
  std::vector<Scheduler> all;
  TORC_TRY(each(reader, Table::scheduler, [&](const store::Entry& e) -> Result<void> {
    const auto number = scheduler_in(e.key);
    auto scheduler = decode_scheduler(e.value);
    if (!number || !scheduler || *number != all.size() + 1) return unreadable(e.key);
    all.push_back(*std::move(scheduler));
    return {};
  }));
  return all;
}

Result<Allocations> read_live_allocations(const Reader& reader) {
  Allocations all;
  TORC_TRY(each(reader, Table::live_allocation, [&](const store::Entry& e) -> Result<void> {
    const auto number = live_allocation_in(e.key);
    const auto value = number ? reader.get(allocation_key(*number)) : std::nullopt;
    if (!value) return unreadable(e.key);
    return take_allocation(reader, *number, *value, all);
  }));
  return all;
}

Result<Allocations> read_allocations(const Reader& reader) {
  Allocations all;
  TORC_TRY(each(reader, Table::allocation, [&](const store::Entry& e) -> Result<void> {
    if (e.key.size() == 1) return {};  // the book of them
    const auto number = allocation_in(e.key);
    if (!number) return unreadable(e.key);
    return take_allocation(reader, *number, e.value, all);
  }));
  return all;
}

Result<std::vector<LeftNode>> read_left_nodes(const Reader& reader) {
  std::vector<LeftNode> all;
  TORC_TRY(each(reader, Table::left_node, [&](const store::Entry& e) -> Result<void> {
    auto left = decode_left_node(e.value);
    if (!left) return unreadable(e.key);
    if (all.size() < kMostLeftNodes) all.push_back(*std::move(left));
    return {};
  }));
  return all;
}

Result<WorkOfStore> read_work(const Reader& reader) {
  return WorkCount(reader).run();
}

}  // namespace torc::claim
