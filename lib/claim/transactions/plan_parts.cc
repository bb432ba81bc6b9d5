#include "lib/claim/transactions/plan_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lib/base/result.h"
#include "lib/claim/scheduling/ready_queue.h"
#include "lib/claim/tables/definition.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

// Those that an addition leaves no room for; in a file of its own the language has refused them.
Error too_many_jobs() {
  return Error{
      ErrorKind::invalid,
      fmt::format("a workflow has at most {} jobs in its life, and this would be more", kMaxJobs),
      "make a new store for the new ones with `torc init`"};
}

Result<std::uint64_t> check_templates(const Plan& plan, std::uint64_t next) {
  for (const Template& t : plan.templates) {
    if (raw(t.first) != next) {
      return bad_plan(
          fmt::format("a template begins at job {} where {} follows", raw(t.first), next));
    }
    if (t.count == 0) return bad_plan(fmt::format("the template at job {} has no jobs", next));
    if (!are_jobs(next, t.count)) return too_many_jobs();
    if (t.job_class < plan.classes.size() &&
        std::ranges::any_of(plan.classes[t.job_class].limits, [&](const LimitShare& share) {
          return share.number == 0 || share.number > plan.limits.size() || share.amount == 0;
        })) {
      return bad_plan(fmt::format("class {} has a limit that is none", t.job_class));
    }
    if (t.job_class >= plan.classes.size()) {
      return bad_plan(fmt::format("the template at job {} names class {} of {}", next, t.job_class,
                                  plan.classes.size()));
    }
    const JobClass& c = plan.classes[t.job_class];
    if (c.others.size() >= kMostAlternatives ||
        (!c.others.empty() &&
         (c.need.nodes > 1 || std::ranges::any_of(c.others, [](const Alternative& one) {
            return one.need.nodes > 1;
          })))) {
      return bad_plan(fmt::format("class {} has alternatives that are none", t.job_class));
    }
    if (t.handler > plan.handlers.size()) {
      return bad_plan(fmt::format("the template at job {} names failure handler {} of {}", next,
                                  t.handler, plan.handlers.size()));
    }
    next += t.count;
  }
  return next - 1;
}

// Sorted by first job. Within one barrier and condition they must not overlap; nor across them when
// `exclusive`.
enum class Overlap : std::uint8_t { forbidden, across_barriers };
Result<std::vector<Bound>> sorted_bounds(std::vector<Bound> bounds, std::uint64_t jobs,
                                         Overlap overlap) {
  const auto by_barrier = [](const Bound& a, const Bound& b) {
    return a.waiter != b.waiter ? a.waiter < b.waiter : a.first < b.first;
  };
  const auto by_first = [](const Bound& a, const Bound& b) {
    return a.first != b.first ? a.first < b.first : a.waiter < b.waiter;
  };
  if (overlap == Overlap::across_barriers) {
    std::sort(bounds.begin(), bounds.end(), by_barrier);
  } else {
    std::sort(bounds.begin(), bounds.end(), by_first);
  }
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const Bound& b = bounds[i];
    if (b.count == 0 || b.first == 0 || b.count > jobs || b.first > jobs - b.count + 1) {
      return bad_plan(
          fmt::format("a dependency names jobs {} to {} of {}", b.first, b.end() - 1, jobs));
    }
    const bool comparable =
        i > 0 && (overlap == Overlap::forbidden || bounds[i - 1].waiter == b.waiter);
    if (comparable && bounds[i - 1].end() > b.first) {
      return bad_plan(fmt::format("job {} is named twice among the dependencies", b.first));
    }
  }
  if (overlap == Overlap::across_barriers) std::sort(bounds.begin(), bounds.end(), by_first);
  return bounds;
}

// Nobody waits, or for nothing.
bool is_idle(const DependencySet& set) {
  return (set.members.empty() && set.action == 0) ||
         (set.upstream.empty() && set.conditional.empty());
}

