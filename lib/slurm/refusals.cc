#include "lib/slurm/refusals.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quantities.h"
#include "lib/slurm/query.h"

namespace torc::slurm {
namespace {

using spec::SlurmScheduler;

Error refused_value(std::string what, std::string remedy) {
  return Error{ErrorKind::invalid, std::move(what), std::move(remedy)};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_alnum(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Names of accounts, partitions, QOS and GRES: letters and digits, and what else Slurm uses in
// them.
bool consists_of(std::string_view text, std::string_view punctuation) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_alnum(c) || punctuation.find(c) != std::string_view::npos;
  });
}

bool is_size(std::string_view text) {
  const auto unit = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string suffix(unit, text.end());
  std::transform(suffix.begin(), suffix.end(), suffix.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const bool known =
      suffix.empty() || (std::string_view("KMGT").find(suffix[0]) != std::string_view::npos &&
                         (suffix.size() == 1 || suffix.substr(1) == "B"));
  return unit != text.begin() && known;
}

struct Key {
  const SlurmScheduler& scheduler;
  std::string_view name;

  [[nodiscard]] Error wrong(std::string_view value, std::string_view kind,
                            std::string remedy) const {
    return refused_value(
        fmt::format("slurm scheduler '{}': {} '{}' is not {}", scheduler.name, name, value, kind),
        std::move(remedy));
  }
};

Result<void> check_name(const Key& key, const std::string& value, std::string_view punctuation) {
  if (value.empty() || consists_of(value, punctuation)) return {};
  return key.wrong(value, "a name that Slurm knows",
                   fmt::format("use letters, digits and {} only", punctuation));
}

Result<void> check_size(const Key& key, const std::string& value) {
  if (value.empty() || is_size(value)) return {};
  return key.wrong(value, "a size that Slurm reads",
                   "write a whole number of megabytes, or one with K, M, G or T: 512M, 100G");
}

Result<void> check_scheduler_name(const SlurmScheduler& s) {
  if (s.name.empty() || has_control_characters(s.name)) {
    return refused_value(fmt::format("'{}' cannot be the name of a slurm scheduler", s.name),
                         "use printable characters");
  }
  return {};
}

Result<void> check_nodes(const SlurmScheduler& s) {
  if (s.nodes == 0) return Key{s, "nodes"}.wrong("0", "a number of nodes", "give at least 1");
  return {};
}

Result<void> check_tasks(const SlurmScheduler& s) {
  if (s.ntasks_per_node == 0U) {
    return Key{s, "ntasks_per_node"}.wrong("0", "a number of tasks",
                                           "give at least 1 or leave it out");
  }
  return {};
}

Result<void> check_walltime(const SlurmScheduler& s) {
  if (!s.walltime.empty() && !parse_time_limit(s.walltime).ok()) {
    return Key{s, "walltime"}.wrong(s.walltime, "a time limit that Slurm reads",
                                    "write minutes, HH:MM:SS or D-HH:MM:SS");
  }
  return {};
}

// A given option that torc sets itself, or that has a key of its own, would be a second truth.
Result<void> check_given(std::string_view option, std::string_view where, const SlurmScheduler& s) {
  const auto remedy = reserved_for(option);
  if (!remedy.empty()) {
    return refused_value(fmt::format("{} may not hold --{}", where, option), remedy);
  }
  if (option == "dependency" && s.serialize_allocations) {
    return refused_value(
        fmt::format("{} holds --dependency, but the scheduler '{}' has serialize_allocations",
                    where, s.name),
        "leave out one of the two");
  }
  return {};
}

}  // namespace

std::vector<Refusal> refusals_of_keys(const SlurmScheduler& s) {
  std::vector<Refusal> refusals;
  const auto add = [&](std::string_view key, Result<void> checked) {
    if (!checked.ok()) refusals.push_back({std::string(key), std::move(checked).error()});
  };
  add("name", check_scheduler_name(s));
  add("account", check_name({s, "account"}, s.account, "._+@:-"));
  add("partition", check_name({s, "partition"}, s.partition, "._+-,"));
  add("qos", check_name({s, "qos"}, s.qos, "._+-,"));
  add("gres", check_name({s, "gres"}, s.gres, "._:/=,()*-"));
  add("mem", check_size({s, "mem"}, s.mem));
  add("tmp", check_size({s, "tmp"}, s.tmp));
  add("nodes", check_nodes(s));
  add("ntasks_per_node", check_tasks(s));
  add("walltime", check_walltime(s));
  return refusals;
}

std::vector<Refusal> refusals_of_extra(const SlurmScheduler& s,
                                       std::vector<SbatchOption>* options) {
  const auto where = fmt::format("slurm scheduler '{}': extra", s.name);
  auto extra = parse_options(s.extra, where);
  if (!extra.ok()) return {{"extra", std::move(extra).error()}};
  std::vector<Refusal> refusals;
  for (SbatchOption& option : *extra) {
    auto checked = check_given(option.name, where, s);
    if (!checked.ok()) {
      refusals.push_back({"extra", std::move(checked).error()});
    } else if (options != nullptr) {
      options->push_back(std::move(option));
    }
  }
  return refusals;
}

std::vector<Refusal> refusals_of_defaults(const SlurmScheduler& s, const Defaults& defaults,
                                          std::vector<SbatchOption>* options) {
  std::vector<Refusal> refusals;
  for (const auto& [name, value] : defaults) {
    auto checked = check_given(name, "slurm_defaults", s);
    if (!checked.ok()) {
      refusals.push_back({name, std::move(checked).error()});
      continue;
    }
    auto option = default_option(name, value);
    if (!option.ok()) {
      refusals.push_back({name, std::move(option).error()});
    } else if (*option && options != nullptr) {
      options->push_back(**std::move(option));
    }
  }
  return refusals;
}

}  // namespace torc::slurm
