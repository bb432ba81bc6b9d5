#include "lib/workflow/plan/kept_launcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/base/text/quote.h"
#include "lib/claim/queries/allocations.h"
#include "lib/store/disk/disk.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::workflow {
namespace {

bool is_file(const std::string& launcher) {
  return launcher.find('/') != std::string::npos || launcher.ends_with(".yaml") ||
         launcher.ends_with(".yml");
}

}  // namespace

std::string find_definition(const Context& context, const spec::Workflow& workflow,
                            const Path& directory, spec::Report& report,
                            std::vector<spec::Diagnostic>& of_definition) {
  const std::string& name = workflow.launcher;
  if (name.empty()) return {};
  if (!is_file(name)) {
    std::string text(launcher::built_in_definition(name));
    if (!text.empty()) return text;
    const auto& all = launcher::built_in_launchers();
    std::vector<std::string> names(all.begin(), all.end());
    names.emplace_back("slurm");
    const std::string near = spec::nearest(name, names);
    report.error(workflow.launcher_place,
                 fmt::format("there is no launcher {}", torc::quoted(name)),
                 fmt::format("{}there are {}; a file is named with its directory: ./{}.yaml",
                             near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                             fmt::join(names, ", "), printable(name)));
    return {};
  }
  auto text = read_value_file(context, directory, name);
  if (!text) {
    report.error(
        workflow.launcher_place,
        fmt::format("the launcher {} cannot be read: {}", torc::quoted(name), text.error().what),
        "name a file that describes one, from the directory of the workflow file");
    return {};
  }
  const spec::Source source(*text, name);
  spec::Report mistakes(source);
  const bool is_good = launcher::read_definition(source, mistakes).has_value();
  for (auto& one : std::move(mistakes).sorted()) of_definition.push_back(std::move(one));
  if (is_good) return *std::move(text);
  report.error(workflow.launcher_place,
               fmt::format("the launcher {} has mistakes", torc::quoted(name)),
               "fix them; they are listed for that file");
  return {};
}

Result<launcher::Definition> parse_definition(std::string_view text, const std::string& file) {
  const spec::Source source(text, file);
  spec::Report report(source);
  auto definition = launcher::read_definition(source, report);
  if (definition) return *std::move(definition);
  const auto all = std::move(report).sorted();
  const spec::Diagnostic first = all.empty() ? spec::Diagnostic() : all.front();
  return invalid(fmt::format("{}, line {}: {}", file, first.place.line, first.message),
                 first.remedy);
}

bool is_of_launcher(const claim::Scheduler& scheduler) {
  return Path(scheduler.script).parent_path() == kLauncherFolder;
}

Result<std::optional<launcher::Definition>> kept_definition(const Context& context,
                                                            store::Store& store) {
  std::vector<claim::Scheduler> schedulers;
  TORC_TRY(store.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(schedulers, claim::read_schedulers(reader));
    return {};
  }));
  if (std::ranges::none_of(schedulers, is_of_launcher))
    return std::optional<launcher::Definition>();
  const Path file = store.directory() / kDefinitionFile;
  auto text = store::read_file(context.world.disk, file);
  if (!text) {
    Error error = std::move(text).error();
    error.what =
        fmt::format("the definition of the workflow's batch system cannot be read: {}", error.what);
    error.remedy = fmt::format(
        "put it back from a backup of the store, or from the file that the "
        "workflow file names: {}",
        file.string());
    return error;
  }
  TORC_ASSIGN(launcher::Definition definition, parse_definition(*text, file.string()));
  return std::optional(std::move(definition));
}

bool is_for_lookers(const Context& context, const store::Store& store,
                    const launcher::Definition& definition) {
  struct stat about {};
  const Path folder = store.directory() / kLauncherFolder;
  const bool is_theirs = ::lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
                         (about.st_mode & S_IWOTH) == 0 &&
                         (about.st_uid == context.world.uid || about.st_uid == 0);
  if (is_theirs) return true;
  const auto text = store::read_file(context.world.disk, store.directory() / kDefinitionFile);
  return text.ok() && *text == launcher::built_in_definition(definition.launcher);
}

}  // namespace torc::workflow
