// Whole stores of `torc exec`, below the .torc-exec of a directory.
#pragma once

#include <functional>
#include <string_view>

#include "lib/clean/clean_store.h"

namespace torc::clean {

// A store that is being removed, until the last of it has gone: nobody takes it for one, and what
// is left of it after a crash goes with the next `torc clean --exec`.
inline constexpr std::string_view kRemoving = ".removing";

// Removes, or only counts, those of `directory` whose jobs have all ended before `before`. A store
// that cannot be read, has an unfinished job or a worker, is not of this user, or holds what torc
// did not put there stays. `is_trusted`: an Error for one that is not to be opened. Error: the
// directory is there and cannot be listed.
Result<Cleaned> clean_exec_stores(const workflow::Context& context, const Path& directory,
                                  WallTime before, Act act,
                                  const std::function<Result<void>(const Path&)>& is_trusted);

}  // namespace torc::clean
