// Whole stores of `torc exec`, below the .torc-exec of a directory.
#pragma once

#include <functional>
#include <string_view>

#include "lib/clean/clean_store.h"

namespace torc::clean {

// Stores that are being removed lie in a directory of this name and the number of their user, who
// alone can put one there, until the last of them has gone: nobody takes it for a store, and what
// is left of them after a crash goes with the next `torc clean --exec`.
inline constexpr std::string_view kRemoving = ".removing-";

// Removes, or only counts, those of `directory` whose jobs have all ended before `before`. A store
// that cannot be read, has an unfinished job or a worker, is not of this user, or holds what torc
// did not put there stays. `is_trusted`: an Error for one that is not to be opened. Error: the
// directory is there and cannot be listed.
Result<Cleaned> clean_exec_stores(const workflow::Context& context, const Path& directory,
                                  WallTime before, Act act,
                                  const std::function<Result<void>(const Path&)>& is_trusted);

}  // namespace torc::clean
