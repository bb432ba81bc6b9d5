#include "lib/claim/transactions/reset.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/user_data.h"

namespace torc::claim {
namespace {

// Ranges of jobs, disjoint and joined, that grow.
class Covered {
 public:
  // The parts of [first, end) that were not there yet; now they are.
  std::vector<JobRange> add(std::uint64_t first, std::uint64_t end) {
    std::vector<JobRange> fresh;
    auto it = ends_.upper_bound(first);
    if (it != ends_.begin() && std::prev(it)->second >= first) --it;
    std::uint64_t at = first;
    std::uint64_t low = first;
    std::uint64_t high = end;
    while (it != ends_.end() && it->first <= end) {
      if (at < it->first) fresh.push_back({JobId{at}, it->first - at});
      at = std::max(at, it->second);
      low = std::min(low, it->first);
      high = std::max(high, it->second);
      it = ends_.erase(it);
    }
    if (at < end) fresh.push_back({JobId{at}, end - at});
    ends_.emplace(low, high);
    return fresh;
  }
  [[nodiscard]] std::vector<JobRange> ranges() const {
    std::vector<JobRange> out;
    for (const auto& [first, end] : ends_) out.push_back({JobId{first}, end - first});
    return out;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // first -> end
};

// The barriers that wait for any job of the range, added to `barriers`.
void barriers_of(State& state, const JobRange& range, std::set<std::uint64_t>& barriers) {
  const Reader& reader = state.reader();
  const std::uint64_t first = raw(range.first);
  std::uint64_t from = first;
  const auto before = reader.seek_before(Key(Table::upstream, first + 1));
  from = state.id_of(Table::upstream, before).value_or(first);
  reader.scan(Key(Table::upstream, from), [&](const store::Entry& e) {
    if (!is_in(Table::upstream, e.key)) return false;
    const auto run = decode_upstream(e.key, e.value);
    if (!run) {
      state.damaged(e.key);
      return false;
    }
    if (run->first >= first + range.count) return false;
    if (run->first + run->count > first) {
      for (const Waiter& w : run->waiters) barriers.insert(w.barrier);
    }
    return true;
  });
}

bool is_named(JobRanges jobs, std::uint64_t id) {
  const auto after =
      std::upper_bound(jobs.begin(), jobs.end(), id,
                       [](std::uint64_t v, const JobRange& r) { return v < raw(r.first); });
  return after != jobs.begin() && id - raw(std::prev(after)->first) < std::prev(after)->count;
}

struct Downstream {
  std::vector<JobRange> jobs;  // those named and what is downstream of them
  std::vector<std::uint64_t> barriers;
};

class Reset {
 public:
  Reset(Transaction& tx, JobRanges jobs, WallTime now)
      : named_(jobs), now_(now), ledger_(tx, now, Reopen::closes) {
    ledger_.tell_followers(followers_);
  }

  Result<Change> run(const Downstream& all, Force force) {
    std::uint64_t live = 0;
    for (const JobRange& range : all.jobs) live += look_at(range);
    if (live > 0 && force == Force::no) {
      return Error{ErrorKind::busy,
                   fmt::format("{} of the jobs to be reset {} claimed or running", live,
                               live == 1 ? "is" : "are"),
                   "wait for them, or cancel them; `torc reset --force` cancels them and lets them "
                   "run again"};
    }
    // One may be open although a job that it waits for was retried since.
    if ((ledger_.tally().rules & rule::kEnds) != 0) ledger_.touch(all.barriers);
    for (const std::uint64_t id : recorded_) reset(id);
    TORC_TRY(ledger_.close());
    change_.note_followers(followers_, changed_);
    change_.leave_passed_over(ledger_.state(), passed_over_);
    return std::move(change_);
  }

 private:
  // Only jobs with a record have anything to lose. The number of those that a worker holds.
  std::uint64_t look_at(const JobRange& range) {
    std::uint64_t live = 0;
    State& state = ledger_.state();
    const std::uint64_t end = raw(range.first) + range.count;
    for (auto at = state.next_record(raw(range.first)); at && *at < end;
         at = state.next_record(*at + 1)) {
      const auto job = state.record(*at);
      if (!job) break;
      recorded_.push_back(*at);
      if (is_live(job->state)) ++live;
    }
    return live;
  }

