#include "lib/claim/transactions/reset.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/reshape_parts.h"
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

// Nobody resets a job that a person canceled by resetting what it waits for.
bool stays_canceled(const Job& job, bool is_named) {
  return job.state == JobState::canceled &&
         (!is_named || job.revoked == Revoked::ending_then_again || is_removed(job));
}

class Reset {
 public:
  Reset(Transaction& tx, JobRanges jobs, WallTime now)
      : named_(jobs), now_(now), ledger_(tx, now, Reopen::closes) {
    ledger_.tell_followers(followers_);
  }

  // `live`: jobs that a worker held and that were withdrawn.
  Result<Change> run(const Reach& all, Force force, std::uint64_t live) {
    for (const JobRange& range : all.jobs) live += look_at(range);
    if (live > 0 && force == Force::no) {
      return Error{ErrorKind::busy,
                   fmt::format("{} of the jobs to be reset {} claimed or running", live,
                               live == 1 ? "is" : "are"),
                   "wait for them, or cancel them; `torc reset --force` cancels them and lets them "
                   "run again"};
    }
    // One may be open although a job that it waits for was retried since, or withdrawn.
    if ((ledger_.tally().rules & rule::kEnds) != 0 || !all.withdrawn.empty())
      ledger_.touch(all.barriers);
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
      if (kept_failure(ledger_.tx(), JobId{id})) ledger_.tx().put(Key(Table::removed, id), {});
      return;
    }
    if (stays_canceled(*before, is_named(named_, id))) return;
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

// What is downstream of some jobs, which become more and more.
class Downstream {
 public:
  explicit Downstream(State& state) : state_(state) {}

  void add(JobRanges jobs) {
    std::vector<JobRange> work;
    const auto cover = [&](const JobRange& r) {
      for (const JobRange& fresh : covered_.add(raw(r.first), raw(r.first) + r.count))
        work.push_back(fresh);
    };
    for (const JobRange& r : jobs) cover(r);
    while (!work.empty()) {
      const JobRange range = work.back();
      work.pop_back();
      std::set<std::uint64_t> barriers;
      barriers_of(state_, range, barriers);
      for (const std::uint64_t id : barriers) {
        if (!barriers_.insert(id).second) continue;
        const auto barrier = state_.barrier(id);
        if (!barrier) break;
        for (const JobRange& members : barrier->members) cover(members);
      }
    }
  }
  [[nodiscard]] std::vector<JobRange> jobs() const { return covered_.ranges(); }
  [[nodiscard]] std::vector<std::uint64_t> barriers() const {
    return {barriers_.begin(), barriers_.end()};
  }

