#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/read/readers.h"
#include "lib/spec/read/value_check.h"

namespace torc::spec {
namespace {

// Names in Slurm: what its configuration allows, and the signs of lists and of gres.
void check_slurm_text(const MapReader& reader, std::string_view key, std::string_view signs) {
  const Node* node = reader.find(key);
  if (node == nullptr) return;
  const std::string text = reader.session().text(*node);
  const bool fine = text[0] != '-' && std::ranges::all_of(text, [&](char c) {
                      return is_letter(c) || is_digit(c) || signs.find(c) != std::string_view::npos;
                    });
  if (fine) return;
  reader.session().error(*node,
                         fmt::format("{} cannot be {}", torc::quoted(key), torc::quoted(text)),
                         fmt::format("use letters, digits and any of {}", signs));
}

// Digits and a unit of sbatch.
void check_slurm_size(const MapReader& reader, std::string_view key) {
  const Node* node = reader.find(key);
  if (node == nullptr) return;
  const std::string text = reader.session().text(*node);
  std::string_view digits = text;
  if (std::string_view("kKmMgGtT").find(digits.back()) != std::string_view::npos)
    digits.remove_suffix(1);
  const bool fine = !digits.empty() && digits.size() <= 15 &&
                    digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (fine) return;
  reader.session().error(
      *node, fmt::format("{} is not a size of sbatch", torc::quoted(text)),
      "write a whole number with K, M, G or T, like 64G; without a unit it means MiB");
}

constexpr std::string_view kGresSigns = "_.-,:=/()*";

// Of `--gres=gpu:1` among other options the value, which is taken out of them: it is known then
// what a node will have. Empty: there is none, or more than that.
std::string take_gres(std::string& extra) {
  constexpr std::string_view kOption = "--gres=";
  const std::size_t at = extra.find(kOption);
  if (at == std::string::npos || (at > 0 && extra[at - 1] != ' ')) return {};
  const std::size_t end = std::min(extra.find(' ', at), extra.size());
  std::string value = extra.substr(at + kOption.size(), end - at - kOption.size());
  const bool fine = !value.empty() && std::ranges::all_of(value, [](char c) {
    return is_letter(c) || is_digit(c) || kGresSigns.find(c) != std::string_view::npos;
  });
  if (!fine) return {};
  extra.erase(at, end - at);
  extra = trimmed(extra);
  return value;
}

// `of`: the scheduler, as far as it has been read.
AllocateTerms read_allocate(const MapReader& of, const Node& map, const SlurmScheduler& s) {
  const Session& session = of.session();
  const MapReader reader(session, map, Where::allocate);
  AllocateTerms terms;
  // Of a chain there are the link that runs, and the next one.
  if (s.serialize_allocations) {
    terms.max = 2;
    terms.max_queued = 1;
  }
  const std::uint32_t usual_max = terms.max;
  terms.min = reader.integer("min", terms.min);
  terms.max = reader.integer("max", terms.max);
  terms.max_queued = reader.integer("max_queued", terms.max_queued);
  terms.backlog = reader.integer("backlog", terms.backlog);
  if (reader.has("min_utilization")) {
    const auto part = parse_thousandths(reader.text("min_utilization"));
    terms.min_utilization = part.value_or(terms.min_utilization);
  }
  if (const Node* idle = reader.find("workers_idle")) {
    constexpr std::chrono::seconds kShortest{5};
    const auto duration = parse_spec_duration(session.text(*idle));
    if (duration.ok()) terms.workers_idle = *duration;
    if (terms.workers_idle < kShortest)
      session.error(*idle, "a workers_idle of less than 5 seconds", "write PT5S or more");
  }
  if (terms.min > terms.max && !reader.rejected("max")) {
    session.error(
        *reader.find("min"),
        fmt::format("'min' is {}, and 'max' {}", terms.min,
                    reader.has("max") ? fmt::format("only {}", terms.max)
                                      : fmt::format("is {} where it is not said", usual_max)),
        "let 'max' be at least 'min'");
  }
  if (s.serialize_allocations && terms.max > usual_max && reader.has("max")) {
    session.warn(*reader.find("max"),
                 "with serialize_allocations one allocation runs at a time, and others wait for it",
                 fmt::format("write max: {}, which is the one that runs and the next", usual_max));
  }
  if (const Node* budget_map = reader.find("budget")) {
    const Budget budget = read_budget(session, *budget_map);
    terms.budget_core_hours = budget.core_hours.value_or(0);
    terms.budget_node_hours = budget.node_hours.value_or(0);
    const auto limit = parse_walltime(s.walltime);
    const bool is_endless = s.walltime.empty() || (limit.ok() && !limit->has_value());
    if (is_endless && !of.rejected("walltime")) {
      session.error(*budget_map,
                    fmt::format("a budget of allocations, and {} has no limit to its walltime",
                                s.name.empty() ? "the scheduler" : torc::quoted(s.name)),
                    "give the scheduler a walltime: what an allocation may use follows from it");
    }
  }
  return terms;
}

constexpr std::string_view kManaged[] = {"partition", "nodes", "walltime", "time",
                                         "mem",       "gres",  "name",     "job-name"};

bool check_option(const Session& session, const Node& name) {
  const std::string& option = name.text;
  const bool sound =
      !option.empty() && option[0] != '-' && option.back() != '-' &&
      option.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (!sound) {
    session.error(name, fmt::format("{} is not a long option of sbatch", torc::quoted(option)),
                  option.starts_with("-") ? "write it without the leading '-'"
                                          : "use small letters and '-', as in cpus-per-task");
    return false;
  }
  if (std::ranges::find(kManaged, option) != std::end(kManaged)) {
    session.error(
        name, fmt::format("torc sets {} itself", torc::quoted(option)),
        option == "name" || option == "job-name"
            ? "remove it"
            : "remove it; partition, nodes, walltime, mem and gres stand in slurm_schedulers");
    return false;
  }
  return true;
}

}  // namespace

SlurmScheduler read_scheduler(const Session& session, const Node& map) {
  const MapReader reader(session, map, Where::scheduler);
  check_slurm_text(reader, "name", "_.-");
  check_slurm_text(reader, "account", "_.-+@:");
  check_slurm_text(reader, "partition", "_.-+,");
  check_slurm_text(reader, "gres", kGresSigns);
  check_slurm_text(reader, "qos", "_.-+,");
  check_slurm_size(reader, "mem");
  check_slurm_size(reader, "tmp");
  SlurmScheduler s;
  s.name = reader.name();
  s.account = reader.text("account");
  s.partition = reader.text("partition");
  s.nodes = reader.integer("nodes", s.nodes);
  s.walltime = reader.text("walltime");
  s.mem = reader.text("mem");
  s.gres = reader.text("gres");
  s.qos = reader.text("qos");
  s.ntasks_per_node = reader.positive("ntasks_per_node");
  s.tmp = reader.text("tmp");
  s.extra = reader.text("extra");
  s.options = reader.words("options");
  if (s.gres.empty() && !reader.has("gres")) s.gres = take_gres(s.extra);
  s.serialize_allocations = reader.boolean("serialize_allocations", false);
  s.submit_from_login = reader.text("submit_from") == "login";
  if (const Node* map_of_terms = reader.find("allocate"))
    s.allocate = read_allocate(reader, *map_of_terms, s);
  s.place = reader.name_place();
  s.places = reader.places();
  return s;
}

void read_slurm_defaults(const Session& session, const Node& map, Workflow& workflow) {
  auto& options = workflow.slurm_defaults;
  for (std::size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const Node& name = *map.items[i];
    const Node& value = *map.items[i + 1];
    if (!check_option(session, name)) continue;
    workflow.slurm_default_places.emplace(name.text, session.place(name));
    if (value.kind == NodeKind::null) {
      options.emplace_back(name.text, "");
    } else if (check_line(session, value,
                          fmt::format("the value of {}", torc::quoted(name.text)))) {
      options.emplace_back(name.text, session.text(value));
    }
  }
}

}  // namespace torc::spec
