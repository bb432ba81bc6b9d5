// torc status --at: how far the workflow was at an earlier time.
#pragma once

#include <string>

#include "bin/app.h"
#include "lib/store/engine/store.h"

namespace torc::cli {

// `when`: a time as parse_moment() takes it, or the number of a commit.
Result<Exit> status_at(const App& app, store::Store& store, const std::string& when, bool json);

}  // namespace torc::cli
