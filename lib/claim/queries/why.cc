#include "lib/claim/queries/why.h"

#include <algorithm>
#include <map>

#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/condition.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

// Nobody makes so long a chain; a damaged store may have a ring.
constexpr int kLongestChain = 100'000;

bool holds(const JobRange& range, JobId id) {
  return raw(id) - raw(range.first) < range.count;
}

// On which the job waits for `upstream`; in the order of Condition.
std::vector<Condition> conditions_between(const Reader& reader, JobId id, JobId upstream) {
  State state(reader);
  std::vector<Condition> found;
  const Span* span = state.span_of(raw(id));
  const auto barrier =
      span == nullptr || span->barrier == 0 ? std::nullopt : state.barrier(span->barrier);
  if (!barrier) return found;
  const auto in = [&](const JobRange& r) { return holds(r, upstream); };
  if (std::any_of(barrier->upstream.begin(), barrier->upstream.end(), in))
    found.push_back(Condition::afterok);
  for (const Dependency& d : barrier->conditional) {
    if (in(d.jobs)) found.push_back(d.condition);
  }
  return found;
}

// The condition that is not met; afterok when all are.
Condition open_condition(const Reader& reader, JobId id, JobId upstream, const Job& job) {
  for (const Condition c : conditions_between(reader, id, upstream)) {
    if (judge(signal_of(job), c, false) != Edge::met) return c;
  }
  return Condition::afterok;
}

Awaited awaited_of(const Reader& reader, JobId id, JobId upstream) {
  const Job job = read_job(reader, upstream).value_or(Job{});
  return {upstream, job.state, open_condition(reader, id, upstream, job)};
}

}  // namespace

JobId root_of_cancellation(const Reader& reader, JobId id) {
  for (int step = 0; step < kLongestChain; ++step) {
    const auto job = read_job(reader, id);
    if (!job || !is_passed_over(*job) || raw(job->outcome.because) == 0) break;
    id = job->outcome.because;
  }
  return id;
}

Obstacles obstacles_of(const Reader& reader, JobId id, std::size_t most) {
  Obstacles found;
  const auto job = read_job(reader, id);
  if (!job) return found;
  if (is_passed_over(*job)) {
    found.cause = awaited_of(reader, id, job->outcome.because);
    return found;
  }
  if (job->state == JobState::blocked || job->state == JobState::held) {
    State state(reader);
    const Span* span = state.span_of(raw(id));
    const std::uint64_t barrier = span == nullptr ? 0 : span->barrier;
    if (barrier != 0 && !state.is_open(barrier)) found.awaiting = state.countdown(barrier).left;
    for (const JobId up : waits_for(reader, id, most))
      found.awaited.push_back(awaited_of(reader, id, up));
    return found;
  }
  if (job->state != JobState::ready) return found;
  State state(reader);
  const auto rank = state.rank_of(raw(id));
  if (!rank) return found;
  const JobClass job_class = state.job_class(rank->job_class);
  for (const LimitShare& share : job_class.limits) {
    if (auto limit = read_limit(reader, share.number); limit && limit->is_full(share.amount))
      found.limits.push_back({*std::move(limit), share.amount});
  }
  if (const auto expense = read_expense(reader); expense && is_beyond(*expense, job_class))
    found.budget = expense;
  return found;
}

std::vector<JobId> holders_of(const Reader& reader, std::uint32_t limit, std::size_t most) {
  std::vector<JobId> holders;
  State state(reader);
  std::map<std::uint32_t, bool> classes;  // whether their jobs have some of it
  const auto note = [&](std::uint64_t id) {
    const auto rank = state.rank_of(id);
    if (!rank || holders.size() >= most) return;
    const auto [has, is_new] = classes.try_emplace(rank->job_class);
    if (is_new) {
      const JobClass job_class = state.job_class(rank->job_class);
      has->second =
          std::ranges::find(job_class.limits, limit, &LimitShare::number) != job_class.limits.end();
    }
    if (has->second) holders.push_back(JobId{id});
  };
  reader.scan_prefix(Key(Table::lease), [&](const store::Entry& e) {
    const auto lease = decode_lease(e.value);
    if (!lease) return true;
    std::ranges::for_each(lease->held, note);
    std::ranges::for_each(lease->ending, note);
    return holders.size() < most;
  });
  return holders;
}

}  // namespace torc::claim
