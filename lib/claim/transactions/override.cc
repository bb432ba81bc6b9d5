#include "lib/claim/transactions/override.h"

#include <algorithm>
#include <map>

#include "lib/claim/scheduling/ledger.h"
#include "lib/claim/scheduling/rank.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

JobClass Setting::applied_to(JobClass c) const {
  for (const ResourceKind& kind : kResourceKinds) {
    if (const auto set = needs.find(kind.word); set != needs.end()) kind.put(c.need, set->second);
  }
  if (label) c.label = *label;
  if (scheduler) c.scheduler = *scheduler;
  return c;
}

namespace {

class SettingWriter {
 public:
  SettingWriter(Transaction& tx, const Setting& setting)
      : setting_(setting), ledger_(tx, WallTime{}) {}

  Result<Change> run(JobRanges jobs) {
    for (const JobRange& range : jobs) visit(raw(range.first), raw(range.first) + range.count);
    TORC_TRY(ledger_.close());
    return std::move(change_);
  }

 private:
  void visit(std::uint64_t first, std::uint64_t end) {
    State& state = ledger_.state();
    std::uint64_t recorded = state.next_record(first).value_or(UINT64_MAX);
    for (std::uint64_t id = first; id < end; ++id) {
      const auto rank = state.rank_of(id);
      if (!rank) return;  // no such job, nor any after it
      Job job;
      if (id == recorded) {
        job = state.record(id).value_or(Job{});
        recorded = state.next_record(id + 1).value_or(UINT64_MAX);
      } else {
        job.state = state.waiting_state(id);
      }
      set(id, job, *rank);
    }
  }

  void set(std::uint64_t id, const Job& job, const Rank& before) {
    if (job.state == JobState::completed) {
      ++change_.left[static_cast<std::size_t>(job.state)];
      return;
    }
    const Rank after{class_for(before.job_class), setting_.priority.value_or(before.priority)};
    if (after == before) {
      ++change_.left[static_cast<std::size_t>(job.state)];
      return;
    }
    put_rank(ledger_.tx(), ledger_.state(), id, after);
    ledger_.change_rank(id, job, before, after);
    Job plain = job;
    plain.revoked = Revoked::no;  // that it is to be ended is none of this change
    change_.note(JobId{id}, job, plain);
  }

  // Most jobs are of few classes.
  std::uint32_t class_for(std::uint32_t before) {
    const auto known = classes_.find(before);
    if (known != classes_.end()) return known->second;
    const JobClass old = ledger_.state().job_class(before);
    const JobClass wanted = setting_.applied_to(old);
    const std::uint32_t number =
        wanted == old ? before : find_or_add_class(ledger_.tx(), ledger_.state(), wanted);
    classes_.emplace(before, number);
    return number;
  }

  const Setting& setting_;
  Ledger ledger_;
  Change change_;
  std::map<std::uint32_t, std::uint32_t> classes_;
};

}  // namespace

Result<Change> set_jobs(Transaction& tx, JobRanges jobs, const Setting& setting) {
  return SettingWriter(tx, setting).run(jobs);
}

}  // namespace torc::claim