 private:
  State& state_;
  Covered covered_;
  std::set<std::uint64_t> barriers_;
};

// Whether what an attempt of the job has spawned counts no more.
bool goes_back(State& state, std::uint64_t id, bool is_named) {
  const auto job = state.record(id);
  return job && job->attempt > 0 && !is_passed_over(*job) && !stays_canceled(*job, is_named);
}

// What the jobs that go back spawned, and what that spawned. Sorted.
std::vector<JobRange> spawned_by(State& state, const std::vector<JobRange>& jobs, JobRanges named) {
  std::vector<JobRange> found;
  if (jobs.empty()) return found;
  struct Spawned {
    std::uint64_t parent = 0;
    JobRange jobs;
  };
  std::vector<Spawned> others;  // whose spawner is not known to go back
  state.reader().scan(Key(Table::addition, 1), [&](const store::Entry& e) {
    if (!is_in(Table::addition, e.key)) return false;
    const auto origin = decode_origin(e.key, e.value);
    if (!origin) {
      state.damaged(e.key);
      return false;
    }
    const std::uint64_t parent = raw(origin->parent);
    if (parent == 0) return true;
    if (has_job(found, parent) ||
        (has_job(jobs, parent) && goes_back(state, parent, is_named(named, parent)))) {
      found.push_back(origin->jobs);
    } else {
      others.push_back({parent, origin->jobs});
    }
    return true;
  });
  // Nearly always a spawner has the lower number: once is enough then.
  for (bool is_more = true; is_more;) {
    found = joined_ranges(std::move(found));
    std::vector<JobRange> more;
    std::erase_if(others, [&](const Spawned& s) {
      const bool goes = has_job(found, s.parent) || has_job(more, s.parent);
      if (goes) more.push_back(s.jobs);
      return goes;
    });
    is_more = !more.empty();
    found.insert(found.end(), more.begin(), more.end());
  }
  return found;
}

// Before others are reset, which closes what waits for these. The number of those that a worker
// held; of that nothing is changed where it is not forced.
Result<std::uint64_t> withdraw_jobs(Transaction& tx, const std::vector<JobRange>& jobs, Force force,
                                    WallTime now, Change& change) {
  std::uint64_t live = 0;
  if (jobs.empty()) return live;
  Ledger ledger(tx, now);
  State& state = ledger.state();
  struct Spawner {
    JobId id{};
    Job was;  // it may be among them
  };
  std::map<std::uint64_t, Spawner> spawners;  // of each
  Result<void> readable;
  each_job(state, jobs, [&](std::uint64_t id, const Job& job) {
    live += is_live(job.state) ? 1U : 0U;
    if (!readable) return;
    const auto origin = read_origin(tx, JobId{id});
    if (!origin) readable = origin.error();
    if (!origin || !*origin) return;
    const JobId parent = (*origin)->parent;
    spawners.try_emplace(id, Spawner{parent, state.job(raw(parent)).value_or(Job{})});
  });
  TORC_TRY(readable);
  if (live > 0 && force == Force::no) return live;
  each_job(state, jobs, [&](std::uint64_t id, const Job& job) {
    const auto spawner = spawners.find(id);
    if (spawner == spawners.end() || tx.get(removed_key(JobId{id}))) return;  // it was out before
    tx.put(removed_key(JobId{id}), encode(spawner->second.was));
    const Job after = withdraw(job, spawner->second.id, now);
    ledger.change(id, job, after);
    change.note_withdrawn(JobId{id}, job, after);
  });
  TORC_TRY(ledger.close());
  return live;
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

std::vector<JobRange> Reach::again() const {
  return without(jobs, withdrawn);
}

Result<std::vector<JobRange>> with_downstream(const Reader& reader, JobRanges jobs) {
  State state(reader);
  Downstream downstream(state);
  downstream.add(jobs);
  TORC_TRY(state.sound());
  return downstream.jobs();
}

Result<Reach> reach_of_reset(const Reader& reader, JobRanges jobs) {
  State state(reader);
  Downstream downstream(state);
  downstream.add(jobs);
  Reach reach;
  for (;;) {
    std::vector<JobRange> spawned = spawned_by(state, downstream.jobs(), jobs);
    TORC_TRY(state.sound());
    if (jobs_in(spawned) == jobs_in(reach.withdrawn)) break;
    reach.withdrawn = std::move(spawned);
    downstream.add(reach.withdrawn);
  }
  reach.jobs = downstream.jobs();
  reach.barriers = downstream.barriers();
  return reach;
}

Result<Change> reset_jobs(Transaction& tx, JobRanges jobs, Force force, WallTime now) {
  TORC_ASSIGN(const Reach all, reach_of_reset(tx, jobs));
  Change withdrawn;
  TORC_ASSIGN(const std::uint64_t live, withdraw_jobs(tx, all.withdrawn, force, now, withdrawn));
  TORC_ASSIGN(Change change, Reset(tx, jobs, now).run(all, force, live));
  change.add(withdrawn);
  for (const JobRange& range : all.jobs) TORC_TRY(clear_ephemeral(tx, range));
  return change;
}

}  // namespace torc::claim
