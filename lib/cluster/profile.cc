#include "lib/cluster/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/slurm/squeue.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/spec/yaml/yaml_node.h"
#include "lib/spec/yaml/yaml_text.h"
#include "lib/spec/yaml/yaml_tree.h"

namespace torc::cluster {
namespace {

using std::chrono::seconds;

// ---- to text ----

// A text as YAML has it: bare where nothing else can be meant.
std::string scalar(const std::string& text) {
  constexpr std::array<std::string_view, 8> kMeanMore{"true", "false", "null", "yes",
                                                      "no",   "on",    "off",  "y"};
  std::string low = text;
  std::ranges::transform(low, low.begin(), lower);
  const bool bare =
      !text.empty() && is_letter(text.front()) &&
      std::ranges::all_of(
          text,
          [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; }) &&
      std::ranges::find(kMeanMore, low) == kMeanMore.end() && low != "n";
  if (bare) return text;
  return spec::yaml_quoted(text);
}

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + scalar(word);
  return "[" + text + "]";
}

std::string memory_text(ByteCount bytes) {
  if (bytes.value % (1U << 30U) == 0) return fmt::format("{}g", bytes.value >> 30U);
  if (bytes.value % (1U << 20U) == 0) return fmt::format("{}m", bytes.value >> 20U);
  return fmt::format("{}b", bytes.value);
}

std::string time_text(seconds time) {
  std::string text;
  for (const auto& [unit, sign] :
       {std::pair<std::int64_t, char>{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}}) {
    if (time.count() / unit != 0) text += fmt::format("{}{}", time.count() / unit, sign);
    time = seconds(time.count() % unit);
  }
  return text.empty() ? "0s" : text;
}

// "name: x, walltime: 2d": what there is of it.
class Pairs {
 public:
  explicit Pairs(std::string_view between) : between_(between) {}

  Pairs& add(std::string_view key, const std::string& value) {
    if (!value.empty()) text_ += fmt::format("{}{}: {}", text_.empty() ? "" : between_, key, value);
    return *this;
  }
  Pairs& add(std::string_view key, const std::optional<std::uint32_t>& value) {
    return add(key, value ? std::to_string(*value) : "");
  }
  Pairs& add(std::string_view key, const std::optional<seconds>& value) {
    return add(key, value ? time_text(*value) : "");
  }
  Pairs& add(std::string_view key, const std::vector<std::string>& words) {
    return add(key, words.empty() ? "" : list(words));
  }
  Pairs& add(const Limits& limits) {
    return add("walltime", limits.walltime)
        .add("running_jobs", limits.running_jobs)
        .add("submitted_jobs", limits.submitted_jobs);
  }
  Pairs& flag(std::string_view key, bool is_set, bool usual) {
    return add(key, is_set == usual ? "" : std::string(is_set ? "true" : "false"));
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string_view between_;
  std::string text_;
};

std::string name_text(const std::string& name) {
  return name.empty() ? "" : scalar(name);
}

std::string kind_text(const NodeGroup& kind, Passing passing) {
  std::string gpus;
  for (const Gpus& some : kind.gpus) {
    Pairs one(", ");
    one.add("type", name_text(some.type)).add("count", std::optional(some.count));
    gpus += (gpus.empty() ? "{" : ", {") + one.text() + "}";
  }
  Pairs pairs(", ");
  pairs.add("count", std::optional(kind.count))
      .add("cpus", std::optional(kind.cpus))
      .add("memory", memory_text(kind.memory))
      .add("gpus", gpus.empty() ? "" : "[" + gpus + "]")
      .add("features", kind.features);
  if (passing == Passing::yes) pairs.add("usable", kind.usable).add("idle", kind.idle);
  return "{" + pairs.text() + "}";
}

std::string partition_text(const Partition& one, Passing passing) {
  Pairs pairs("\n    ");
  pairs.add("name", scalar(one.name))
      .flag("default", one.is_default, false)
      .flag("up", one.is_up, true)
      .flag("whole_nodes", one.whole_nodes, false)
      .add("walltime", one.walltime)
      .add("default_walltime", one.default_walltime)
      .add("min_nodes", one.min_nodes == 0 ? "" : std::to_string(one.min_nodes))
      .add("max_nodes", one.max_nodes)
      .add("max_cpus", one.max_cpus)
      .add("max_memory", one.max_memory ? memory_text(*one.max_memory) : "")
      .add("accounts", one.accounts)
      .add("denied_accounts", one.denied_accounts)
      .add("submit_from", one.submit_from);
  std::string text = "  - " + pairs.text() + "\n";
  if (!one.nodes.empty()) text += "    nodes:\n";
  for (const NodeGroup& kind : one.nodes) text += "      - " + kind_text(kind, passing) + "\n";
  return text;
}

// ---- from text ----

constexpr std::int64_t kMostOfOne = 10'000'000;  // more is nonsense

class ProfileReader {
 public:
  ProfileReader(const spec::Source& source, spec::Report& report)
      : source_(source), report_(report) {}