std::vector<Bound> members_of(const Plan& plan, std::uint64_t barriers) {
  std::vector<Bound> bounds;
  for (std::size_t i = 0; i < plan.dependencies.size(); ++i) {
    const DependencySet& set = plan.dependencies[i];
    if (is_idle(set)) continue;
    for (const JobRange& r : set.members)
      bounds.push_back({raw(r.first), r.count, {barriers + i + 1}});
  }
  return bounds;
}

std::vector<Bound> upstream_of(const Plan& plan, std::uint64_t barriers) {
  std::vector<Bound> bounds;
  for (std::size_t i = 0; i < plan.dependencies.size(); ++i) {
    const DependencySet& set = plan.dependencies[i];
    if (is_idle(set)) continue;
    const std::uint64_t id = barriers + i + 1;
    for (const JobRange& r : set.upstream)
      bounds.push_back({raw(r.first), r.count, {id, Condition::afterok, set.cancels}});
    for (const Dependency& d : set.conditional)
      bounds.push_back({raw(d.jobs.first), d.jobs.count, {id, d.condition, false}});
  }
  return bounds;
}

}  // namespace

Error bad_plan(std::string what) {
  return Error{
      ErrorKind::invalid, "the plan of the workflow is wrong: " + std::move(what),
      "this is a mistake in torc, not in the workflow file; please report it with that file"};
}

Result<CheckedPlan> check_plan(const Plan& plan, std::uint64_t first, std::uint64_t barriers) {
  CheckedPlan checked;
  TORC_ASSIGN(checked.jobs, check_templates(plan, first));
  TORC_ASSIGN(checked.members,
              sorted_bounds(members_of(plan, barriers), checked.jobs, Overlap::forbidden));
  TORC_ASSIGN(checked.upstream,
              sorted_bounds(upstream_of(plan, barriers), checked.jobs, Overlap::across_barriers));
  return checked;
}

// Cuts the jobs where template or membership changes, and joins what is alike after all.
std::vector<Span> make_spans(const Plan& plan, const std::vector<Bound>& members) {
  std::vector<Span> spans;
  const auto add = [&](const Span& s) {
    if (!spans.empty() && spans.back().barrier == s.barrier &&
        spans.back().job_class == s.job_class && spans.back().priority == s.priority) {
      spans.back().count += s.count;
    } else {
      spans.push_back(s);
    }
  };
  std::size_t m = 0;
  for (const Template& t : plan.templates) {
    const std::uint64_t end = raw(t.first) + t.count;
    for (std::uint64_t at = raw(t.first); at < end;) {
      while (m < members.size() && members[m].end() <= at) ++m;
      const bool inside = m < members.size() && members[m].first <= at;
      std::uint64_t to = end;
      if (m < members.size()) to = std::min(end, inside ? members[m].end() : members[m].first);
      add({at, to - at, inside ? members[m].waiter.barrier : 0, t.job_class, t.priority});
      at = to;
    }
  }
  return spans;
}

void write_spans(Transaction& tx, ReadyQueues& queues, Tally& tally, const std::vector<Span>& spans,
                 const std::vector<std::uint64_t>& open) {
  for (const Span& s : spans) tx.put(Key(Table::span, s.first), encode(s));
  for (const Span& s : spans) {
    const bool opened = std::binary_search(open.begin(), open.end(), s.barrier);
    const bool ready = s.barrier == 0 || opened;
    tally.counts[static_cast<std::size_t>(ready ? JobState::ready : JobState::blocked)] += s.count;
    if (ready) queues.put({s.job_class, s.priority, opened ? tx.sequence() : 0, s.first, s.count});
  }
}

