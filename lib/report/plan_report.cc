#include "lib/report/plan_report.h"

#include <fmt/format.h>
#include <cmath>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/report/graph.h"
#include "lib/report/job_view.h"

namespace torc::report {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShownStages = 40;
constexpr std::size_t kShownParts = 12;  // of a stage
constexpr std::size_t kFewParts = 4;
constexpr std::size_t kShownPath = 12;  // jobs of the critical path

double hours(std::chrono::seconds s) {
  return static_cast<double>(s.count()) / 3600;
}

void add(Amount& amount, const spec::ResourceRequirements& needs, std::uint64_t jobs) {
  const double n = static_cast<double>(jobs) * needs.nodes * hours(expected_time(needs));
  amount.core_hours += n * needs.cpus;
  amount.gpu_hours += n * gpu_count(needs);
  if (needs.nodes > 1) amount.node_hours += n;
  amount.jobs += jobs;
  if (expected_time(needs).count() == 0) amount.without_runtime += jobs;
}

void add(Demand& demand, const spec::ExpandedEntry& entry) {
  const spec::ResourceRequirements& needs = entry.resources;
  add(demand.amount, needs, entry.count);
  for (const ResourceKind& kind : kResourceKinds) {
    if (kind.measure == Measure::locality) continue;  // nothing that one has more of
    kind.put(demand.most, std::max(kind.get(demand.most), kind.get(needs)));
  }
  for (const torc::Amount& need : needs.named) {
    const torc::Amount* there = find_amount(demand.most.named, need.name);
    if (there == nullptr || there->thousandths < need.thousandths)
      set_amount(demand.most.named, need);
  }
  demand.walltime_for = std::max(demand.walltime_for, least_time(needs));
  const bool known =
      std::find(demand.labels.begin(), demand.labels.end(), entry.labels) != demand.labels.end();
  if (!entry.labels.empty() && !known) demand.labels.push_back(entry.labels);
}

const spec::ExpandedEntry& entry_at(const workflow::LoadedSpec& loaded, std::size_t i) {
  return loaded.expansion->entries[i];
}

const std::string& written_name(const workflow::LoadedSpec& loaded, std::size_t entry) {
  return loaded.workflow->jobs[entry_at(loaded, entry).source].name;
}

void add_stages(PlanReport& plan, const workflow::LoadedSpec& loaded) {
  plan.stages.resize(plan.outline.stages);
  for (const spec::Segment& segment : plan.outline.segments) {
    PlanStage& stage = plan.stages[segment.stage];
    const spec::ResourceRequirements& needs = entry_at(loaded, segment.entry).resources;
    stage.jobs += segment.count;
    stage.cpus += segment.count * needs.nodes * needs.cpus;
    stage.gpus += segment.count * needs.nodes * gpu_count(needs);
    if (!stage.parts.empty() && stage.parts.back().entry == segment.entry)
      stage.parts.back().jobs += segment.count;
    else
      stage.parts.push_back({segment.entry, segment.count});
  }
  for (PlanStage& stage : plan.stages) {
    std::stable_sort(stage.parts.begin(), stage.parts.end(),
                     [](const StagePart& a, const StagePart& b) { return a.jobs > b.jobs; });
  }
  const auto widest =
      std::max_element(plan.stages.begin(), plan.stages.end(),
                       [](const PlanStage& a, const PlanStage& b) { return a.jobs < b.jobs; });
  plan.widest = static_cast<std::size_t>(widest - plan.stages.begin());
}

std::string jobs_text(std::uint64_t n) {
  return plural(n, "job");
}

std::string hours_text(double h) {
  return h < 10 ? fmt::format("{:.2g}", h)
                : show_count(static_cast<std::uint64_t>(std::llround(h)));
}

std::string stages_text(const PlanReport& plan, const workflow::LoadedSpec& loaded,
                        std::optional<std::size_t> most) {
  torc::Table table({{"stage", Align::right},
                     {"jobs", Align::right},
                     {"entry", Align::left, Shorten::yes},
                     {"each needs", Align::left, Shorten::yes},
                     {"scheduler", Align::left, Shorten::yes},
                     {"label", Align::left, Shorten::yes}});
  for (std::size_t s = 0; s < std::min(plan.stages.size(), kShownStages); ++s) {
    const std::vector<StagePart>& parts = plan.stages[s].parts;
    // Never a line that says that a few lines are left out.
    const std::size_t shown = parts.size() <= kShownParts + kFewParts ? parts.size() : kShownParts;
    for (std::size_t p = 0; p < shown; ++p) {
      const spec::ExpandedEntry& entry = entry_at(loaded, parts[p].entry);
      table.add({p == 0 ? std::to_string(s + 1) : "", show_count(parts[p].jobs),
                 printable(written_name(loaded, parts[p].entry)), show_needs(entry.resources),
                 entry.scheduler.empty() ? "-" : entry.scheduler,
                 entry.labels.empty() ? "-" : printable(entry.labels)});
    }
    if (parts.size() > shown) {
      std::uint64_t rest = 0;
      for (std::size_t p = shown; p < parts.size(); ++p) rest += parts[p].jobs;
      table.add({"", show_count(rest),
                 fmt::format("({} more entries; --json has all)", parts.size() - shown), "", "",
                 ""});
    }
  }
  std::string out = table.text(most);
  if (plan.stages.size() > kShownStages)
    out += fmt::format("({} more stages; --json has all)\n", plan.stages.size() - kShownStages);
  return out;
}

std::string path_text(const PlanReport& plan, const workflow::LoadedSpec& loaded) {
  const std::vector<std::uint64_t>& path = plan.outline.critical;
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path.size() > kShownPath && i == kShownPath / 2) {
      out += fmt::format("({} more) -> ", path.size() - kShownPath);
      i += path.size() - kShownPath;
    }
    const auto runtime = expected_time(spec::entry_of(*loaded.expansion, path[i]).resources);
    out += printable(spec::name_of(*loaded.expansion, path[i]));
    out += runtime.count() > 0 ? fmt::format(" ({})", show_exactly(runtime)) : " (?)";
    if (i + 1 < path.size()) out += " -> ";
  }
  return out;
}

