#include "tests/simulation/plan.h"

#include <algorithm>

#include "lib/base/clock.h"
#include "lib/workflow/plan/plan_actions.h"
#include "tests/simulation/edited_workflow.h"

namespace torc::simulation {
namespace {

// Jobs in the order of their numbers, by what they are fated to do: those that fail once, those
// that do and have a recovery script, those that kill their worker, those that need more of a node,
// all others.
struct Kinds {
  explicit Kinds(const Scenario& s)
      : failing(part(s, s.failing)),
        recovered(part(s, s.recovered)),
        crashing(std::min<std::uint64_t>(static_cast<std::uint64_t>(s.crashing), s.jobs - last(0))),
        wide(s.node_cpus >= 2 && s.cpus >= 2 ? part(s, s.wide) : 0),
        large(s.node_cpus >= 2 && s.cpus >= 2 ? part(s, s.large) : 0),
        gangs(std::min(part(s, s.gangs), s.jobs - std::min(s.jobs, last(3)))) {}
  static std::uint64_t part(const Scenario& s, int of_1000) {
    return s.jobs * static_cast<std::uint64_t>(of_1000) / 1000;
  }
  // The number of the last job of the first so many further kinds.
  [[nodiscard]] std::uint64_t last(int kinds) const {
    std::uint64_t sum = failing + recovered;
    if (kinds >= 1) sum += crashing;
    if (kinds >= 2) sum += wide;
    if (kinds >= 3) sum += large;
    if (kinds >= 4) sum += gangs;
    return sum;
  }
  std::uint64_t failing;
  std::uint64_t recovered;
  std::uint64_t crashing;
  std::uint64_t wide;
  std::uint64_t large;
  std::uint64_t gangs;
  // Of the nth of them, from 0.
  [[nodiscard]] static std::uint32_t nodes_of(const Scenario& s, std::uint64_t nth) {
    return 2 + static_cast<std::uint32_t>(nth % (s.gang_nodes - 1));
  }
};

std::uint32_t licences_of(std::uint32_t cpus, std::uint64_t units) {
  return cpus > 1 || units > 1 ? 2 : 1;
}

claim::JobClass class_of(const Scenario& s, std::uint32_t cpus, std::uint64_t units) {
  claim::JobClass c;
  if (s.licences > 0) c.limits = {{1, licences_of(cpus, units)}};
  if (s.node_cpus == 0) return c;
  c.need.cpus = cpus;
  c.need.memory = ByteCount{kMemoryUnit.value * units};
  return c;
}

// That an edited workflow ever has.
constexpr std::size_t kMostEditedJobs = 4096;

// Those of several nodes come last, two nodes first.
constexpr std::uint32_t kClasses = 3;

std::vector<claim::JobClass> classes_of(const Scenario& s) {
  std::vector<claim::JobClass> classes{class_of(s, 1, 1)};
  if (s.node_cpus > 0 || s.gangs > 0) {
    classes.push_back(class_of(s, 2, 1));
    classes.push_back(class_of(s, 1, 2));
  }
  if (s.gangs == 0) return classes;
  for (std::uint32_t nodes = 2; nodes <= s.gang_nodes; ++nodes) {
    claim::JobClass c;
    c.need.nodes = nodes;
    classes.push_back(c);
  }
  if (!s.declared) return classes;
  for (claim::JobClass& c : classes)
    c.need.runtime = std::chrono::seconds(2 + static_cast<std::int64_t>(2.5 * s.job_seconds));
  return classes;
}

claim::Plan plan_of_chains(const Scenario& s) {
  claim::Plan plan;
  const std::uint64_t chained = s.chains * s.chain_length;
  claim::Template first_ones;
  first_ones.first = JobId{1};
  first_ones.count = chained;
  first_ones.priority = 1;
  claim::Template others;
  others.first = JobId{chained + 1};
  others.count = s.jobs - chained;
  plan.templates = {first_ones, others};
  if (others.count == 0) plan.templates.pop_back();
  for (std::uint64_t j = s.chains + 1; j <= chained; ++j) {
    claim::DependencySet set;
    for (const std::uint64_t before : upstream_of(s, j)) set.upstream.push_back({JobId{before}, 1});
    set.members.push_back({JobId{j}, 1});
    plan.dependencies.push_back(std::move(set));
  }
  return plan;
}

std::uint64_t first_half(const Scenario& s) {
  return s.chained ? std::max(s.jobs / 2, Kinds(s).last(4)) : s.jobs;
}

claim::Plan plan_of_jobs(const Scenario& s) {
  claim::Plan plan;
  claim::RetryRule rule;
  rule.all_exit_codes = true;
  claim::RetryRule with_script = rule;
  with_script.script = "recover";
  plan.handlers.resize(3);
  plan.handlers[0].rules.push_back(rule);
  plan.handlers[1].rules.push_back(with_script);
  plan.handlers[2].recoveries = 3;
  const Kinds kinds(s);
  std::uint64_t first = 1;
  const auto add = [&](std::uint64_t last, std::uint32_t handler, std::uint32_t job_class) {
    if (last < first) return;
    claim::Template t;
    t.first = JobId{first};
    t.count = last - first + 1;
    t.handler = handler;
    t.job_class = job_class;
    plan.templates.push_back(t);
    first = last + 1;
  };
  const std::uint64_t half = first_half(s);
  add(kinds.failing / 2, 3, 0);
  add(kinds.failing, 1, 0);
  add(kinds.last(0), 2, 0);
  add(kinds.last(1), 0, 0);
  add(kinds.last(2), 0, 1);
  add(kinds.last(3), 0, 2);
  for (std::uint64_t nth = 0; nth < kinds.gangs; ++nth)
    add(kinds.last(3) + nth + 1, 0, kClasses + Kinds::nodes_of(s, nth) - 2);
  add(half, 0, 0);
  if (first <= s.jobs) {
    plan.dependencies.push_back({{{JobId{1}, half}}, {{JobId{half + 1}, s.jobs - half}}});
    add(s.jobs, 0, 0);
  }
  return plan;
}

void add_actions(const Scenario& s, claim::Plan& plan) {
  for (const ActionPlan& of : s.actions) {
    claim::Action action;
    action.trigger = of.trigger;
    action.recipe = workflow::encode_commands(
        std::vector<std::string>(static_cast<std::size_t>(of.commands), "command"));
    plan.actions.push_back(action);
    const auto number = static_cast<std::uint32_t>(plan.actions.size());
    const std::uint64_t half = s.jobs / 2;
    if (of.trigger == claim::Trigger::jobs_complete) {
      claim::DependencySet set;
      set.conditional.push_back({{JobId{1}, half}, claim::Condition::afterany});
      set.action = number;
      plan.dependencies.push_back(set);
    } else if (of.trigger == claim::Trigger::jobs_ready && first_half(s) < s.jobs) {
      claim::DependencySet set;
      set.upstream.push_back({JobId{1}, first_half(s)});
      set.action = number;
      plan.dependencies.push_back(set);
    }
  }
}

}  // namespace

claim::Plan plan_of(const Scenario& s) {
  if (s.edited) return plan_of(EditedWorkflow::file_of(s));
  claim::Plan plan = s.chains > 0 ? plan_of_chains(s) : plan_of_jobs(s);
  plan.name = "simulated";
  plan.classes = classes_of(s);
  if (s.licences > 0) plan.limits = {{"licence", s.licences, claim::LimitKind::named}};
  add_actions(s, plan);
  return plan;
}

std::vector<JobFate> fates_of(const Scenario& s) {
  SeededEntropy random(s.seed ^ 0xA24BAED4963EE407ULL);
  const auto part = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  const Kinds kinds(s);
  const std::vector<claim::JobClass> classes = classes_of(s);
  if (s.edited) {
    std::vector<JobFate> fates(kMostEditedJobs);
    for (JobFate& fate : fates) fate.seconds = s.job_seconds * (0.5 + part());
    return fates;
  }
  std::vector<JobFate> fates(s.jobs + 1);
  for (std::uint64_t j = 1; j <= s.jobs; ++j) {
    JobFate& fate = fates[j];
    fate.seconds = s.job_seconds * (0.5 + part());
    fate.fails_once = j <= kinds.last(0);
    fate.crashes = j > kinds.last(0) && j <= kinds.last(1);
    const bool is_wide = j > kinds.last(1) && j <= kinds.last(2);
    const bool is_large = j > kinds.last(2) && j <= kinds.last(3);
    const auto is = [&](const claim::JobClass& job_class) {
      fate.need = job_class.need;
      if (!job_class.limits.empty()) fate.licences = job_class.limits.front().amount;
    };
    is(classes[is_wide ? 1 : is_large ? 2 : 0]);
    if (j > kinds.last(3) && j <= kinds.last(4)) {
      const std::uint64_t nth = j - kinds.last(3) - 1;
      fate.licences = 0;
      is(classes[kClasses + Kinds::nodes_of(s, nth) - 2]);
      fate.on_each_node = nth * 37 % 100 < static_cast<std::uint64_t>(s.on_each_node);
    }
    if (j <= kinds.failing || j > kinds.last(0)) continue;
    fate.script_seconds = s.script_seconds * (0.5 + part());
    fate.script_succeeds = part() * 100 < s.good_scripts;
  }
  return fates;
}

std::vector<std::uint64_t> upstream_of(const Scenario& s, std::uint64_t job) {
  if (job <= s.chains || job > s.chains * s.chain_length) return {};
  const std::uint64_t before = job - s.chains;
  if (!s.crossed) return {before};
  // Of a layer each is waited for by two of the next one.
  const std::uint64_t layer = (before - 1) / s.chains;
  const std::uint64_t other = layer * s.chains + (before - 1 + 1 + 7 * layer) % s.chains + 1;
  if (other == before) return {before};
  return {std::min(before, other), std::max(before, other)};
}

bool waits_for_others(const Scenario& s, JobId job) {
  return s.chained && raw(job) > first_half(s);
}

}  // namespace torc::simulation
