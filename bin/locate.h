// Which store a command means.
#pragma once

#include <memory>
#include <string>

#include "bin/app.h"

namespace torc::cli {

// `named` as given, else $TORC_STORE, else the only *.torc of the working directory. Errors:
// invalid, with the candidates when there are several.
Result<Path> locate_store(const App& app, const std::string& named);

// Commands that take "[STORE] NAME": one word is the name.
struct StoreAndName {
  Path store;
  std::string name;
};
Result<StoreAndName> locate_store_and_name(const App& app, const std::vector<std::string>& words);

// Opens the store that locate_store() finds.
Result<std::unique_ptr<store::Store>> open_store(const App& app, const std::string& named);

}  // namespace torc::cli
