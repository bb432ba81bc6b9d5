#include "lib/claim/transactions/live.h"

#include <algorithm>
#include <numeric>

#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ledger.h"

namespace torc::claim {
namespace {

// One change: visits the jobs that it is about and keeps the account.
class Visit {
 public:
  explicit Visit(Transaction& tx, WallTime now = {}) : ledger_(tx, now) {
    ledger_.tell_followers(followers_);
  }

  // `rule` answers the job after the change, or nothing when it does not concern it.
  template <class Rule>
  Result<Change> run(JobRanges jobs, const Rule& rule) {
    each_job(ledger_.state(), jobs, [&](std::uint64_t id, const Job& job) {
      const std::optional<Job> after = rule(job);
      if (after) {
        ledger_.change(id, job, *after);
        change_.note(JobId{id}, job, *after);
        add_to(changed_, id);
      } else if (is_passed_over(job)) {
        passed_over_.push_back(JobId{id});
      } else {
        ++change_.left[static_cast<std::size_t>(job.state)];
        if (is_removed(job)) ++change_.removed;
      }
    });
    TORC_TRY(ledger_.close());
    change_.note_followers(followers_, changed_);
    change_.leave_passed_over(ledger_.state(), passed_over_);
    return std::move(change_);
  }

 private:
  std::vector<Followers> followers_;
  Ledger ledger_;
  Change change_;
  std::vector<JobRange> changed_;
  std::vector<JobId> passed_over_;  // left alone so far; what else changes may let them wait again
};

}  // namespace

std::uint64_t jobs_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t Change::total() const {
  return jobs_of(changed);
}

void each_job(State& state, JobRanges jobs,
              const std::function<void(std::uint64_t id, const Job& job)>& visit) {
  for (const JobRange& range : jobs) {
    const std::uint64_t first = raw(range.first);
    std::uint64_t recorded = state.next_record(first).value_or(UINT64_MAX);
    for (std::uint64_t id = first; id < first + range.count; ++id) {
      Job job;
      if (id == recorded) {
        job = state.record(id).value_or(Job{});
        recorded = state.next_record(id + 1).value_or(UINT64_MAX);
      } else {
        if (state.span_of(id) == nullptr) break;  // no such job, nor any after it
        job.state = state.waiting_state(id);
      }
      visit(id, job);
    }
  }
}

void Change::note(JobId id, const Job& before, const Job& after) {
  ++changed[static_cast<std::size_t>(before.state)];
  if (after.revoked != Revoked::no) ++ending;
  if (first.size() < kFirst) first.push_back(id);
}

void Change::note_withdrawn(JobId id, const Job& before, const Job& after) {
  ++withdrawn[static_cast<std::size_t>(before.state)];
  if (after.revoked != Revoked::no) ++ending;
  if (first_withdrawn.size() < kFirst) first_withdrawn.push_back(id);
}

std::uint64_t Change::lost_results() const {
  constexpr auto kCompleted = static_cast<std::size_t>(JobState::completed);
  return changed[kCompleted] + withdrawn[kCompleted];
}

void add_to(std::vector<JobRange>& ranges, std::uint64_t id) {
  if (!ranges.empty() && raw(ranges.back().first) + ranges.back().count == id) {
    ++ranges.back().count;
  } else {
    ranges.push_back({JobId{id}, 1});
  }
}

void Change::note_followers(const std::vector<Followers>& all,
                            const std::vector<JobRange>& changed_jobs) {
  for (const Followers& f : all) {
    const std::uint64_t end = raw(f.jobs.first) + f.jobs.count;
    auto next = std::upper_bound(
        changed_jobs.begin(), changed_jobs.end(), raw(f.jobs.first),
        [](std::uint64_t id, const JobRange& r) { return id < raw(r.first) + r.count; });
    for (std::uint64_t at = raw(f.jobs.first); at < end;) {
      const std::uint64_t from = next == changed_jobs.end() ? end : std::min(end, raw(next->first));
      if (at < from) {
        Group& group = group_of(f.before, f.after);
        group.jobs += from - at;
        for (; at < from && group.first.size() < kFirst; ++at) group.first.push_back(JobId{at});
      }
      at = next == changed_jobs.end() ? end : std::max(from, raw(next->first) + next->count);
      if (next != changed_jobs.end()) ++next;
    }
  }
}

Change::Group& Change::group_of(JobState before, JobState after) {
  const auto known = std::find_if(followers.begin(), followers.end(), [&](const Group& g) {
    return g.before == before && g.after == after;
  });
  return known != followers.end() ? *known : followers.emplace_back(Group{before, after, 0, {}});
}

void Change::leave_passed_over(State& state, const std::vector<JobId>& jobs) {
  for (const JobId id : jobs) {
    const auto job = state.job(raw(id));
    if (!job || !is_passed_over(*job)) continue;
    ++left[static_cast<std::size_t>(job->state)];
    if (is_removed(*job)) {
      ++removed;
      continue;
    }
    if (passed_over.size() < kFirst) passed_over.push_back(id);
  }
}

void Change::add(const Change& other) {
  for (std::size_t s = 0; s < kJobStates; ++s) {
    changed[s] += other.changed[s];
    left[s] += other.left[s];
    withdrawn[s] += other.withdrawn[s];
  }
  ending += other.ending;
  removed += other.removed;
  const auto append = [](std::vector<JobId>& to, const std::vector<JobId>& more) {
    const std::size_t room = kFirst - std::min(kFirst, to.size());
    const auto some = static_cast<std::ptrdiff_t>(std::min(room, more.size()));
    to.insert(to.end(), more.begin(), more.begin() + some);
  };
  for (const Group& g : other.followers) {
    Group& mine = group_of(g.before, g.after);
    mine.jobs += g.jobs;
    append(mine.first, g.first);
  }
  append(first, other.first);
  append(first_withdrawn, other.first_withdrawn);
  append(passed_over, other.passed_over);
}

Result<Change> cancel_jobs(Transaction& tx, JobRanges jobs, WallTime now) {
  return Visit(tx, now).run(jobs, [&](const Job& job) -> std::optional<Job> {
    if (is_terminal(job.state) && job.revoked != Revoked::ending_then_again) return std::nullopt;
    if (job.state == JobState::pending_failed) return confirm(job);
    return cancel(job, now);
  });
}

Result<Change> retry_jobs(Transaction& tx, JobRanges jobs) {
  return Visit(tx).run(jobs, [](const Job& job) -> std::optional<Job> {
    const bool over = is_over(job.state) && job.state != JobState::completed;
    const bool waits = job.state == JobState::delayed;
    if ((!over && !waits) || is_passed_over(job) || is_removed(job) ||
        job.revoked == Revoked::ending_then_again)
      return std::nullopt;
    return retry(job);
  });
}

Result<Change> hold_jobs(Transaction& tx, JobRanges jobs) {
  return Visit(tx).run(jobs, [](const Job& job) -> std::optional<Job> {
    if (!has(job.state, trait::kHoldable)) return std::nullopt;
    return hold(job);
  });
}

Result<Change> release_jobs(Transaction& tx, JobRanges jobs, WallTime now) {
  return Visit(tx, now).run(jobs, [](const Job& job) -> std::optional<Job> {
    if (job.state != JobState::held) return std::nullopt;
    return release(job);
  });
}

}  // namespace torc::claim
