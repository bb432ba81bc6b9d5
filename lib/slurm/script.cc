#include "lib/slurm/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/slurm/options.h"
#include "lib/slurm/refusals.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::slurm {
namespace {

using spec::SlurmScheduler;

// A name within a comment of the script: nothing can end the line.
std::string comment_text(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return has_control_characters(std::string_view(&c, 1)); }, '?');
  return out;
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

// <store>/logs/`name`; a percent sign of the store's own path is doubled. Slurm reads a backslash
// as "no patterns here", so such a path cannot be written.
Result<std::string> log_pattern(const std::filesystem::path& store, std::string_view name) {
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
  return pattern.append("/logs/").append(name);
}

Result<void> apply(SbatchOptions& options, std::vector<SbatchOption> given,
                   const std::vector<Refusal>& refusals) {
  if (!refusals.empty()) return refusals.front().error;
  for (SbatchOption& option : given) options.set(std::move(option.name), std::move(option.value));
  return {};
}

void apply_keys(SbatchOptions& options, const SlurmScheduler& s) {
  for (const auto& [name, value] :
       {std::pair("account", &s.account), std::pair("partition", &s.partition),
        std::pair("qos", &s.qos), std::pair("time", &s.walltime), std::pair("mem", &s.mem),
        std::pair("gres", &s.gres), std::pair("tmp", &s.tmp)}) {
    if (!value->empty()) options.set(name, *value);
  }
  if (s.ntasks_per_node) options.set("ntasks-per-node", std::to_string(*s.ntasks_per_node));
  if (s.serialize_allocations) options.set("dependency", "singleton");
}

// Without a task count of the user's the allocation is made for what runs in it: one worker a node.
void apply_own_defaults(SbatchOptions& options) {
  const auto counts = {"ntasks-per-node", "ntasks", "ntasks-per-socket", "ntasks-per-core"};
  if (std::ranges::none_of(counts, [&](auto name) { return options.contains(name); })) {
    options.set("ntasks-per-node", "1");
  }
  if (!options.contains("no-kill")) options.set("no-kill", {});
}

Result<SbatchOptions> options_of(const ScriptContext& context, const SlurmScheduler& s,
                                 const Defaults& defaults) {
  SbatchOptions options;
  options.set("job-name", context.job_name);
  TORC_ASSIGN(auto log, log_pattern(context.store, "slurm-%j.out"));
  options.set("output", std::move(log));
  options.set("open-mode", "append");
  options.set("nodes", std::to_string(s.nodes));
  std::vector<SbatchOption> given;
  const auto of_defaults = refusals_of_defaults(s, defaults, &given);
  TORC_TRY(apply(options, std::exchange(given, {}), of_defaults));
  apply_keys(options, s);
  const auto of_extra = refusals_of_extra(s, &given);
  TORC_TRY(apply(options, std::move(given), of_extra));
  apply_own_defaults(options);
  return options;
}

using Values = std::vector<std::pair<std::string_view, std::string>>;

Error unknown_placeholder(const ScriptTemplate& from, std::size_t at, std::string_view name,
                          const Values& values) {
  std::vector<std::string> names;
  std::string known;
  for (const auto& [one, value] : values) {
    names.emplace_back(one);
    known += fmt::format("{}{{{{{}}}}}", known.empty() ? "" : ", ", one);
  }
  const auto line =
      std::count(from.text.begin(), from.text.begin() + static_cast<long>(at), '\n') + 1;
  const std::string near = spec::nearest(name, names);
  return invalid(
      fmt::format("{}, line {}: '{}' is not a placeholder of batch scripts", printable(from.name),
                  line, printable(fmt::format("{{{{{}}}}}", name))),
      fmt::format("{}there are {}",
                  near.empty() ? "" : fmt::format("did you mean {{{{{}}}}}? ", near), known));
}

// What sbatch would refuse later, or run without what the workflow asks for.
Result<void> check_template(const ScriptTemplate& from) {
  if (!from.text.starts_with("#!")) {
    return invalid(fmt::format("{} is not a batch script: its first line does not begin with '#!'",
                               printable(from.name)),
                   "begin it with #!/bin/bash");
  }
  if (from.text.find('\0') != std::string::npos)
    return invalid(fmt::format("{} holds a NUL byte", printable(from.name)), "a template is text");
  if (from.text.find("{{directives}}") == std::string::npos) {
    return invalid(
        fmt::format("{} has no {{{{directives}}}}: what the workflow asks of Slurm would "
                    "be dropped",
                    printable(from.name)),
        "put {{directives}} on a line of its own below the first");
  }
  return {};
}

// `list` makes srun print what there is, and start nothing.
Result<void> check_mpi(const std::string& mpi) {
  const bool is_name = !mpi.empty() && std::ranges::all_of(mpi, [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.';
  });
  if (is_name && mpi != "list") return {};
  return invalid(fmt::format("srun_mpi {} is not a kind of MPI", printable(mpi)),
                 "write what `srun --mpi=list` names: none, pmi2, pmix");
}

// Of a walltime as sbatch takes it; empty: none, or no limit.
std::string seconds_of(const std::string& walltime) {
  if (walltime.empty()) return {};
  const auto limit = parse_walltime(walltime);
  return limit.ok() && *limit ? std::to_string((*limit)->count()) : std::string();
}

}  // namespace

Result<std::string> fill_template(const ScriptTemplate& from, const Values& values) {
  const std::string_view text = from.text;
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t open = text.find("{{", at);
    if (open == std::string_view::npos) return out.append(text.substr(at));
    out.append(text.substr(at, open - at));
    const std::size_t end = std::min(text.find('\n', open), text.size());
    const std::size_t close = text.substr(0, end).find("}}", open);
    if (close == std::string_view::npos) {
      out.append(text.substr(open, end - open));
      at = end;
      continue;
    }
    const auto name = text.substr(open + 2, close - open - 2);
    const auto value = std::ranges::find(values, name, &Values::value_type::first);
    if (value == values.end()) return unknown_placeholder(from, open, name, values);
    out.append(value->second);
    at = close + 2;
  }
}

Result<std::string> render_script(const ScriptContext& context,
                                  const spec::SlurmScheduler& scheduler, const Defaults& defaults) {
  TORC_TRY(check_template(context.from));
  TORC_TRY(check_path(context.store, "the store"));
  TORC_TRY(check_path(context.torc, "torc"));
  if (context.job_name.empty() || has_control_characters(context.job_name)) {
    return invalid("the Slurm job's name is empty or holds control characters",
                   "rename the workflow");
  }
  const std::string mpi = context.mpi.empty() ? "none" : context.mpi;
  TORC_TRY(check_mpi(mpi));
  TORC_ASSIGN(const auto options, options_of(context, scheduler, defaults));
  TORC_ASSIGN(const auto worker_log, log_pattern(context.store, "slurm-%j.%N.out"));
  return fill_template(
      context.from,
      {{"directives", options.directives()},
       {"workflow", comment_text(context.workflow)},
       {"scheduler_name", comment_text(scheduler.name)},
       {"store", shell_quote(context.store.native())},
       {"torc", shell_quote(context.torc.native())},
       {"scheduler", shell_quote(scheduler.name)},
       {"mpi", mpi},
       {"supervise_flags",
        context.collects ? " --collect=" + shell_quote(context.store.native()) : std::string()},
       {"worker_log", shell_quote(worker_log)},
       {"walltime_seconds", seconds_of(scheduler.walltime)}});
}

}  // namespace torc::slurm