  Cluster read(const spec::Node& root) {
    Cluster cluster;
    const auto each_partition = [&](const spec::Node& n) {
      cluster.partitions.push_back(partition(n));
    };
    const auto each_qos = [&](const spec::Node& n) { cluster.qos.push_back(qos(n)); };
    const auto each_association = [&](const spec::Node& n) {
      cluster.associations.push_back(association(n));
    };
    map(root, "a profile",
        {{"cluster", text(cluster.name)},
         {"slurm_version", text(cluster.slurm_version)},
         {"accounting", [&](const spec::Node& n) { cluster.accounting = is_true(n); }},
         {"read_at", [&](const spec::Node& n) { cluster.read_at = when(n); }},
         {"limits_missing", text(cluster.limits_missing)},
         {"partitions", [&](const spec::Node& n) { items(n, each_partition); }},
         {"qos", [&](const spec::Node& n) { items(n, each_qos); }},
         {"associations", [&](const spec::Node& n) { items(n, each_association); }}});
    if (cluster.partitions.empty() && !report_.has_error())
      wrong(root, "the profile has no partitions", "`torc cluster show --yaml` prints one");
    return cluster;
  }

 private:
  using Take = std::function<void(const spec::Node&)>;
  struct Key {
    std::string name;
    Take take;
  };

  void wrong(const spec::Node& node, std::string what, std::string remedy) {
    report_.error(spec::place_of(source_, node), std::move(what), std::move(remedy));
  }

  // `limits`: whose keys are beside them; null: none are.
  void map(const spec::Node& node, std::string_view what, std::vector<Key> keys,
           Limits* limits = nullptr) {
    if (limits != nullptr) {
      keys.push_back({"walltime", time(limits->walltime)});
      keys.push_back({"running_jobs", number(limits->running_jobs)});
      keys.push_back({"submitted_jobs", number(limits->submitted_jobs)});
    }
    if (node.kind != spec::NodeKind::map)
      return wrong(node, fmt::format("{} is a map of keys and values", what), "write 'key: value'");
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const spec::Node& name = *node.items[i];
      const spec::Node& value = *node.items[i + 1];
      const auto key = std::ranges::find(keys, name.text, &Key::name);
      if (key != keys.end()) {
        if (value.kind != spec::NodeKind::null) key->take(value);
        continue;
      }
      std::vector<std::string> names;
      names.reserve(keys.size());
      for (const Key& one : keys) names.push_back(one.name);
      const std::string near = spec::nearest(name.text, names);
      wrong(name, fmt::format("unknown key {} of {}", torc::quoted(name.text), what),
            near.empty() ? fmt::format("keys are {}", fmt::join(names, ", "))
                         : fmt::format("did you mean '{}'?", near));
    }
  }

  void items(const spec::Node& node, const Take& take) {
    if (node.kind != spec::NodeKind::sequence)
      return wrong(node, "a list is wanted here", "begin each entry with '- '");
    for (const spec::Node* item : node.items) take(*item);
  }

  bool is_scalar(const spec::Node& node) {
    if (node.kind != spec::NodeKind::scalar) wrong(node, "a single value is wanted here", "");
    return node.kind == spec::NodeKind::scalar;
  }

  Take text(std::string& into) {
    return [this, &into](const spec::Node& node) {
      if (is_scalar(node)) into = node.text;
    };
  }

  Take texts(std::vector<std::string>& into) {
    return [this, &into](const spec::Node& node) {
      items(node, [&](const spec::Node& item) {
        if (is_scalar(item)) into.push_back(item.text);
      });
    };
  }

  bool is_true(const spec::Node& node) {
    if (!is_scalar(node)) return false;
    if (node.plain && (node.text == "true" || node.text == "false")) return node.text == "true";
    wrong(node, fmt::format("{} is neither true nor false", torc::quoted(node.text)),
          "write true or false");
    return false;
  }
  Take flag(bool& into) {
    return [this, &into](const spec::Node& node) { into = is_true(node); };
  }

  WallTime when(const spec::Node& node) {
    if (!is_scalar(node)) return {};
    const auto value = slurm::epoch_seconds(node.text);
    if (!value)
      wrong(node, fmt::format("{} is not a time", torc::quoted(node.text)),
            "write seconds since 1970, or leave it out");
    return value.value_or(WallTime{});
  }

  template <class Into>
  Take number(Into& into) {
    return [this, &into](const spec::Node& node) {
      if (!is_scalar(node)) return;
      const auto value = parse_integer(node.text);
      if (value.ok() && *value && **value >= 0 && **value <= kMostOfOne)
        into = static_cast<std::uint32_t>(**value);
      else
        wrong(node, fmt::format("{} is not a count", torc::quoted(node.text)),
              fmt::format("write a whole number, up to {}", show_count(kMostOfOne)));
    };
  }

  // What parse_memory() and the like say is wrong.
  template <class Value, class Into>
  Take quantity(Into& into, Result<Value> (*parse)(std::string_view)) {
    return [this, &into, parse](const spec::Node& node) {
      if (!is_scalar(node)) return;
      auto value = parse(node.text);
      if (value.ok())
        into = *value;
      else
        wrong(node, value.error().what, value.error().remedy);
    };
  }
  Take memory(ByteCount& into) { return quantity<ByteCount>(into, parse_memory); }
  Take memory(std::optional<ByteCount>& into) { return quantity<ByteCount>(into, parse_memory); }
  Take time(std::optional<seconds>& into) { return quantity<seconds>(into, parse_spec_duration); }

