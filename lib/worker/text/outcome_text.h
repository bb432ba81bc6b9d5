// How an attempt ended, in words.
#pragma once

#include <string>

#include "lib/claim/rules/job.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::worker {

// "exit code 3", "signal 9 (Killed)", "out of memory (exit code 137)". Of an attempt that could not
// start also what was missing, as far as the outcome tells, and its name: `named` is the command,
// `directory` where it was to run. Of one that did not make an output file `named` is that. Either
// may be empty: not known.
[[nodiscard]] std::string show_outcome(const claim::Outcome& o, const std::string& named = {},
                                       const Path& directory = {});

// ", on rank 2 (n3)": of a job of several nodes that another one than the head has ended. Empty: of
// all others.
[[nodiscard]] std::string show_rank(const claim::Reader& reader, const claim::Outcome& o);
// As a worker's node is called where jobs of several nodes see it.
[[nodiscard]] const std::string& node_of(const claim::WorkerInfo& info);

// The path of the output file that was not made. Empty: there is none, or it is not known.
[[nodiscard]] std::string missing_output(const claim::Reader& reader, workflow::RecipeBook& book,
                                         JobId id, const claim::Outcome& o);

// The same, with show_rank(), for the newest attempt of a job that is in the store: name and
// directory are looked up where they are needed.
[[nodiscard]] std::string show_end(const claim::Reader& reader, workflow::RecipeBook& book,
                                   JobId id, const claim::Outcome& o);

}  // namespace torc::worker
