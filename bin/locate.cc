#include "bin/locate.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "bin/sharing.h"

namespace torc::cli {
namespace fs = std::filesystem;

namespace {

Result<Path> locate(const App& app, const std::string& named) {
  if (!named.empty()) return (app.directory / named).lexically_normal();
  if (auto from_env = app.env("TORC_STORE"); from_env && !from_env->empty()) {
    return (app.directory / *from_env).lexically_normal();
  }
  std::vector<Path> found;
  std::error_code error;
  for (fs::directory_iterator it(app.directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".torc" && it->is_directory(error)) found.push_back(it->path());
  }
  if (found.size() == 1) return found.front();
  std::sort(found.begin(), found.end());
  if (found.empty()) {
    return Error{ErrorKind::invalid,
                 fmt::format("no store given, and no *.torc in {}", app.directory.string()),
                 "name one, set TORC_STORE, or make one with `torc init workflow.yaml`"};
  }
  std::string names;
  for (const Path& path : found) names += (names.empty() ? "" : ", ") + path.filename().string();
  return Error{ErrorKind::invalid, fmt::format("several stores here: {}", names),
               "name the one you mean, or set TORC_STORE"};
}

}  // namespace

Result<Path> locate_store(const App& app, const std::string& named) {
  TORC_ASSIGN(const Path path, locate(app, named));
  write_for_group_of(app, path);
  return path;
}

Result<StoreAndName> locate_store_and_name(const App& app, const std::vector<std::string>& words) {
  if (words.size() == 2) {
    TORC_ASSIGN(Path path, locate_store(app, words[0]));
    return StoreAndName{path, words[1]};
  }
  TORC_ASSIGN(Path path, locate_store(app, ""));
  return StoreAndName{path, words.empty() ? "" : words[0]};
}

Result<std::unique_ptr<store::Store>> open_store(const App& app, const std::string& named) {
  TORC_ASSIGN(Path path, locate_store(app, named));
  return store::Store::open(app.world, path, store::Tuning{});
}

}  // namespace torc::cli
