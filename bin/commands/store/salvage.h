// torc repair --salvage: what can be read of a damaged store of engine lmdb, put into a new
// directory. That is a store only if not one record is missing and the records fit together; else
// it is a list of jobs and one of records, which nothing can be run from.
#pragma once

#include <string>

#include "bin/app.h"

namespace torc::cli {

struct SalvageOptions {
  std::string target;  // a directory to be made
  bool force = false;  // although workers are registered as alive
  bool json = false;
};

// Changes nothing in `store`.
Result<Exit> run_salvage(const App& app, const Path& store, const SalvageOptions& options);

}  // namespace torc::cli
