#include "lib/claim/transactions/spawn_again.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/plan_joining.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/reshape_parts.h"

namespace torc::claim {
namespace {

std::uint64_t end_of(const JobRange& range) {
  return raw(range.first) + range.count;
}

// How much there is of something is what the file and people have said.
Result<void> leave_limits(const Reader& reader, Plan& addition) {
  return scan_limits(reader, [&](const LimitState& there) {
    for (Limit& one : addition.limits) {
      if (is_same_limit(one, there.limit)) one.most = there.limit.of_file();
    }
    return true;
  });
}

Result<void> refuse_circles(const Reader& reader, const std::vector<DependencySet>& all,
                            std::uint64_t jobs_before) {
  for (const DependencySet& set : all) {
    std::vector<JobRange> members = joined_ranges(set.members);
    const bool are_new =
        std::ranges::all_of(members, [&](const JobRange& r) { return raw(r.first) > jobs_before; });
    if (are_new) continue;
    TORC_ASSIGN(const std::vector<JobRange> after, with_downstream(reader, members));
    const auto comes_after = [&](const JobRange& r) { return has_one_of(after, r); };
    const bool is_circle = std::ranges::any_of(set.upstream, comes_after) ||
                           std::ranges::any_of(set.conditional, comes_after, &Dependency::jobs);
    if (!is_circle) continue;
    return Error{ErrorKind::invalid, "a job that is spawned again would wait for itself",
                 "what it is to wait for waits for it: give it another name"};
  }
  return {};
}

// A job that has completed and is out of the workflow would come back without what it had spawned:
// it runs again then.
void note_robbed(Transaction& tx, JobId spawner) {
  const auto job = read_job(tx, spawner);
  if (job && job->state == JobState::completed && is_removed(tx, spawner))
    tx.put(removed_key(spawner), encode(*job));
}

// Whether the job is the other one, or that spawned it, or spawned what spawned it, and so on.
Result<bool> descends_from(const Reader& reader, JobId job, JobId other) {
  TORC_ASSIGN(std::uint64_t left, count_jobs(reader));
  for (; raw(job) != 0 && left > 0; --left) {
    if (job == other) return true;
    TORC_ASSIGN(const auto origin, read_origin(reader, job));
    job = origin ? origin->parent : JobId{};
  }
  return raw(job) != 0;
}

}  // namespace

Result<void> change_origin(Transaction& tx, const JobRange& jobs, const Origin& now) {
  const Key all(Table::addition);
  const auto stored = tx.get(all);
  const auto known = stored ? decode_additions(*stored) : std::nullopt;
  if (!known) {
    State state(tx);
    state.damaged(all);
    return state.sound();
  }
  Additions additions = *known;
  const auto put = [&](Origin origin, std::uint64_t first, std::uint64_t end) {
    if (first >= end) return;
    origin.jobs = {JobId{first}, end - first};
    tx.put(Key(Table::addition, first), encode(origin));
    ++additions.count;
  };
  for (std::uint64_t at = raw(jobs.first); at < end_of(jobs);) {
    TORC_ASSIGN(const auto before, read_origin(tx, JobId{at}));
    if (!before) break;
    const std::uint64_t to = std::min(end_of(jobs), end_of(before->jobs));
    if (before->parent != now.parent) note_robbed(tx, before->parent);
    --additions.count;
    put(*before, raw(before->jobs.first), at);
    put(now, at, to);
    put(*before, to, end_of(before->jobs));
    at = to;
  }
  tx.put(all, Value().varint(additions.count).varint(additions.first));
  return {};
}

Result<bool> can_be_spawned_again(const Reader& reader, JobId id, const Origin& spawner) {
  if (raw(spawner.parent) == 0) return false;
  TORC_ASSIGN(const auto origin, read_origin(reader, id));
  const auto job = read_job(reader, id);
  if (!origin || !job || is_live(job->state)) return false;
  const bool is_of_earlier_attempt =
      origin->parent == spawner.parent && origin->attempt < spawner.attempt;
  if (!is_of_earlier_attempt && !is_removed(reader, id)) return false;
  TORC_ASSIGN(const bool is_own_ancestor, descends_from(reader, spawner.parent, id));
  return !is_own_ancestor;
}

Result<JobRange> spawn_again(Transaction& tx, Plan addition, const PartOf& part_of,
                             const Origin& origin) {
  TORC_ASSIGN(const std::uint64_t before, count_jobs(tx));
  TORC_TRY(leave_limits(tx, addition));
  Reshape what;
  const auto is_there = [&](const Template& t) { return raw(t.first) <= before; };
  std::ranges::copy_if(addition.templates, std::back_inserter(what.entries), is_there);
  std::erase_if(addition.templates, is_there);
  std::vector<JobRange> there;
  for (const Template& t : what.entries) there.push_back({t.first, t.count});
  there = joined_ranges(std::move(there));
  std::vector<JobRange> bound;
  for (const DependencySet& set : addition.dependencies)
    bound.insert(bound.end(), set.members.begin(), set.members.end());
  what.unbound = without(there, joined_ranges(std::move(bound)));
  TORC_ASSIGN(what.returned, removed_jobs(tx, there));
  State state(tx);
  each_job(state, there, [&](std::uint64_t id, const Job& job) {
    if (is_over(job.state) && job.state != JobState::canceled) add_to(what.stale, id);
  });
  TORC_TRY(state.sound());
  what.keeps_results = false;
  const std::vector<DependencySet> dependencies = addition.dependencies;
  what.plan = std::move(addition);
  TORC_ASSIGN(const Reshaped done, reshape(tx, std::move(what), part_of, origin));
  TORC_TRY(refuse_circles(tx, dependencies, before));
  for (const JobRange& range : there) TORC_TRY(change_origin(tx, range, origin));
  return done.added;
}

}  // namespace torc::claim
