// What `torc run` says at its end.
#pragma once

#include <optional>
#include <string>

#include "bin/app.h"
#include "bin/commands/run/chosen.h"
#include "lib/worker/machine/summary.h"

namespace torc::cli {

struct RunEnd {
  const worker::WorkerSummary& summary;
  const Path& store;
  WallTime took{};                          // a length of time
  bool was_over = false;                    // from the beginning
  ChosenJobs chosen = nullptr;              // where it was some jobs alone
  std::optional<ChosenCounts> counts = {};  // of these
  std::string again;                        // the command that goes on
};

void print_json(const App& app, const RunEnd& end);
void print_summary(const App& app, const RunEnd& end);

}  // namespace torc::cli