  void reset(std::uint64_t id) {
    const auto before = ledger_.state().record(id);
    if (!before) return;
    const JobState was = before->state;
    if (is_passed_over(*before)) {  // it waits again if what it waits for can be
      if (is_named(named_, id)) passed_over_.push_back(JobId{id});
      return;
    }
    if (is_removed(*before)) {  // its failure counts no more, and it is gone
      const JobId job{id};
      if (kept_failure(ledger_.tx(), job)) ledger_.tx().put(Key(Table::removed, id), {});
      return;
    }
    if (was == JobState::canceled &&
        (!is_named(named_, id) || before->revoked == Revoked::ending_then_again)) {
      return;
    }
    if (!is_over(was) && !is_live(was)) {  // it waits: whatever it has tried is forgiven
      if (before->attempt == before->forgiven) return;
      Job after = *before;
      after.forgiven = after.attempt;
      after.lost = 0;
      after.stopped = 0;
      after.suspicion = Suspicion::none;
      if (was != JobState::held) after.state = JobState::ready;
      return ledger_.change(id, *before, after);
    }
    Job after = retry(is_live(was) ? cancel(*before, now_) : *before);
    if (ledger_.tx().get(Key(Table::removed, id))) {  // its result counts no more, and it is gone
      after = *before;
      after.state = JobState::canceled;
      after.outcome.cause = EndCause::removed;
      return ledger_.change(id, *before, after);
    }
    ledger_.change(id, *before, after);
    change_.note(JobId{id}, *before, after);
    add_to(changed_, id);
  }

  JobRanges named_;
  WallTime now_;
  std::vector<Followers> followers_;
  std::vector<JobRange> changed_;
  Ledger ledger_;
  Change change_;
  std::vector<std::uint64_t> recorded_;
  std::vector<JobId> passed_over_;  // named ones
};

Result<Downstream> downstream_of(const Reader& reader, JobRanges jobs) {
  State state(reader);
  Covered covered;
  std::set<std::uint64_t> seen;
  std::vector<JobRange> work;
  const auto add = [&](const JobRange& r) {
    for (const JobRange& fresh : covered.add(raw(r.first), raw(r.first) + r.count))
      work.push_back(fresh);
  };
  for (const JobRange& r : jobs) add(r);
  while (!work.empty()) {
    const JobRange range = work.back();
    work.pop_back();
    std::set<std::uint64_t> barriers;
    barriers_of(state, range, barriers);
    for (const std::uint64_t id : barriers) {
      if (!seen.insert(id).second) continue;
      const auto barrier = state.barrier(id);
      if (!barrier) break;
      for (const JobRange& members : barrier->members) add(members);
    }
  }
  TORC_TRY(state.sound());
  return Downstream{covered.ranges(), {seen.begin(), seen.end()}};
}

}  // namespace

Result<std::vector<JobRange>> in_the_file(const Reader& reader, JobRanges jobs, Change& left) {
  TORC_ASSIGN(const auto removed, removed_jobs(reader, jobs));
  State state(reader);
  each_job(state, removed, [&](std::uint64_t, const Job& job) {
    ++left.removed;
    ++left.left[static_cast<std::size_t>(job.state)];
  });
  TORC_TRY(state.sound());
  return without({jobs.begin(), jobs.end()}, removed);
}

Result<std::vector<JobRange>> with_downstream(const Reader& reader, JobRanges jobs) {
  TORC_ASSIGN(Downstream all, downstream_of(reader, jobs));
  return std::move(all.jobs);
}

Result<Change> reset_jobs(Transaction& tx, JobRanges jobs, Force force, WallTime now) {
  TORC_ASSIGN(const Downstream all, downstream_of(tx, jobs));
  TORC_ASSIGN(Change change, Reset(tx, jobs, now).run(all, force));
  for (const JobRange& range : all.jobs) TORC_TRY(clear_ephemeral(tx, range));
  return change;
}

}  // namespace torc::claim
