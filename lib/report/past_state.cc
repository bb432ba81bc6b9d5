#include "lib/report/past_state.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/change_record.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/past_attempts.h"
#include "lib/claim/tables/tables.h"

namespace torc::report {
namespace {

using claim::Job;
using claim::JobState;
using claim::Table;

// Each attempt that is known, the newest one of each job and those before it.
template <class Visit>
Result<void> each_attempt(const claim::Reader& reader, const Visit& visit) {
  TORC_TRY(claim::each_record(reader, Table::job, claim::decode_job,
                              [&](std::uint64_t id, const Job& job) -> Result<void> {
                                visit(JobId{id}, job);
                                return {};
                              }));
  return claim::scan_past_attempts(reader, [&](JobId id, const Job& job) {
    visit(id, job);
    return true;
  });
}

// The newest that is known of a job until then.
struct Newest {
  WallTime claimed_at{};
  WallTime ended_at{};  // 0: it had not ended
  JobState state = JobState::ready;
  JobState ended_as = JobState::ready;  // whatever became of it later
  bool by_person = false;  // what came after it did so because a person changed something
};

class Look {
 public:
  Look(const claim::Reader& reader, WallTime at) : reader_(reader), at_(at) {}

  Result<PastState> run() {
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader_));
    state_.jobs = workflow.jobs;
    TORC_TRY(leave_out_added());
    TORC_TRY(each_attempt(reader_, [&](JobId id, const Job& attempt) { note(raw(id), attempt); }));
    TORC_TRY(mind_changes());
    for (const auto& [id, newest] : newest_) {
      const JobState state = state_of(id, newest);
      ++state_.counts[static_cast<std::size_t>(state)];
      if (state == JobState::running) state_.running.push_back(JobId{id});
    }
    for (const auto& [id, attempt] : oldest_later_)
      state_.forgotten += attempt > 1 && !newest_.contains(id) ? 1U : 0U;
    std::ranges::sort(state_.running);
    if (state_.running.size() > PastState::kFirst) state_.running.resize(PastState::kFirst);
    auto& waiting = state_.counts[static_cast<std::size_t>(JobState::ready)];
    waiting += state_.jobs - std::min<std::uint64_t>(state_.jobs, newest_.size());
    return state_;
  }

 private:
  [[nodiscard]] JobState state_of(std::uint64_t id, const Newest& newest) const {
    if (newest.ended_at == WallTime{}) return JobState::running;
    // It was tried again by itself, and did not count as failed meanwhile.
    const bool failed = newest.state == JobState::failed || newest.state == JobState::terminated;
    return failed && !newest.by_person && went_on_.contains(id) ? JobState::ready : newest.state;
  }

  Result<void> leave_out_added() {
    return claim::each(reader_, Table::addition, [&](const store::Entry& e) -> Result<void> {
      if (e.key.size() == 1) return {};  // how many there are
      const auto origin = claim::decode_origin(e.key, e.value);
      if (!origin) return claim::unreadable(e.key);
      if (origin->at > at_) state_.jobs -= std::min(state_.jobs, origin->jobs.count);
      return {};
    });
  }

  void note(std::uint64_t id, const Job& attempt) {
    const WallTime ended_at = attempt.outcome.ended_at;
    // What is claimed has the outcome of the attempt before until it is started.
    const bool has_ended =
        !claim::is_live(attempt.state) && ended_at != WallTime{} && ended_at <= at_;
    // What was canceled before it was started had no attempt.
    const bool is_canceled = attempt.state == JobState::canceled && has_ended;
    const bool was_granted = attempt.claim != 0 && attempt.claimed_at <= at_;
    const bool waits = !claim::is_over(attempt.state) && !claim::is_live(attempt.state);
    if (waits || attempt.claimed_at > at_) went_on_.insert(id);
    if (attempt.claimed_at > at_) {
      const auto [oldest, fresh] = oldest_later_.try_emplace(id, attempt.attempt);
      if (!fresh) oldest->second = std::min(oldest->second, attempt.attempt);
    }
    if (!was_granted && !is_canceled) return;
    Newest& newest = newest_[id];
    if (attempt.claimed_at < newest.claimed_at) return;
    newest.claimed_at = attempt.claimed_at;
    newest.ended_at = has_ended ? ended_at : WallTime{};
    newest.state = claim::is_over(attempt.state) ? attempt.state
                   : has_ended                   ? claim::state_of_end(attempt.outcome)
                                                 : JobState::ready;
    newest.ended_as = newest.state;
  }

  // What a person threw away was to run again from then on, until it counted again.
  Result<void> mind_changes() {
    std::vector<claim::KeptChange> changes;
    TORC_TRY(claim::scan_changes(reader_, [&](const claim::KeptChange& change) {
      const bool is_undone = change.undone_at != WallTime{};
      if (!is_undone || (change.at <= at_ && change.undone_at > at_)) changes.push_back(change);
      return true;
    }));
    std::ranges::reverse(changes);
    for (const claim::KeptChange& change : changes) {
      each_of(change.lost, [&](Newest& newest) {
        if (change.at > at_) {
          newest.by_person = true;
        } else if (newest.ended_at != WallTime{} && newest.ended_at <= change.at) {
          newest.state = JobState::ready;
        }
      });
      if (change.at > at_) continue;
      each_of(change.regained, [&](Newest& newest) {
        if (newest.ended_at != WallTime{}) newest.state = newest.ended_as;
      });
    }
    return {};
  }

  // Of those of the jobs that had an attempt.
  template <class Visit>
  void each_of(const std::vector<claim::JobRange>& jobs, const Visit& visit) {
    for (const claim::JobRange& range : jobs) {
      const std::uint64_t end = raw(range.first) + range.count;
      for (auto at = newest_.lower_bound(raw(range.first)); at != newest_.end() && at->first < end;
           ++at)
        visit(at->second);
    }
  }

  const claim::Reader& reader_;
  WallTime at_;
  PastState state_;
  std::map<std::uint64_t, Newest> newest_;                         // by job
  std::unordered_map<std::uint64_t, std::uint32_t> oldest_later_;  // attempt after then, by job
  std::unordered_set<std::uint64_t> went_on_;  // jobs that were not over with that
};

}  // namespace

Result<PastState> state_at(const claim::Reader& reader, WallTime at) {
  return Look(reader, at).run();
}

Result<std::optional<WallTime>> time_of_commit(const claim::Reader& reader, std::uint64_t commit) {
  if (commit > reader.sequence()) return std::optional<WallTime>();
  WallTime newest{};
  TORC_TRY(each_attempt(reader, [&](JobId, const Job& attempt) {
    if (attempt.claim != 0 && attempt.claim <= commit)
      newest = std::max(newest, attempt.claimed_at);
  }));
  TORC_TRY(claim::scan_changes(reader, [&](const claim::KeptChange& change) {
    if (change.sequence <= commit) newest = std::max(newest, change.at);
    return true;
  }));
  TORC_TRY(claim::scan_workers(reader, false, [&](const claim::Worker& worker) {
    if (claim::raw(worker.epoch) <= commit) newest = std::max(newest, worker.info.registered_at);
    return true;
  }));
  return std::optional(newest);
}

}  // namespace torc::report
