// Random values for claim_property.cc, small enough that what is rare in a real workflow happens
// often.
#pragma once

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/property/claim_model.h"

namespace torc::claim {

inline std::uint64_t below(std::uint64_t n) {
  return *rc::gen::inRange<std::uint64_t>(0, n);
}
inline bool one_in(std::uint64_t n) {
  return below(n) == 0;
}

inline std::string any_labels() {
  constexpr const char* kLabels[] = {"", "x", "y", "x,y"};
  return kLabels[below(4)];
}

// Of what an offer has some: "sum" by amount, "piece" one by one, some of a type; and GPUs.
inline void name_some(Requirement& need) {
  constexpr std::uint64_t kParts[] = {1, 250, 300, 500, 999};
  const auto pieces = [&] {
    if (one_in(6)) return kAllThereIs;
    return one_in(2) ? kParts[below(5)] : kWhole * (1 + below(2));
  };
  if (one_in(2)) set_amount(need.named, {"sum", one_in(6) ? kAllThereIs : 1 + below(3000)});
  if (one_in(2)) set_amount(need.named, {one_in(2) ? "piece" : "piece/t", pieces()});
  if (one_in(8)) set_amount(need.named, {"piece", 1500});  // which nobody can give
  if (one_in(2)) {
    need.gpus = 0;
    set_amount(need.named, {one_in(2) ? "gpus" : "gpus/a", pieces()});
  }
}

inline JobClass any_class(std::uint64_t limits) {
  JobClass c;
  for (std::uint32_t n = 1; n <= limits; ++n) {
    if (one_in(2)) c.limits.push_back({n, static_cast<std::uint32_t>(1 + below(2))});
  }
  c.need.cpus = static_cast<std::uint32_t>(below(4));
  c.need.gpus = one_in(3) ? 1 : 0;
  c.need.nodes = one_in(6) ? 2 : 1;
  c.need.memory = mebibytes(1 + below(4));
  c.need.runtime = std::chrono::seconds(one_in(2) ? 0 : 1 + below(3));
  if (one_in(4)) c.scheduler = "a";
  if (one_in(4)) c.need.time_limit = std::chrono::seconds(1 + below(5));
  if (one_in(4)) c.need.min_time = std::chrono::seconds(1 + below(2));
  if (one_in(3)) c.labels = any_labels();
  if (one_in(4)) name_some(c.need);
  if (c.need.nodes > 1 || !one_in(3)) return c;
  c.weight = static_cast<std::uint32_t>(below(3));
  for (std::uint64_t n = 1 + below(2); n > 0; --n) {
    Alternative& other = c.others.emplace_back();
    other.need.cpus = static_cast<std::uint32_t>(below(4));
    other.need.gpus = one_in(3) ? 1 : 0;
    other.need.memory = mebibytes(1 + below(4));
    other.need.runtime = std::chrono::seconds(one_in(2) ? 0 : 1 + below(5));
    if (one_in(4)) name_some(other.need);
    other.weight = static_cast<std::uint32_t>(below(3));
  }
  return c;
}

// Disjoint runs of jobs in [1, end).
inline std::vector<JobRange> any_ranges(std::uint64_t end) {
  std::vector<JobRange> ranges;
  for (std::uint64_t at = 1 + below(end - 1); at < end && ranges.size() < 3;) {
    const std::uint64_t n = 1 + below(std::min<std::uint64_t>(end - at, 12));
    ranges.push_back({JobId{at}, n});
    at += n + below(3);
  }
  if (ranges.size() > 1 && one_in(2)) std::swap(ranges.front(), ranges.back());
  return ranges;
}

inline RetryRule any_rule() {
  RetryRule r;
  if (one_in(3)) r.exit_codes = {1};
  r.all_exit_codes = one_in(3);
  if (one_in(2)) r.on = {FailureCause::node_death};
  if (one_in(4)) r.script = "mend";
  r.max_retries = static_cast<std::uint32_t>(below(4));
  r.memory_multiplier = one_in(2) ? 2 : 1;
  r.learn = one_in(2);
  // Some are over within the workflow's time, some are not, and some reach the longest.
  r.backoff = std::chrono::seconds(one_in(2) ? below(4) : one_in(2) ? 1000 : 5000);
  return r;
}

// `members` wait for some jobs below `end`.
inline DependencySet any_dependencies(std::uint64_t end, JobRange members) {
  DependencySet set;
  set.members = {members};
  const bool plain = one_in(2);
  if (plain || !one_in(3)) set.upstream = any_ranges(end);
  if (plain) return set;
  set.cancels = !set.upstream.empty() && one_in(2);
  for (const Condition c : {Condition::afternotok, Condition::afterany, Condition::after}) {
    if (!one_in(3)) continue;
    for (const JobRange& r : any_ranges(end)) set.conditional.push_back({r, c});
  }
  return set;
}

struct Size {
  std::uint64_t templates;
  std::uint64_t jobs;  // of one template
};

// `first`: the number of its first job.
Plan any_plan(Size size, std::uint64_t first = 1) {
  Plan plan;
  plan.name = "any";
  if (one_in(2)) {
    for (std::uint64_t n = below(3); n > 0; --n)
      plan.limits.push_back({std::to_string(n), static_cast<std::uint32_t>(1 + below(6)),
                             static_cast<LimitKind>(below(3))});
  }
  if (first == 1 && one_in(4))
    plan.budget = {std::chrono::milliseconds(below(2) * below(60'000)),
                   std::chrono::milliseconds(below(2) * below(60'000))};
  plan.sort = static_cast<SortMethod>(below(3));
  if (one_in(2)) plan.few_classes = below(4);
  for (std::uint64_t n = 1 + below(4); n > 0; --n) {
    plan.classes.push_back(any_class(plan.limits.size()));
    // One that needs more than there is would wait for ever; `check` refuses it.
    for (LimitShare& share : plan.classes.back().limits)
      share.amount = std::min(share.amount, plan.limits[share.number - 1].most);
  }
  for (std::uint64_t n = below(3); n > 0; --n)
    plan.definitions.push_back({std::to_string(below(4)), "v"});
  for (std::uint64_t n = below(3); n > 0; --n) {
    Handler& handler = plan.handlers.emplace_back();
    handler.memory_ceiling = mebibytes(2 + below(8));
    handler.recoveries = one_in(2) ? 0 : static_cast<std::uint32_t>(1 + below(3));
    for (std::uint64_t r = handler.recoveries > 0 ? below(3) : 1 + below(3); r > 0; --r)
      handler.rules.push_back(any_rule());
  }
  if (first == 1 && one_in(4)) plan.max_failures = static_cast<std::uint32_t>(1 + below(6));
  plan.pending_failed = first == 1 && one_in(4);
  std::uint64_t next = first;
  for (std::uint64_t n = 1 + below(size.templates); n > 0; --n) {
    Template t;
    t.first = JobId{next};
    t.count = 1 + below(size.jobs);
    t.job_class = static_cast<std::uint32_t>(below(plan.classes.size()));
    t.priority = static_cast<std::int32_t>(below(3)) - 1;
    t.handler = static_cast<std::uint32_t>(below(plan.handlers.size() + 1));
    if (one_in(4)) t.crash_limit = static_cast<std::uint32_t>(1 + below(3));
    if (t.count == 1) t.name_hash = name_hash(std::to_string(below(2)));
    plan.templates.push_back(t);
    next += t.count;
  }
  // Members in id order, some of them in one set with the run before; upstream always below its
  // members.
  for (std::uint64_t at = std::max<std::uint64_t>(2, first); at < next;) {
    const std::uint64_t n = 1 + below(std::min<std::uint64_t>(next - at, size.jobs));
    if (one_in(3) && !plan.dependencies.empty()) {
      plan.dependencies.back().members.push_back({JobId{at}, n});
    } else if (!one_in(3)) {
      plan.dependencies.push_back(any_dependencies(at, {JobId{at}, n}));
    }
    at += n + below(3);
  }
  return plan;
}

inline void offer_named(Offer& o) {
  const auto have = [](Amounts& named, const std::string& name, bool counts) {
    const Amount* there = find_amount(named, name);
    const std::uint64_t before = there == nullptr ? 0 : there->thousandths;
    Amount now{name, before + (counts ? kWhole : 0), true};
    if (there == nullptr && !counts) {
      named.push_back(now);
      std::sort(named.begin(), named.end());
    } else {
      set_amount(named, now);
    }
  };
  const auto add = [&](const std::string& kind) {
    const std::uint32_t free = one_in(4) ? 0 : one_in(4) ? 400 : kWhole;
    o.pieces.push_back({kind, free});
    if (kind == kGpus) return;
    have(o.total_more.named, kind, true);
    have(o.more.named, kind, free == kWhole);
  };
  if (one_in(2)) {
    const std::uint64_t all = 1 + below(5000);
    o.total_more.named.push_back({"sum", all});
    o.more.named.push_back({"sum", one_in(2) ? all : below(all + 1)});
  }
  for (std::uint64_t n = below(4); n > 0; --n) add(one_in(2) ? "piece" : "piece/t");
  if (one_in(2)) return;
  o.gpus = 0;
  for (std::uint32_t n = 0; n < o.total_gpus; ++n) {
    add(one_in(2) ? "gpus" : "gpus/a");
    if (o.pieces.back().free == kWhole) ++o.gpus;
  }
}

// Ascending, no two touch.
inline std::shared_ptr<const std::vector<JobRange>> some_jobs(std::uint64_t jobs) {
  std::vector<JobRange> ranges;
  for (std::uint64_t at = 1 + below(jobs); at <= jobs; at += 2 + below(9)) {
    const std::uint64_t n = 1 + below(std::min<std::uint64_t>(jobs - at + 1, 12));
    ranges.push_back({JobId{at}, n});
    at += n;
  }
  return std::make_shared<const std::vector<JobRange>>(std::move(ranges));
}

inline Offer any_offer(std::uint64_t jobs) {
  Offer o;
  o.total_cpus = static_cast<std::uint32_t>(4 + below(12));
  o.total_gpus = static_cast<std::uint32_t>(below(3));
  o.total_memory = mebibytes(4 + below(40));
  o.cpus = one_in(2) ? o.total_cpus : static_cast<std::uint32_t>(below(o.total_cpus + 1));
  o.gpus = one_in(2) ? o.total_gpus : static_cast<std::uint32_t>(below(o.total_gpus + 1));
  o.memory = one_in(2) ? o.total_memory : mebibytes(below((o.total_memory.value >> 20) + 1));
  if (one_in(2)) offer_named(o);
  o.nodes = one_in(4) ? 2 : 1;
  if (one_in(4)) o.remaining = std::chrono::seconds(below(4));
  if (!one_in(3)) o.scheduler = "a";
  if (!one_in(3)) o.labels = any_labels();
  o.also_unlabelled = one_in(2);
  o.any_binding = one_in(5);
  o.ignore_resources = one_in(5);
  o.max_jobs = below(10);
  o.prefetch = one_in(2) ? 0 : below(20);
  if (one_in(4)) o.only = some_jobs(jobs);
  return o;
}

inline Outcome any_outcome() {
  Outcome o;
  o.cause = one_in(3) ? EndCause::stopped : EndCause::exited;
  if (one_in(9)) o.cause = EndCause::allocation_ended;
  o.exit_code = static_cast<int>(below(3));
  if (one_in(2)) o.started_at = WallTime(static_cast<std::int64_t>(1 + below(100)));
  o.ended_at = WallTime(static_cast<std::int64_t>(below(200)));
  if (one_in(3)) o.ended_at *= 20'000;
  o.max_rss.value = below(1000);
  return o;
}

}  // namespace torc::claim
