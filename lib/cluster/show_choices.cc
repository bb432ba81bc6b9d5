#include "lib/cluster/show_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/slurm/options.h"

namespace torc::cluster {
namespace {

using nlohmann::ordered_json;
using std::chrono::seconds;

constexpr std::size_t kShownLeftOut = 10;

// "1.5", "120", "12k", "3.4M": in six columns.
std::string short_number(double n) {
  if (n < 99.95) return fmt::format("{:.1f}", n);
  if (n < 99'999.5) return fmt::format("{:.0f}", n);
  if (n < 999'500) return fmt::format("{:.0f}k", n / 1e3);
  return n < 999.5e6 ? fmt::format("{:.1f}M", n / 1e6) : fmt::format("{:.3g}", n);
}

// "40 s", "12 min", "9 h 5 min", "14 h", "3 d 2 h": in ten columns.
std::string short_time(seconds time) {
  if (time.count() < 100) return fmt::format("{} s", time.count());
  const std::int64_t minutes = (time.count() + 30) / 60;
  const auto two = [](std::int64_t n, const char* unit, std::int64_t rest, const char* of_rest) {
    return fmt::format("{} {}", n, unit) + (rest == 0 ? "" : fmt::format(" {} {}", rest, of_rest));
  };
  if (minutes < 60) return fmt::format("{} min", minutes);
  constexpr std::int64_t kDay = std::int64_t{24} * 60;
  if (minutes < kDay) return two(minutes / 60, "h", minutes % 60, "min");
  return two(minutes / kDay, "d", minutes / 60 % 24, "h");
}

std::string start_text(const Choice& choice) {
  if (choice.answer == Choice::Answer::refused) return "refused";
  if (!choice.start) return "not known";
  if (choice.start->count() < 60) return "now";
  const seconds start = *choice.start < std::chrono::hours(10)
                            ? *choice.start
                            : std::chrono::round<std::chrono::hours>(*choice.start);
  return "in " + short_time(start);
}

std::string head_of(const Cluster& cluster, const JobGroup& group) {
  std::string text = group.scheduler.empty()
                         ? std::string("allocations")
                         : "allocations of scheduler " + printable(group.scheduler);
  if (group.node == NodeShape{} && !group.why_none.empty()) return text;
  text += fmt::format(" in partition {}: of each node {}, {}",
                      printable(cluster.partitions[group.partition].name),
                      plural(group.node.cpus, "CPU"), show_bytes(group.node.memory));
  if (group.node.gpus != 0) text += ", " + plural(group.node.gpus, "GPU");
  return text;
}

std::string queue_text(const GroupPlan& plan) {
  std::string text = "  the queue now: ";
  text += plan.group.idle ? fmt::format("{} of {} idle", *plan.group.idle,
                                        plural(plan.group.bounds.all_nodes, "such node"))
                          : fmt::format("{}, how many of them are idle is not known",
                                        plural(plan.group.bounds.all_nodes, "such node"));
  text += plan.waiting ? fmt::format("; {} for {}",
                                     plural(plan.waiting->allocations, "allocation") +
                                         (plan.waiting->allocations == 1 ? " waits" : " wait"),
                                     plural(plan.waiting->nodes, "node"))
                       : "; what waits is not known";
  return text + "\n";
}

std::string table_of(const GroupPlan& plan) {
  Table table({{"  choice"},
               {"number", Align::right},
               {"nodes", Align::right},
               {"walltime", Align::right},
               {"start"},
               {"makespan"},
               {"granted", Align::right},
               {"used", Align::right}});
  for (const Choice& choice : plan.choices)
    table.add({"  " + std::string(to_string(choice.kind)),
               std::to_string(choice.packing.allocations), std::to_string(choice.nodes),
               slurm::show_walltime(choice.walltime), start_text(choice),
               short_time(choice.packing.end - choice.packing.start),
               short_number(granted_core_hours(plan.group, choice)),
               short_number(used_core_hours(plan.group))});
  return table.text();
}

// Why nothing is known of starts, once where it is the same of all.
std::string answers_text(const GroupPlan& plan) {
  std::vector<std::string> told;
  for (const Choice& choice : plan.choices) {
    if (choice.why.empty() || std::ranges::find(told, choice.why) != told.end()) continue;
    told.push_back(choice.why);
  }
  std::string text;
  for (const std::string& why : told) text += fmt::format("  {}\n", printable(why));
  return text;
}

std::string text_of(const Cluster& cluster, const GroupPlan& plan) {
  std::string text = head_of(cluster, plan.group) + "\n";
  if (!plan.group.why_none.empty()) return text + fmt::format("  none: {}\n", plan.group.why_none);
  text += queue_text(plan) + table_of(plan) + answers_text(plan);
  if (plan.group.guessed != 0)
    text += fmt::format("  {} without a runtime count as long as the longest of the others\n",
                        plural(plan.group.guessed, "job"));
  return text + fmt::format("  recommended: {}\n", printable(plan.recommended.sentence));
}

ordered_json to_json(const JobGroup& group, const Choice& choice) {
  ordered_json out;
  out["choice"] = json_word(to_string(choice.kind));
  out["planned_allocations"] = choice.packing.allocations;
  out["allocations_at_once"] = choice.packing.at_once;
  out["nodes"] = choice.nodes;
  out["allocation_walltime_seconds"] = choice.walltime.count();
  out["answer"] = choice.answer == Choice::Answer::accepted  ? "accepted"
                  : choice.answer == Choice::Answer::refused ? "refused"
                                                             : "unanswered";
  out["start_in_seconds"] =
      json_if(choice.start.has_value(), choice.start.value_or(seconds(0)).count());
  out["makespan_seconds"] = (choice.packing.end - choice.packing.start).count();
  out["granted_core_hours"] = granted_core_hours(group, choice);
  out["used_core_hours"] = used_core_hours(group);
  out["reason"] = json_or_null(choice.why);
  return out;
}

}  // namespace

std::string to_text(const Cluster& cluster, const AllocationPlan& plan) {
  std::string text;
  bool any = false;
  for (const GroupPlan& one : plan.groups) {
    text += text_of(cluster, one) + "\n";
    any = any || !one.choices.empty();
  }
  for (std::size_t i = 0; i < plan.left_out.size() && i < kShownLeftOut; ++i)
    text += fmt::format("no allocation is planned for job {}: {}\n",
                        printable(plan.left_out[i].name), plan.left_out[i].why);
  if (plan.left_out.size() > kShownLeftOut)
    text += fmt::format("nor for {} more entries\n", plan.left_out.size() - kShownLeftOut);
  if (any)
    text +=
        "number: allocations in all, those that follow others with them; granted, used: in "
        "core-hours\n";
  return text;
}

ordered_json to_json(const Cluster& cluster, const AllocationPlan& plan,
                     const std::string& profile) {
  ordered_json out;
  out["cluster"] = json_or_null(cluster.name);
  out["profile"] = json_or_null(profile);
  out["read_at"] = json_time(cluster.read_at);
  out["groups"] = ordered_json::array();
  for (const GroupPlan& one : plan.groups) {
    const JobGroup& group = one.group;
    const bool known = group.why_none.empty();
    ordered_json shown;
    shown["scheduler"] = json_or_null(group.scheduler);
    shown["partition"] = json_if(known, known ? cluster.partitions[group.partition].name : "");
    shown["cpus"] = json_if(known, group.node.cpus);
    shown["memory_bytes"] = json_if(known, group.node.memory.value);
    shown["gpus"] = json_if(known, group.node.gpus);
    shown["idle_nodes"] = json_if(known && group.idle.has_value(), group.idle.value_or(0));
    shown["pending_allocations"] =
        json_if(one.waiting.has_value(), one.waiting.value_or(Waiting{}).allocations);
    shown["pending_nodes"] =
        json_if(one.waiting.has_value(), one.waiting.value_or(Waiting{}).nodes);
    shown["guessed_jobs"] = group.guessed;
    shown["reason"] = json_or_null(group.why_none);
    shown["choices"] = ordered_json::array();
    for (const Choice& choice : one.choices) shown["choices"].push_back(to_json(group, choice));
    shown["recommended"] = json_if(
        one.recommended.choice.has_value(),
        one.recommended.choice ? json_word(to_string(one.choices[*one.recommended.choice].kind))
                               : "");
    shown["recommendation"] = json_or_null(one.recommended.sentence);
    out["groups"].push_back(std::move(shown));
  }
  out["unplanned"] = ordered_json::array();
  for (const AllocationPlan::Job& job : plan.left_out)
    out["unplanned"].push_back({{"entry", job.name}, {"reason", job.why}});
  return out;
}

}  // namespace torc::cluster