// Cuts the upstream ranges at all their ends: within a piece every job counts for the same
// barriers, so that a completed job finds them with one seek. Never more numbers than there are
// edges to count off.
void cut_upstream(const std::vector<Bound>& bounds,
                  const std::function<void(const UpstreamRun&)>& visit) {
  struct End {
    std::uint64_t at;
    Waiter waiter;
    bool opens;
  };
  std::vector<End> ends;
  ends.reserve(2 * bounds.size());
  for (const Bound& b : bounds) {
    ends.push_back({b.first, b.waiter, true});
    ends.push_back({b.end(), b.waiter, false});
  }
  // A range that ends where another of its barrier begins: close first, so that the barrier stays
  // listed once.
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
    return a.at != b.at ? a.at < b.at : a.opens < b.opens;
  });
  UpstreamRun run;
  for (std::size_t i = 0; i < ends.size();) {
    run.first = ends[i].at;
    for (; i < ends.size() && ends[i].at == run.first; ++i) {
      auto& list = run.waiters;
      const auto at = std::lower_bound(list.begin(), list.end(), ends[i].waiter);
      if (ends[i].opens) {
        list.insert(at, ends[i].waiter);
      } else {
        list.erase(at);
      }
    }
    if (i == ends.size() || run.waiters.empty()) continue;
    run.count = ends[i].at - run.first;
    visit(run);
  }
}

void write_templates(Transaction& tx, const Plan& plan) {
  for (const Template& t : plan.templates) {
    tx.put(Key(Table::job_template, raw(t.first)), encode(t));
    if (t.count > 1) tx.put(Key(Table::sweep, raw(t.first)), {});
  }
  for (const Template& t : plan.templates) {
    if (t.count == 1 && t.name_hash != 0) {
      tx.put(Key(Table::name, t.name_hash).be64(raw(t.first)), {});
    }
  }
}

namespace {

std::vector<JobRange> sorted(std::vector<JobRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const JobRange& a, const JobRange& b) { return a.first < b.first; });
  return ranges;
}

std::vector<Dependency> sorted(std::vector<Dependency> all) {
  std::sort(all.begin(), all.end(), [](const Dependency& a, const Dependency& b) {
    return a.condition != b.condition ? a.condition < b.condition : a.jobs.first < b.jobs.first;
  });
  return all;
}

}  // namespace

std::vector<std::pair<std::uint64_t, Barrier>> barriers_of(const Plan& plan,
                                                           std::uint64_t barriers) {
  std::vector<std::pair<std::uint64_t, Barrier>> made;
  for (std::size_t i = 0; i < plan.dependencies.size(); ++i) {
    const DependencySet& set = plan.dependencies[i];
    if (is_idle(set)) continue;
    auto& [id, barrier] = made.emplace_back(barriers + i + 1, Barrier{});
    barrier.members = sorted(set.members);
    barrier.upstream = sorted(set.upstream);
    for (const JobRange& r : barrier.upstream) barrier.total += r.count;
    barrier.conditional = sorted(set.conditional);
    for (const Dependency& d : barrier.conditional) barrier.total += d.jobs.count;
    barrier.cancels = set.cancels;
    barrier.action = set.action;
  }
  return made;
}

void write_definitions(Transaction& tx, const Plan& plan) {
  if (plan.definitions.empty()) return;
  const Key all(Table::definition);
  const auto stored = tx.get(all);
  std::uint64_t known = stored ? decode_definition_count(*stored).value_or(0) : 0;
  for (const Definition& d : plan.definitions) {
    const std::string key = definition_key(d.key);
    if (!tx.get(key)) ++known;
    tx.put(key, d.value);
  }
  tx.put(all, Value().varint(known));
}

std::uint8_t rules_of(const Plan& plan) {
  std::uint8_t rules = 0;
  for (const DependencySet& set : plan.dependencies) {
    if (is_idle(set)) continue;
    if (set.cancels || !set.conditional.empty()) rules |= rule::kEnds;
    for (const Dependency& d : set.conditional) {
      if (d.condition == Condition::after) rules |= rule::kStarts;
    }
  }
  if (!plan.limits.empty()) rules |= rule::kLimits;
  if (plan.budget != Usage{}) rules |= rule::kBudget;
  if (plan.pending_failed) rules |= rule::kPendingFailed;
  if (!plan.actions.empty()) rules |= rule::kActions;
  const auto of_several = [](const JobClass& c) { return c.need.nodes > 1; };
  if (std::any_of(plan.classes.begin(), plan.classes.end(), of_several)) rules |= rule::kGangs;
  if (std::ranges::any_of(plan.classes, [](const JobClass& c) { return c.learns_from != 0; }))
    rules |= rule::kLearns;
  return rules;
}

}  // namespace torc::claim
