// torc resources --series: how one attempt of a job used memory, processors and files over time.
#pragma once

#include <cstdint>
#include <string>

#include "bin/app.h"

namespace torc::cli {

struct SeriesOptions {
  std::string job;
  std::uint32_t attempt = 0;  // 0: the newest
  bool json = false;
};

// `store`: as on the command line.
Result<Exit> print_series(const App& app, const std::string& store, const SeriesOptions& options);

}  // namespace torc::cli
