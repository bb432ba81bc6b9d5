#include "lib/claim/reset.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/claim/barrier.h"
#include "lib/claim/ledger.h"
#include "lib/claim/tables.h"
#include "lib/claim/transition.h"

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
  if (const auto e = reader.seek_before(Key(Table::upstream, first + 1));
      e && is_in(Table::upstream, e->key)) {
    from = id_in(Table::upstream, e->key).value_or(first);
  }
  reader.scan(Key(Table::upstream, from), [&](const store::Entry& e) {
    if (!is_in(Table::upstream, e.key)) return false;
    const auto run = decode_upstream(e.key, e.value);
    if (!run) {
      state.damaged(e.key);
      return false;
    }
    if (run->first >= first + range.count) return false;
    if (run->first + run->count > first) {
      barriers.insert(run->barriers.begin(), run->barriers.end());
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

class Reset {
 public:
  Reset(Transaction& tx, JobRanges jobs, WallTime now) : named_(jobs), now_(now), ledger_(tx) {}

  Result<Change> run(const std::vector<JobRange>& all, Force force) {
    std::vector<std::uint64_t> uncounted;
    std::uint64_t live = 0;
    for (const JobRange& range : all) look_at(range, uncounted, live);
    if (live > 0 && force == Force::no) {
      return Error{ErrorKind::busy,
                   fmt::format("{} of the jobs to be reset are claimed or running", live),
                   "wait for them, cancel them, or reset with --force, which cancels them"};
    }
    count_up(ledger_.tx(), ledger_.state(), ledger_.tally(), uncounted);
    for (const std::uint64_t id : recorded_) reset(id);
    TORC_TRY(ledger_.close());
    return std::move(change_);
  }

 private:
  // Only jobs with a record have anything to lose.
  void look_at(const JobRange& range, std::vector<std::uint64_t>& uncounted, std::uint64_t& live) {
    State& state = ledger_.state();
    const std::uint64_t end = raw(range.first) + range.count;
    for (auto at = state.next_record(raw(range.first)); at && *at < end;
         at = state.next_record(*at + 1)) {
      const auto job = state.record(*at);
      if (!job) return;
      recorded_.push_back(*at);
      if (job->state == JobState::completed) uncounted.push_back(*at);
      if (is_live(job->state)) ++live;
    }
  }

  void reset(std::uint64_t id) {
    const auto before = ledger_.state().record(id);
    if (!before) return;
    const JobState was = before->state;
    if (was == JobState::canceled &&
        (!is_named(named_, id) || before->revoked == Revoked::ending_then_again)) {
      return;
    }
    if (!is_terminal(was) && !is_live(was)) {  // it waits: whatever it has tried is forgiven
      if (before->attempt == before->forgiven) return;
      Job after = *before;
      after.forgiven = after.attempt;
      after.lost = 0;
      after.stopped = 0;
      if (was != JobState::held) after.state = JobState::ready;
      return ledger_.change(id, was, after);
    }
    const Job after = retry(is_live(was) ? cancel(*before, now_) : *before);
    ledger_.change(id, was, after);
    change_.note(JobId{id}, *before, after);
  }

  JobRanges named_;
  WallTime now_;
  Ledger ledger_;
  Change change_;
  std::vector<std::uint64_t> recorded_;
};

}  // namespace

Result<std::vector<JobRange>> with_downstream(const Reader& reader, JobRanges jobs) {
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
  return covered.ranges();
}

Result<Change> reset_jobs(Transaction& tx, JobRanges jobs, Force force, WallTime now) {
  TORC_ASSIGN(const std::vector<JobRange> all, with_downstream(tx, jobs));
  return Reset(tx, jobs, now).run(all, force);
}

}  // namespace torc::claim
