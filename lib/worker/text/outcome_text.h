// How an attempt ended, in words.
#pragma once

#include <string>

#include "lib/claim/rules/job.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::worker {

// "exit code 3", "signal 9 (Killed)", "out of memory (exit code 137)". Of an attempt that could not
// start also what was missing, as far as the outcome tells, and its name: `line` is the command,
// `directory` where it was to run. Either may be empty: not known.
[[nodiscard]] std::string show_outcome(const claim::Outcome& o, const std::string& line = {},
                                       const Path& directory = {});

// The same for the newest attempt of a job that is in the store: name and directory are looked up
// where they are needed.
[[nodiscard]] std::string show_end(const claim::Reader& reader, workflow::RecipeBook& book,
                                   JobId id, const claim::Outcome& o);

}  // namespace torc::worker
