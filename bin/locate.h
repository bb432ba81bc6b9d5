// Which store a command means.
#pragma once

#include <memory>
#include <string>

#include "bin/app.h"

namespace torc::cli {

// `named` as given (a workflow file stands for the store that `torc run` makes of it), else
// $TORC_STORE, else the only *.torc of the working directory, or of the nearest one above it that
// has some. Errors: invalid, with the candidates when there are several.
Result<Path> locate_store(const App& app, const std::string& named);

// Whether it is a file that has the ending of one, or is a script: then it stands for a store.
[[nodiscard]] bool is_workflow_file(const Path& path);

// Commands that take "[STORE] NAME": one word is the name.
struct StoreAndName {
  Path store;
  std::string name;
};
Result<StoreAndName> locate_store_and_name(const App& app, const std::vector<std::string>& words);

// Opens the store that locate_store() finds.
Result<std::unique_ptr<store::Store>> open_store(const App& app, const std::string& named);

}  // namespace torc::cli
