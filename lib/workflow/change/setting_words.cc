#include "lib/workflow/change/setting_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "lib/base/labels.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

using claim::Setting;

struct SettingKey {
  std::string name;
  std::string example;
  // Error: not such a value; its remedy, if any, stands for `example`.
  std::function<Result<void>(Setting&, const std::string& value)> read;
};

// Nothing more is to be said of the value than what the key takes.
Error not_such() {
  return invalid("", "");
}

Result<void> read_priority(Setting& setting, const std::string& value) {
  const auto n = parse_integer(value);
  if (!n.ok() || !n->has_value() || !std::in_range<std::int32_t>(**n)) return not_such();
  setting.priority = static_cast<std::int32_t>(**n);
  return {};
}

Result<std::uint64_t> amount_in(const ResourceKind& kind, const std::string& value) {
  switch (kind.measure) {
    case Measure::count: {
      const auto n = parse_integer(value);
      if (!n.ok() || !n->has_value() || **n < 0) break;
      const auto amount = static_cast<std::uint64_t>(**n);
      if (amount >= kind.least && amount <= kind.most) return amount;
      break;
    }
    case Measure::bytes: {
      TORC_ASSIGN(const ByteCount memory, parse_memory(value));
      return memory.value;
    }
    case Measure::seconds: {
      if (value == "none") return 0;
      auto time = parse_spec_duration(value);
      if (time.ok()) return static_cast<std::uint64_t>(time->count());
      return invalid(time.error().what,
                     fmt::format("{}; {}=none removes it", time.error().remedy, kind.word));
    }
    case Measure::locality:
      if (const auto locality = locality_named(value)) return static_cast<std::uint64_t>(*locality);
      break;
  }
  return not_such();
}

std::string example_of(const ResourceKind& kind) {
  switch (kind.measure) {
    case Measure::count:
      return fmt::format("{} to {}{}", kind.least, kind.most,
                         kind.word == kGpus ? ", a part below 1, or all" : "");
    case Measure::bytes:
    case Measure::seconds:
      break;  // their parsers say it
    case Measure::locality:
      return "preferred, strict or scatter";
  }
  return "";
}

Result<void> read_labels(Setting& setting, const std::string& value) {
  const auto labels = parse_labels(value);
  if (labels) setting.labels = *labels;
  return labels.ok() && printable(value) == value ? Result<void>() : not_such();
}

constexpr std::string_view kOfResource = "resources.";

// "resources.fpga=2": what has a name, and is no key by itself. Error invalid: it is no name, or no
// amount of it.
Result<void> read_resource(Setting& setting, const std::string& key, const std::string& value) {
  const auto name = resource_name(key.substr(kOfResource.size()));
  if (!name) return invalid(fmt::format("{} names no resource", key), std::string(kNameRule));
  if (is_reserved_resource(*name) || *name == kGpus)
    return invalid(fmt::format("'{}' is set by a key of its own", *name),
                   fmt::format("what can be set: {}", setting_keys()));
  const auto amount = value == "none" ? std::optional<std::uint64_t>(0) : parse_amount(value);
  if (!amount || (is_gpu(*name) && !is_by_piece(*amount)))
    return invalid(fmt::format("{} cannot be '{}'", key, printable(value)),
                   is_gpu(*name) ? "whole GPUs, a part of one below 1, all, or none"
                                 : "a number above 0 with at most three decimals, all, or none");
  // As 0 too it has a place among them.
  const auto at = std::ranges::lower_bound(setting.named, *name, {}, &Amount::name);
  setting.named.insert(at, {*name, *amount});
  return {};
}

const std::vector<SettingKey>& keys() {
  static const std::vector<SettingKey> all = [] {
    std::vector<SettingKey> keys = {
        {"priority", "a whole number; higher ones go first: priority=10", read_priority}};
    for (const ResourceKind& kind : kResourceKinds) {
      if (!kind.settable) continue;
      const auto read = [&kind](Setting& setting, const std::string& value) -> Result<void> {
        const auto part = kind.word == kGpus ? parse_amount(value) : std::nullopt;
        if (part && (*part < kWhole || *part == kAllThereIs)) {
          set_amount(setting.named, {std::string(kGpus), *part});
          return {};
        }
        TORC_ASSIGN(setting.needs[kind.word], amount_in(kind, value));
        return {};
      };
      keys.push_back({std::string(kind.word), example_of(kind), read});
    }
    keys.push_back(
        {"label", "the label of workers, or several: label=gpu,ssd; label= lets any worker run it",
         read_labels});
    return keys;
  }();
  return all;
}

