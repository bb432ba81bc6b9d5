// A change that may only be tried.
#pragma once

#include "lib/base/result.h"
#include "lib/store/engine/store.h"

namespace torc::workflow {

// Runs `body` in a transaction; for a dry run in one that is given up.
Result<void> commit_or_try(store::Store& store, bool dry_run, const store::Store::Body& body);

}  // namespace torc::workflow
