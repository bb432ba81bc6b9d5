#include "lib/workflow/setting_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "lib/base/quantities.h"
#include "lib/base/quote.h"
#include "lib/spec/text/diagnostic.h"
#include "lib/spec/text/quantity.h"

namespace torc::workflow {
namespace {

using claim::Setting;

constexpr std::int64_t kMostCpus = 65'536;
constexpr std::int64_t kMostGpus = 1024;

struct SettingKey {
  std::string name;
  std::string example;
  std::function<bool(Setting&, const std::string& value)> read;  // false: not such a value
};

template <class T>
auto number(std::optional<T> Setting::*field, std::int64_t least, std::int64_t most) {
  return [=](Setting& setting, const std::string& value) {
    const auto n = spec::parse_integer(value);
    if (!n.ok() || !n->has_value() || **n < least || **n > most) return false;
    setting.*field = static_cast<T>(**n);
    return true;
  };
}

bool read_memory(Setting& setting, const std::string& value) {
  const auto memory = spec::parse_memory(value);
  if (memory.ok()) setting.memory = *memory;
  return memory.ok();
}

bool read_runtime(Setting& setting, const std::string& value) {
  if (value == "none") {
    setting.runtime = std::chrono::seconds(0);
    return true;
  }
  const auto runtime = parse_duration(value);
  if (runtime.ok()) setting.runtime = *runtime;
  return runtime.ok() && runtime->count() > 0;
}

bool read_label(Setting& setting, const std::string& value) {
  setting.label = value;
  return printable(value) == value;
}

const std::vector<SettingKey>& keys() {
  static const std::vector<SettingKey> all = {
      {"priority", "a whole number; higher ones go first: priority=10",
       number(&Setting::priority, std::numeric_limits<std::int32_t>::min(),
              std::numeric_limits<std::int32_t>::max())},
      {"runtime", "30m, PT30M or 1:30:00; runtime=none removes it", read_runtime},
      {"memory", "512m, 8g or 1t", read_memory},
      {"cpus", "1 to 65536", number(&Setting::cpus, 1, kMostCpus)},
      {"gpus", "0 to 1024", number(&Setting::gpus, 0, kMostGpus)},
      {"label", "the label of workers; label= lets any worker run it", read_label}};
  return all;
}

// Keys of a job in the workflow file that cannot be set: nobody who writes one means a job's name.
constexpr std::string_view kOthers[] = {
    "scheduler",       "name",     "command",    "env",          "depends_on",
    "num_cpus",        "num_gpus", "num_nodes",  "nodes",        "resource_requirements",
    "failure_handler", "stdio",    "parameters", "max_parallel", "crash_limit",
    "state",           "walltime"};

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const SettingKey& key : keys()) names.push_back(key.name);
  return names;
}

std::string list_of_keys() {
  std::string list;
  for (const std::string& name : key_names()) list += (list.empty() ? "" : ", ") + name;
  return list;
}

Error invalid(std::string what, std::string remedy) {
  return {ErrorKind::invalid, std::move(what), std::move(remedy)};
}

}  // namespace

Result<SettingWords> parse_setting(const std::vector<std::string>& words) {
  SettingWords out;
  std::set<std::string> given;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    const auto& all = keys();
    const auto key = std::find_if(all.begin(), all.end(), [&](auto& k) { return k.name == name; });
    if (key == all.end()) {
      if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) {
        return invalid(fmt::format("'{}' cannot be set for single jobs", name),
                       fmt::format("what can be set: {}; #NUMBER names a job whose name has a '='",
                                   list_of_keys()));
      }
      const std::string near = name.empty() ? "" : spec::nearest(name, key_names());
      if (!near.empty()) {
        return invalid(
            fmt::format("'{}' is nothing that can be set", name),
            fmt::format("did you mean '{}'? #NUMBER names a job whose name has a '='", near));
      }
      out.names.push_back(word);
      continue;
    }
    if (!given.insert(name).second) return invalid(fmt::format("{} is set twice", name), "once");
    const std::string value = word.substr(equals + 1);
    if (!key->read(out.setting, value)) {
      return invalid(fmt::format("{} cannot be '{}'", name, value),
                     fmt::format("{}", key->example));
    }
    out.shown += (out.shown.empty() ? "" : " ") + word;
  }
  if (!given.empty()) return out;
  return invalid("nothing is set", fmt::format("give KEY=VALUE; KEY is one of {}", list_of_keys()));
}

}  // namespace torc::workflow
