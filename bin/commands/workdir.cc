#include "bin/commands/workdir.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "bin/waiting_disk.h"
#include "lib/base/dead_mount.h"
#include "lib/base/text/quote.h"

namespace torc::cli {

Flag add_workdir(Command& c, std::string& given, const std::string& help) {
  return c.option("--workdir", given, help).value("DIR");
}

Result<Path> named_workdir(const App& app, const std::string& given) {
  if (given.empty()) return Path();
  const Path named = (app.directory / given).lexically_normal();
  std::error_code error;
  Path real = std::filesystem::canonical(named, error);
  if (is_of_dead_mount(error.value()))
    return os_error(error.value(), "cannot look at " + named.string(),
                    "mount its filesystem anew, then try again");
  if (error || !std::filesystem::is_directory(real, error)) {
    return invalid(fmt::format("--workdir {} is not a directory", shell_word(given)),
                   "name a directory that exists");
  }
  return real;
}

Result<workflow::LoadedSpec> load_spec_for(const App& app, const std::string& file,
                                           const Path& workdir) {
  if (workdir.empty()) return workflow::load_spec(app, file);
  workflow::Context there = static_cast<const workflow::Context&>(app);
  there.directory = workdir;
  TORC_ASSIGN(workflow::LoadedSpec loaded,
              workflow::load_spec(there, (app.directory / file).lexically_normal().string()));
  loaded.file = file;
  return loaded;
}

Result<Path> workdir_of(const App& app, const std::string& given,
                        const workflow::WorkflowSettings& settings, const Path& store) {
  if (!given.empty()) return named_workdir(app, given);
  std::optional<WaitingDisk::Asking> asking;
  if (WaitingDisk* disk = waiting_disk(app)) asking.emplace(*disk, settings.directory.path);
  return workflow::find_working_directory(settings.directory, store);
}

}  // namespace torc::cli
