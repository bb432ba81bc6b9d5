// What was added to a workflow, as its command tells it.
#pragma once

#include "bin/app.h"
#include "lib/workflow/change/addition.h"

namespace torc::cli {

// Prints what became of it, and gives the exit code.
Exit print_added(const App& app, store::Store& store, const workflow::AdditionText& text,
                 const workflow::Added& added, bool dry_run, bool json);

}  // namespace torc::cli