std::string amount_text(const Amount& amount) {
  std::string out = fmt::format("{} core-hours", hours_text(amount.core_hours));
  if (amount.gpu_hours > 0) out += fmt::format(", {} GPU-hours", hours_text(amount.gpu_hours));
  if (amount.node_hours > 0)
    out += fmt::format(", {} node-hours of whole nodes", hours_text(amount.node_hours));
  if (amount.without_runtime > 0) {
    out +=
        amount.without_runtime == amount.jobs
            ? ", for no job declares a runtime"
            : fmt::format(", not counting {} without a runtime", jobs_text(amount.without_runtime));
  }
  return out;
}

std::string has_text(const spec::SlurmScheduler& s) {
  std::string out = fmt::format("{} node{}", s.nodes, s.nodes == 1 ? "" : "s");
  if (!s.walltime.empty()) out += ", walltime " + s.walltime;
  if (!s.mem.empty()) out += ", mem " + s.mem;
  if (!s.gres.empty()) out += ", gres " + s.gres;
  return out;
}

std::string demands_text(const PlanReport& plan, const workflow::LoadedSpec& loaded) {
  const KeptFree kept = loaded.workflow->kept_free();
  std::string out;
  for (const auto& [name, demand] : plan.demands) {
    out += fmt::format("{}: {}, {}\n", name.empty() ? "any worker" : "scheduler " + name,
                       jobs_text(demand.amount.jobs), amount_text(demand.amount));
    out += "  a node must have " + show_shared(demand.most);
    if (demand.most.nodes > 1) out += fmt::format("; {} nodes at a time", demand.most.nodes);
    if (demand.walltime_for.count() > 0)
      out += fmt::format("; walltime {} or more",
                         show_exactly(shortest_walltime(demand.walltime_for, kept)));
    out += '\n';
    for (const spec::SlurmScheduler& s : loaded.workflow->slurm_schedulers) {
      if (s.name == name) out += fmt::format("  it asks for {}\n", has_text(s));
    }
    for (const std::string& label : demand.labels)
      out += fmt::format("  some jobs want workers with {} {}\n",
                         label.find(',') == std::string::npos ? "the label" : "all of the labels",
                         printable(label));
  }
  return out;
}

std::string budget_text(const PlanReport& plan, const workflow::LoadedSpec& loaded) {
  const spec::Budget& budget = loaded.workflow->budget;
  if (!budget.core_hours) return {};
  const bool over = plan.total.core_hours > *budget.core_hours;
  return fmt::format("budget: {:g} core-hours, {} the {} of declared runtimes\n",
                     *budget.core_hours, over ? "less than" : "enough for",
                     hours_text(plan.total.core_hours));
}

}  // namespace

