#include "lib/clean/rules.h"

#include <algorithm>

namespace torc::clean {
namespace {

// A time that nobody knows is not long ago.
bool is_before(WallTime ended, const Wishes& wishes) {
  return !wishes.before || (ended.count() > 0 && ended < *wishes.before);
}

}  // namespace

bool may_go(const claim::Job& job, const AttemptName& name, const Wishes& wishes) {
  if (claim::is_occupied(job) || name.attempt > job.attempt) return false;
  // The store tells when the newest attempt ended; an earlier one did before that was granted.
  if (name.attempt < job.attempt) return is_before(job.claimed_at, wishes);
  if (!is_before(job.outcome.ended_at, wishes)) return false;
  if (name.part == Part::directory) return claim::is_terminal(job.state);
  return wishes.completed && job.state == claim::JobState::completed;
}

bool may_go_packed(const claim::Job& job, const Wishes& wishes) {
  return wishes.completed && job.state == claim::JobState::completed && !claim::is_occupied(job) &&
         is_before(job.outcome.ended_at, wishes);
}

bool is_gone(const claim::Worker& worker, const Wishes& wishes) {
  return worker.status != claim::WorkerStatus::registered && worker.held == 0 &&
         worker.ending == 0 && is_before(worker.gone_at, wishes);
}

bool may_go(const std::vector<claim::Worker>& workers, const LogName& name, WallTime now,
            const Wishes& wishes) {
  bool is_theirs = name.node.empty();
  for (const claim::Worker& worker : workers) {
    const bool is_over = worker.info.ends_at.count() > 0 && worker.info.ends_at < now;
    if (!is_gone(worker, wishes) || (worker.status == claim::WorkerStatus::expired && !is_over))
      return false;
    is_theirs = is_theirs || worker.info.node == name.node;
  }
  return is_theirs && !workers.empty();
}

}  // namespace torc::clean
