// Makes this machine the one that may open a store of engine `lmdb`: after its disk was moved, or
// it was copied, or where no machine id tells.
#pragma once

#include <functional>

#include "lib/store/engine/store.h"
#include "lib/store/lmdb/environment.h"

namespace torc::store {

enum class Adoption : std::uint8_t {
  adopted,
  not_needed,  // it is this machine's already
  of_all       // engine journal: any host may open it
};

// `nobody_works` is run on the state before anything is changed; its Error refuses and is returned.
// It may take long: all the time nobody of this machine has the store open, nor can open it, and
// when anybody else has committed meanwhile the answer is busy. Errors: busy (a process has it
// open; waits at most `patience` for those that are just opening it), and those of open().
Result<Adoption> adopt(const World& world, const Path& directory,
                       const std::function<Result<void>(const Reader&)>& nobody_works,
                       std::chrono::nanoseconds patience = kOpenPatience);

}  // namespace torc::store
