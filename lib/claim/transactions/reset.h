// Back to the start: jobs that are over run again, and with them everything that was built on them.
#pragma once

#include "lib/base/result.h"
#include "lib/claim/transactions/live.h"

namespace torc::claim {

enum class Force : std::uint8_t { no, yes };

// The jobs named and everything downstream of them. One seek for each run of jobs that the same
// barriers wait for, and the ranges of members: no cost by job.
[[nodiscard]] Result<std::vector<JobRange>> with_downstream(const Reader& reader, JobRanges jobs);

// What is thrown away when jobs go back to the start. What one of them has spawned belongs to the
// attempt that counts no more: it is withdrawn, with what is downstream of it and what that
// spawned, until a later attempt spawns it again (spawn_again.h).
struct Reach {
  std::vector<JobRange> jobs;       // those named, all downstream, and all that is withdrawn
  std::vector<JobRange> withdrawn;  // of these
  std::vector<std::uint64_t> barriers;

  // What waits again.
  [[nodiscard]] std::vector<JobRange> again() const;
};
// As with_downstream(), and the records of all additions, where there are some.
[[nodiscard]] Result<Reach> reach_of_reset(const Reader& reader, JobRanges jobs);

// Those of `jobs` that the workflow file still has; the others are counted as left alone. A person
// who names one resets nothing: nobody runs it again, and its result stays, as long as what it was
// made of does.
[[nodiscard]] Result<std::vector<JobRange>> in_the_file(const Reader& reader, JobRanges jobs,
                                                        Change& left);

// What the jobs that go back to the start have spawned is withdrawn. The jobs named, whatever their
// end was, and what is over downstream of them wait again: ready, or
// blocked until what they depend on has completed anew. Attempts go on counting, limits on them
// start anew. Canceled jobs downstream stay canceled, held ones held. What waited for a job that
// must run again is blocked again. Change::changed counts only jobs that were over (and, forced,
// those that run); of those, the completed ones lose an accepted result.
//
// Jobs among these that a worker holds: Error busy, naming how many; with Force::yes they are
// canceled, and run again when their workers have ended them.
//
// Ephemeral user data that the jobs named and those downstream make is back to its initial value.
//
// One transaction however many jobs it is about, since a job must never count as completed while
// what it was built on does not.
Result<Change> reset_jobs(Transaction& tx, JobRanges jobs, Force force, WallTime now);

}  // namespace torc::claim
