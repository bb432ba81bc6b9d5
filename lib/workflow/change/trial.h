// A change that may only be tried.
#pragma once

#include <functional>

#include "lib/base/result.h"
#include "lib/store/engine/store.h"

namespace torc::workflow {

// Runs `body` in a transaction; for a dry run in one that is given up, which writes nothing.
Result<store::Commit> commit_or_try(store::Store& store, bool dry_run,
                                    const store::Store::Body& body);

// How a change is made: by commit_or_try(), and what else belongs to it.
using MakeChange = std::function<Result<void>(const store::Store::Body&)>;

}  // namespace torc::workflow
