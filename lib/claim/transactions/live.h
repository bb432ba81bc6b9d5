// Changes that people make to a workflow while workers run: cancel, retry, hold, release. Each is
// one transaction on the jobs named and costs what they cost, however large the workflow is. Asked
// again it changes nothing more. A job in a state that the change does not concern is left alone
// and counted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class State;
struct Followers;

// The jobs that a change is about: sorted by first job, disjoint.
using JobRanges = std::span<const JobRange>;

struct Change {
  static constexpr std::size_t kFirst = 1000;
  Counts changed{};          // jobs by the state that they were in
  Counts left{};             // jobs left alone, by state
  std::uint64_t ending = 0;  // changed jobs that a worker still has to end: it was told
  std::vector<JobId> first;  // the first of the changed
  // Jobs that were not named and whose state changed with that of others, by that change.
  struct Group {
    JobState before{};
    JobState after{};
    std::uint64_t jobs = 0;
    std::vector<JobId> first;
  };
  std::vector<Group> followers;
  // The first of those left alone that were canceled for what became of others.
  std::vector<JobId> passed_over;
  std::uint64_t removed = 0;  // of those left alone: the workflow file has them no more
  // Jobs that the changed ones had spawned, and that run only if they spawn them again: by the
  // state that they were in, and the first of them.
  Counts withdrawn{};
  std::vector<JobId> first_withdrawn;

  [[nodiscard]] std::uint64_t total() const;
  // Of both: jobs that completed and whose results count no more.
  [[nodiscard]] std::uint64_t lost_results() const;
  void note(JobId id, const Job& before, const Job& after);
  void note_withdrawn(JobId id, const Job& before, const Job& after);
  // `changed`: the jobs that the request itself changed, in id order.
  void note_followers(const std::vector<Followers>& all, const std::vector<JobRange>& changed);
  // Those of `jobs` that still are canceled for what became of others were left alone.
  void leave_passed_over(State& state, const std::vector<JobId>& jobs);
  void add(const Change& other);  // of a later part of the same request

 private:
  Group& group_of(JobState before, JobState after);
};

// In whatever state.
[[nodiscard]] std::uint64_t jobs_of(const Counts& counts);

// Visits those of `jobs` that there are, in order and as they are now. The visitor may change them.
void each_job(State& state, JobRanges jobs,
              const std::function<void(std::uint64_t id, const Job& job)>& visit);

// One more job, behind all that are there.
void add_to(std::vector<JobRange>& ranges, std::uint64_t id);

// What is not over will not run. What runs already counts as canceled at once: its token is worth
// nothing any more, its worker is told to end it (Answer::revoked), and only when that worker has
// said so, or is gone, can the job run again. Jobs that depend on it are not reached. A job whose
// failure waits for a decision has failed then: its outcome stands.
Result<Change> cancel_jobs(Transaction& tx, JobRanges jobs, WallTime now);

// What failed, was terminated or canceled, or is delayed or undecided after a failure, waits again:
// ready, or blocked when its dependencies are open. Attempts go on counting, limits on them start
// anew. What depends on it can be reached again, and waits again if it was canceled because of it;
// what has a condition that its end met keeps that. Jobs that were canceled for what became of
// others are left alone: those others are to be retried or reset.
Result<Change> retry_jobs(Transaction& tx, JobRanges jobs);

// What is ready, delayed or blocked is not claimed until it is released, whatever its dependencies
// do. What runs goes on.
Result<Change> hold_jobs(Transaction& tx, JobRanges jobs);
// One whose condition can no longer be met is canceled then (EndCause::unmet, upstream_failed).
Result<Change> release_jobs(Transaction& tx, JobRanges jobs, WallTime now);

}  // namespace torc::claim
