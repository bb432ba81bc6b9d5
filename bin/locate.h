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

// ".yaml" and the others, whether there is such a file or not.
[[nodiscard]] bool has_workflow_ending(const Path& path);

// That a store may be at the place of that of the workflow file `file`, as it was named. Error
// not_found: nothing is there, with what makes one.
Result<void> check_has_store(const App& app, const std::string& file, const Path& store);

// Two files with one name would take the store from each other: error exists, when the file that
// the store was made of is there too, and `file`, as it was named, is another one.
Result<void> refuse_other_file(const App& app, store::Store& store, const std::string& file);

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
