#include "lib/slurm/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lib/slurm/options.h"
#include "lib/slurm/query.h"
#include "lib/slurm/templates.h"

namespace torc::slurm {
namespace {

using spec::SlurmScheduler;
using Defaults = std::vector<std::pair<std::string, std::string>>;

Error invalid(std::string what, std::string remedy) {
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

// A name within a comment of the script: nothing can end the line.
std::string comment_text(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return has_control_characters(std::string_view(&c, 1)); }, '?');
  return out;
}

struct Key {
  const SlurmScheduler& scheduler;
  std::string_view name;

  [[nodiscard]] Error wrong(std::string_view value, std::string_view kind,
                            std::string remedy) const {
    return invalid(
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

Result<void> check_keys(const SlurmScheduler& s) {
  if (s.name.empty() || has_control_characters(s.name)) {
    return invalid(
        fmt::format("'{}' cannot be the name of a slurm scheduler", comment_text(s.name)),
        "use printable characters");
  }
  TORC_TRY(check_name({s, "account"}, s.account, "._+@:-"));
  TORC_TRY(check_name({s, "partition"}, s.partition, "._+-,"));
  TORC_TRY(check_name({s, "qos"}, s.qos, "._+-,"));
  TORC_TRY(check_name({s, "gres"}, s.gres, "._:/=,()*-"));
  TORC_TRY(check_size({s, "mem"}, s.mem));
  TORC_TRY(check_size({s, "tmp"}, s.tmp));
  if (s.nodes == 0) return Key{s, "nodes"}.wrong("0", "a number of nodes", "give at least 1");
  if (s.ntasks_per_node == 0U) {
    return Key{s, "ntasks_per_node"}.wrong("0", "a number of tasks",
                                           "give at least 1 or leave it out");
  }
  if (!s.walltime.empty() && !parse_time_limit(s.walltime).ok()) {
    return Key{s, "walltime"}.wrong(s.walltime, "a time limit that Slurm reads",
                                    "write minutes, HH:MM:SS or D-HH:MM:SS");
  }
  return {};
}

Result<void> check_path(const std::filesystem::path& path, std::string_view what) {
  const auto& text = path.native();
  if (!path.is_absolute()) {
    return invalid(fmt::format("the path of {} is not absolute: {}", what, text),
                   "give the full path");
  }
  if (has_control_characters(text)) {
    return invalid(
        fmt::format("the path of {} holds a line break or another control character", what),
        "use another directory name");
  }
  return {};
}

// <store>/logs/slurm-%j.out; a percent sign of the store's own path is doubled. Slurm reads a
// backslash as "no patterns here", so such a path cannot be written.
Result<std::string> log_pattern(const std::filesystem::path& store) {
  std::string pattern;
  for (const char c : store.native()) {
    if (c == '\\') {
      return invalid(
          fmt::format("sbatch cannot write to a path with a backslash: {}", store.native()),
          "put the store into a directory without one");
    }
    pattern += c;
    if (c == '%') pattern += c;
  }
  return pattern + "/logs/slurm-%j.out";
}

void set_if(SbatchOptions& options, std::string name, const std::string& value) {
  if (!value.empty()) options.set(std::move(name), value);
}

// A given option that torc sets itself, or that has a key of its own, would be a second truth.
Result<void> check_given(std::string_view option, std::string_view where, const SlurmScheduler& s) {
  const auto remedy = reserved_for(option);
  if (!remedy.empty()) {
    return invalid(fmt::format("{} may not hold --{}", where, option), remedy);
  }
  if (option == "dependency" && s.serialize_allocations) {
    return invalid(
        fmt::format("{} holds --dependency, but the scheduler '{}' has serialize_allocations",
                    where, s.name),
        "leave out one of the two");
  }
  return {};
}

Result<void> apply_defaults(SbatchOptions& options, const Defaults& defaults,
                            const SlurmScheduler& s) {
  for (const auto& [name, value] : defaults) {
    TORC_TRY(check_given(name, "slurm_defaults", s));
    TORC_ASSIGN(auto option, default_option(name, value));
    if (option) options.set(std::move(option->name), std::move(option->value));
  }
  return {};
}

Result<void> apply_extra(SbatchOptions& options, const SlurmScheduler& s) {
  const auto where = fmt::format("slurm scheduler '{}': extra", s.name);
  TORC_ASSIGN(auto extra, parse_options(s.extra, where));
  for (auto& option : extra) {
    TORC_TRY(check_given(option.name, where, s));
    options.set(std::move(option.name), std::move(option.value));
  }
  return {};
}

void apply_keys(SbatchOptions& options, const SlurmScheduler& s) {
  set_if(options, "account", s.account);
  set_if(options, "partition", s.partition);
  set_if(options, "qos", s.qos);
  set_if(options, "time", s.walltime);
  set_if(options, "mem", s.mem);
  set_if(options, "gres", s.gres);
  set_if(options, "tmp", s.tmp);
  if (s.ntasks_per_node) options.set("ntasks-per-node", std::to_string(*s.ntasks_per_node));
  if (s.serialize_allocations) options.set("dependency", "singleton");
}

// Without a task count of the user's the allocation is made for what runs in it: one worker a node.
void apply_own_defaults(SbatchOptions& options) {
  const auto counts = {"ntasks-per-node", "ntasks", "ntasks-per-socket", "ntasks-per-core"};
  if (std::none_of(counts.begin(), counts.end(),
                   [&](auto name) { return options.contains(name); })) {
    options.set("ntasks-per-node", "1");
  }
  if (!options.contains("no-kill")) options.set("no-kill", {});
}

Result<SbatchOptions> options_of(const ScriptContext& context, const SlurmScheduler& s,
                                 const Defaults& defaults) {
  SbatchOptions options;
  options.set("job-name", context.job_name);
  TORC_ASSIGN(auto log, log_pattern(context.store));
  options.set("output", std::move(log));
  options.set("open-mode", "append");
  options.set("nodes", std::to_string(s.nodes));
  TORC_TRY(apply_defaults(options, defaults, s));
  apply_keys(options, s);
  TORC_TRY(apply_extra(options, s));
  apply_own_defaults(options);
  return options;
}

}  // namespace

std::string shell_quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

Result<std::string> fill_template(
    std::string_view template_text,
    const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out;
  for (;;) {
    const auto open = template_text.find("{{");
    const auto close = open == std::string_view::npos ? open : template_text.find("}}", open);
    if (close == std::string_view::npos) return out.append(template_text);
    const auto name = template_text.substr(open + 2, close - open - 2);
    const auto value = std::find_if(values.begin(), values.end(),
                                    [&](const auto& pair) { return pair.first == name; });
    if (value == values.end()) {
      return invalid(
          fmt::format("the batch script template has the unknown placeholder '{}'", name),
          "see scripts/sbatch-templates for those there are");
    }
    out.append(template_text.substr(0, open)).append(value->second);
    template_text.remove_prefix(close + 2);
  }
}

Result<std::string> render_script(const ScriptContext& context,
                                  const spec::SlurmScheduler& scheduler, const Defaults& defaults) {
  TORC_TRY(check_path(context.store, "the store"));
  TORC_TRY(check_path(context.torc, "torc"));
  if (context.job_name.empty() || has_control_characters(context.job_name)) {
    return invalid("the Slurm job's name is empty or holds control characters",
                   "rename the workflow");
  }
  TORC_TRY(check_keys(scheduler));
  TORC_ASSIGN(const auto options, options_of(context, scheduler, defaults));
  return fill_template(worker_template(), {{"directives", options.directives()},
                                           {"workflow", comment_text(context.workflow)},
                                           {"scheduler_name", comment_text(scheduler.name)},
                                           {"store", shell_quote(context.store.native())},
                                           {"torc", shell_quote(context.torc.native())},
                                           {"scheduler", shell_quote(scheduler.name)}});
}

}  // namespace torc::slurm
