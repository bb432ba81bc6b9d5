// The commit files that are still there, for people who ask what happened.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "lib/store/engine/store.h"

namespace torc::store {

struct ChainExtent {
  std::uint64_t first = 0;  // number of the oldest commit file; 0: there is none
  std::uint64_t last = 0;
  std::vector<Path> unreadable;  // damaged: passed over
  bool without_gap = true;       // between first and last
};

// Visits the commits in the order of their numbers: number, author, write set. What was collected
// meanwhile is passed over. Engine lmdb keeps none. Errors: those of `visit`, and of the
// filesystem.
Result<ChainExtent> read_chain(
    const World& world, const Path& directory,
    const std::function<Result<void>(std::uint64_t, std::uint64_t, std::string_view)>& visit);

}  // namespace torc::store
