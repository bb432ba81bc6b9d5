#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

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
      *node, fmt::format("{} is no size of sbatch", torc::quoted(text)),
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

constexpr std::string_view kManaged[] = {"partition", "nodes", "walltime", "time",
                                         "mem",       "gres",  "name",     "job-name"};

bool check_option(const Session& session, const Node& name) {
  const std::string& option = name.text;
  const bool sound =
      !option.empty() && option[0] != '-' && option.back() != '-' &&
      option.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (!sound) {
    session.error(name, fmt::format("{} is no long option of sbatch", torc::quoted(option)),
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
  if (s.gres.empty() && !reader.has("gres")) s.gres = take_gres(s.extra);
  s.serialize_allocations = reader.boolean("serialize_allocations", false);
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
