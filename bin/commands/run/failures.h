// The failed jobs that `torc run` names at its end, with the first lines that each printed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bin/app.h"
#include "bin/commands/run/chosen.h"
#include "lib/claim/rules/workflow_state.h"

namespace torc::cli {

struct ShownFailure {
  std::string name;
  std::string how;                 // it ended, in words
  std::vector<std::string> lines;  // of its standard error, of its output where that is empty
  bool has_more = false;           // of them
  bool is_stderr = true;
};
struct ShownFailures {
  std::vector<ShownFailure> first;  // in the order of their numbers
  std::uint64_t jobs = 0;           // with those that were left out
};

// What a person reads is told as far as it can be: nothing of a store that cannot be opened, no
// lines of output that cannot be read. `workflow`: as it was last seen; where nothing had failed
// the store is not opened again. `chosen`: of these jobs alone; null: of all.
[[nodiscard]] ShownFailures first_failures(const App& app, const Path& store,
                                           const claim::WorkflowState& workflow,
                                           const ChosenJobs& chosen = nullptr);
// `shown`: the store, as commands take it. `again`: the command that goes on.
void print(std::FILE* to, const ShownFailures& failures, const std::string& shown,
           const std::string& again);
[[nodiscard]] nlohmann::ordered_json to_json(const ShownFailures& failures);

}  // namespace torc::cli