  void need_name(const spec::Node& node, const std::string& name, std::string_view what,
                 std::string_view key) {
    if (name.empty() && node.kind == spec::NodeKind::map)
      wrong(node, fmt::format("{} has no '{}'", what, key), fmt::format("add '{}: …'", key));
  }

  Partition partition(const spec::Node& node) {
    Partition one;
    const auto each_kind = [&](const spec::Node& n) { one.nodes.push_back(kind(n)); };
    map(node, "a partition",
        {{"name", text(one.name)},
         {"default", flag(one.is_default)},
         {"up", flag(one.is_up)},
         {"whole_nodes", flag(one.whole_nodes)},
         {"walltime", time(one.walltime)},
         {"default_walltime", time(one.default_walltime)},
         {"min_nodes", number(one.min_nodes)},
         {"max_nodes", number(one.max_nodes)},
         {"max_cpus", number(one.max_cpus)},
         {"max_memory", memory(one.max_memory)},
         {"accounts", texts(one.accounts)},
         {"denied_accounts", texts(one.denied_accounts)},
         {"submit_from", texts(one.submit_from)},
         {"nodes", [&](const spec::Node& n) { items(n, each_kind); }}});
    need_name(node, one.name, "a partition", "name");
    return one;
  }

  NodeGroup kind(const spec::Node& node) {
    NodeGroup one;
    const auto each = [&](const spec::Node& n) {
      Gpus some;
      map(n, "GPUs", {{"type", text(some.type)}, {"count", number(some.count)}});
      one.gpus.push_back(std::move(some));
    };
    map(node, "nodes of a partition",
        {{"count", number(one.count)},
         {"cpus", number(one.cpus)},
         {"memory", memory(one.memory)},
         {"gpus", [&](const spec::Node& n) { items(n, each); }},
         {"features", texts(one.features)},
         {"usable", number(one.usable)},
         {"idle", number(one.idle)}});
    // Of a value that was reported nobody knows what was meant.
    if (!report_.has_error() && (one.count == 0 || one.cpus == 0 || one.memory.value == 0))
      wrong(node, "nodes of a partition need 'count', 'cpus' and 'memory'",
            "such as {count: 10, cpus: 64, memory: 256g}");
    return one;
  }

  Qos qos(const spec::Node& node) {
    Qos one;
    map(node, "a QOS",
        {
            {"name", text(one.name)},
        },
        &one.limits);
    need_name(node, one.name, "a QOS", "name");
    return one;
  }

  Association association(const spec::Node& node) {
    Association one;
    map(node, "an association",
        {
            {"account", text(one.account)},
            {"partition", text(one.partition)},
            {"qos", texts(one.qos)},
            {"default_qos", text(one.default_qos)},
        },
        &one.limits);
    need_name(node, one.account, "an association", "account");
    return one;
  }

  const spec::Source& source_;
  spec::Report& report_;
};

}  // namespace

std::string to_profile(const Cluster& cluster, Passing passing) {
  std::string text = "# What a cluster offers. Give it to a command with --profile FILE.\n";
  Pairs head("\n");
  head.add("cluster", name_text(cluster.name))
      .add("slurm_version", name_text(cluster.slurm_version))
      .add("accounting", cluster.accounting ? std::string(*cluster.accounting ? "true" : "false")
                                            : std::string());
  if (passing == Passing::yes)
    head.add("read_at",
             std::to_string(std::chrono::duration_cast<seconds>(cluster.read_at).count()))
        .add("limits_missing", name_text(cluster.limits_missing));
  if (!head.text().empty()) text += head.text() + "\n";
  text += "partitions:\n";
  for (const Partition& one : cluster.partitions) text += partition_text(one, passing);
  if (!cluster.qos.empty()) text += "qos:\n";
  for (const Qos& one : cluster.qos) {
    Pairs pairs(", ");
    pairs.add("name", scalar(one.name)).add(one.limits);
    text += "  - {" + pairs.text() + "}\n";
  }
  if (!cluster.associations.empty()) text += "associations:\n";
  for (const Association& one : cluster.associations) {
    Pairs pairs(", ");
    pairs.add("account", scalar(one.account))
        .add("partition", name_text(one.partition))
        .add("qos", one.qos)
        .add("default_qos", name_text(one.default_qos))
        .add(one.limits);
    text += "  - {" + pairs.text() + "}\n";
  }
  return text;
}

std::optional<Cluster> read_profile(const spec::Source& source, spec::Report& report) {
  const spec::Tree tree = spec::read_yaml(source, report);
  if (tree.root == nullptr) {
    if (!report.has_error()) report.error({}, "the profile is empty", "write its partitions");
    return std::nullopt;
  }
  Cluster cluster = ProfileReader(source, report).read(*tree.root);
  if (report.has_error()) return std::nullopt;
  return cluster;
}

}  // namespace torc::cluster
