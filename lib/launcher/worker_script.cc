#include "lib/launcher/worker_script.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/text/quote.h"
#include "lib/slurm/options.h"
#include "lib/slurm/script.h"

namespace torc::launcher {

namespace {

std::string walltime_option(std::string text, std::chrono::seconds walltime) {
  const auto minutes = std::chrono::ceil<std::chrono::minutes>(walltime).count();
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::int64_t>("{seconds}", walltime.count()),
        {"{minutes}", minutes}}) {
    const auto at = text.find(name);
    if (at != std::string::npos) text.replace(at, name.size(), std::to_string(value));
  }
  return text;
}

}  // namespace

Result<std::string> render_worker_script(const Definition& d, const WorkerScript& script) {
  for (const auto& [path, what] : {std::pair(&script.store, "the store"), {&script.torc, "torc"}}) {
    if (!path->is_absolute() || slurm::has_control_characters(path->native()))
      return invalid(fmt::format("the path of {} is not absolute or holds control characters: {}",
                                 what, torc::quoted(path->native())),
                     "give the full path of a plain name");
  }
  std::string directives;
  std::vector<std::string> options = d.options;
  if (script.walltime && !d.walltime.empty())
    options.push_back(walltime_option(d.walltime, *script.walltime));
  options.insert(options.end(), script.options.begin(), script.options.end());
  for (const std::string& option : options) {
    if (slurm::has_control_characters(option))
      return invalid(fmt::format("the option {} holds control characters", torc::quoted(option)),
                     "write it on one line");
    directives += (directives.empty() ? "" : "\n") + d.directive + " " + option;
  }
  if (directives.empty()) directives = "#";
  std::string flags;
  if (!script.scheduler.empty()) flags += " --scheduler=" + shell_quote(script.scheduler);
  if (script.walltime) flags += fmt::format(" --time-limit={}s", script.walltime->count());
  for (const std::string& flag : script.flags) flags += " " + shell_word(flag);
  const bool has_cpus = std::ranges::any_of(
      script.flags, [](const std::string& flag) { return flag.starts_with("--num-cpus"); });
  std::string name = script.store.filename().string();
  std::ranges::replace_if(
      name,
      [](char c) {
        return slurm::has_control_characters({&c, 1});
      },
      '?');
  return slurm::fill_template(
      {"the built-in template", std::string(worker_template())},
      {{"directives", directives},
       {"launcher", d.launcher},
       {"store_name", name},
       {"store", shell_quote(script.store.native())},
       {"logs", shell_quote((script.store / "logs").native())},
       {"torc", shell_quote(script.torc.native())},
       {"id", d.id_variable},
       {"cpus", has_cpus || d.cpus_variable.empty() ? "''" : d.cpus_variable},
       {"flags", flags}});
}

}  // namespace torc::launcher