// Keys of a job in the workflow file that cannot be set: nobody who writes one means a job's name.
constexpr std::string_view kOthers[] = {"scheduler",       "name",
                                        "command",         "env",
                                        "depends_on",      "resource_requirements",
                                        "resources",       "stdio",
                                        "parameters",      "max_parallel",
                                        "limits",          "labels",
                                        "crash_limit",     "state",
                                        "failure_handler", "walltime",
                                        "launch",          "launch_end",
                                        "ntasks_per_node"};

bool is_other_key(std::string_view name) {
  return std::ranges::find(kOthers, name) != std::end(kOthers) ||
         std::ranges::any_of(kResourceKinds, [&](const ResourceKind& k) {
           return k.key == name || k.word == name;
         });
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const SettingKey& key : keys()) names.push_back(key.name);
  return names;
}

}  // namespace

std::string setting_keys() {
  std::string list;
  for (const std::string& name : key_names()) list += (list.empty() ? "" : ", ") + name;
  return list + ", resources.NAME";
}

Result<SettingWords> parse_setting(const std::vector<std::string>& words) {
  SettingWords out;
  std::set<std::string> given;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    if (name.starts_with(kOfResource)) {
      if (!given.insert(name).second) return invalid(fmt::format("{} is set twice", name), "once");
      TORC_TRY(read_resource(out.setting, name, word.substr(equals + 1)));
      out.shown += (out.shown.empty() ? "" : " ") + word;
      continue;
    }
    const auto& all = keys();
    const auto key = std::ranges::find_if(all, [&](auto& k) { return k.name == name; });
    if (key == all.end()) {
      if (is_other_key(name)) {
        return invalid(fmt::format("'{}' cannot be set for single jobs", name),
                       fmt::format("what can be set: {}; #NUMBER names a job whose name has a '='",
                                   setting_keys()));
      }
      const std::string near = name.empty() ? "" : spec::nearest(name, key_names());
      if (!near.empty()) {
        return invalid(
            fmt::format("'{}' cannot be set", name),
            fmt::format("did you mean '{}'? #NUMBER names a job whose name has a '='", near));
      }
      out.names.push_back(word);
      continue;
    }
    if (!given.insert(name).second) return invalid(fmt::format("{} is set twice", name), "once");
    const std::string value = word.substr(equals + 1);
    if (const auto read = key->read(out.setting, value); !read.ok()) {
      const Error& error = read.error();
      return invalid(fmt::format("{} cannot be '{}'{}{}", name, value,
                                 error.what.empty() ? "" : ": ", error.what),
                     error.remedy.empty() ? key->example : error.remedy);
    }
    out.shown += (out.shown.empty() ? "" : " ") + word;
  }
  const bool says_gpus = given.contains(std::string(kGpus));
  if (says_gpus && std::ranges::any_of(out.setting.named, [](const Amount& a) {
        return is_gpu(a.name) && a.name != kGpus;
      }))
    return invalid("both gpus and a type of them are set",
                   "the type is said of all of them: set one");
  if (!given.empty()) return out;
  const auto odd = std::ranges::find_if(
      out.names, [](const std::string& name) { return name.find('=') != std::string::npos; });
  if (odd != out.names.end()) {
    return invalid(fmt::format("'{}' cannot be set", odd->substr(0, odd->find('='))),
                   fmt::format("write KEY=VALUE, where KEY is one of {}", setting_keys()));
  }
  return invalid("there is nothing to set",
                 fmt::format("give KEY=VALUE; KEY is one of {}", setting_keys()));
}

Result<void> check_mode(const claim::Reader& reader, const claim::Setting& setting) {
  const auto part = std::ranges::find_if(setting.named, [](const Amount& a) {
    return is_gpu(a.name) && a.thousandths > 0 && a.thousandths < kWhole;
  });
  if (part == setting.named.end()) return {};
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  TORC_ASSIGN(const WorkflowSettings settings, decode_workflow_settings(workflow.settings));
  if (settings.run.execution.mode != spec::ExecutionMode::slurm) return {};
  return Error{
      ErrorKind::invalid,
      fmt::format("{} of {} is not a part of a step of Slurm, and this workflow has mode slurm",
                  show_thousandths(part->thousandths), torc::quoted(part->name)),
      "ask for whole GPUs; jobs share them in mode direct or auto"};
}

}  // namespace torc::workflow