PlanReport make_plan_report(const workflow::LoadedSpec& loaded) {
  PlanReport plan;
  plan.outline = spec::outline(*loaded.expansion);
  add_stages(plan, loaded);
  for (const spec::ExpandedEntry& entry : loaded.expansion->entries) {
    add(plan.total, entry.resources, entry.count);
    add(plan.demands[entry.scheduler], entry);
  }
  return plan;
}

std::string to_text(const PlanReport& plan, const workflow::LoadedSpec& loaded,
                    std::optional<std::size_t> most) {
  const PlanStage& widest = plan.stages[plan.widest];
  std::string out = fmt::format("workflow '{}': {} in {} stage{}\n\n",
                                printable(loaded.workflow->name), jobs_text(loaded.expansion->jobs),
                                plan.stages.size(), plan.stages.size() == 1 ? "" : "s");
  out += stages_text(plan, loaded, most);
  if (std::ranges::any_of(loaded.expansion->entries,
                          [](const auto& entry) { return !entry.resources.one_of.empty(); }))
    out += "\nof jobs with alternatives (one_of) all figures are those of the first one\n";
  out += fmt::format("\nwidest point: stage {} with {}: {}{} if all ran at once\n", plan.widest + 1,
                     jobs_text(widest.jobs), plural(widest.cpus, "CPU"),
                     widest.gpus > 0 ? " and " + plural(widest.gpus, "GPU") : "");
  if (plan.outline.length.count() > 0) {
    out += fmt::format("critical path: {}: {}\n", show_exactly(plan.outline.length),
                       path_text(plan, loaded));
  } else {
    out += "critical path: unknown, for no job declares a runtime\n";
  }
  out += fmt::format("work: {}\n", amount_text(plan.total));
  return out + budget_text(plan, loaded) + "\n" + demands_text(plan, loaded);
}

namespace {

ordered_json amount_json(const Amount& a) {
  return {{"jobs", a.jobs},
          {"core_hours", a.core_hours},
          {"gpu_hours", a.gpu_hours},
          {"node_hours", a.node_hours},
          {"jobs_without_runtime", a.without_runtime}};
}

}  // namespace

namespace {

// null: there are none.
ordered_json alternatives_json(const spec::ResourceRequirements& needs) {
  if (needs.one_of.empty()) return nullptr;
  ordered_json all = ordered_json::array();
  for (const spec::Alternative& alternative : needs.one_of) {
    ordered_json one;
    add_needs(one, alternative.needs);
    one["weight"] = alternative.weight;
    one["command"] = nullptr;  // each job has its own
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

ordered_json to_json(const PlanReport& plan, const workflow::LoadedSpec& loaded) {
  ordered_json stages = ordered_json::array();
  for (const PlanStage& stage : plan.stages) {
    ordered_json parts = ordered_json::array();
    for (const StagePart& part : stage.parts) {
      const spec::ExpandedEntry& entry = entry_at(loaded, part.entry);
      ordered_json one = {{"entry", written_name(loaded, part.entry)}, {"jobs", part.jobs}};
      add_needs(one, entry.resources);
      one["one_of"] = alternatives_json(entry.resources);
      one["scheduler"] = json_or_null(entry.scheduler);
      one["label"] = json_or_null(entry.labels);
      parts.push_back(std::move(one));
    }
    stages.push_back({{"jobs", stage.jobs},
                      {"cpus", stage.cpus},
                      {"gpus", stage.gpus},
                      {"entries", std::move(parts)}});
  }
  ordered_json path = ordered_json::array();
  for (const std::uint64_t job : plan.outline.critical)
    path.push_back(spec::name_of(*loaded.expansion, job));
  ordered_json demands = ordered_json::array();
  const KeptFree kept = loaded.workflow->kept_free();
  for (const auto& [name, d] : plan.demands) {
    ordered_json one = {{"scheduler", json_or_null(name)}};
    one.update(amount_json(d.amount));
    add_shared(one, d.most, "node_");
    one["nodes"] = d.most.nodes;
    one["walltime_seconds"] =
        json_if(d.walltime_for.count() > 0, shortest_walltime(d.walltime_for, kept).count());
    one["labels"] = d.labels;
    demands.push_back(std::move(one));
  }
  return {{"workflow", loaded.workflow->name},
          {"jobs", loaded.expansion->jobs},
          {"stages", std::move(stages)},
          {"widest_stage", plan.widest + 1},
          {"critical_path_seconds", json_or_null(plan.outline.length.count())},
          {"critical_path", std::move(path)},
          {"total", amount_json(plan.total)},
          {"schedulers", std::move(demands)}};
}

}  // namespace torc::report
