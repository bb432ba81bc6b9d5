// `torc clean` of one store, and of a whole finished one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/clean/removal.h"
#include "lib/clean/rules.h"
#include "lib/workflow/context/context.h"

namespace torc::clean {

struct Cleaned {
  Freed output;       // of attempts, in files of their own
  Freed packed;       // output of many attempts in one file
  Freed directories;  // what was in directories of attempts
  std::uint64_t directory_count = 0;
  Freed logs;    // of workers
  Freed stores;  // what was in whole stores
  std::uint64_t store_count = 0;
  std::vector<Error> left;  // what should go and could not, or could not be looked at
  [[nodiscard]] Freed total() const;
};

// Removes, or only counts, what `wishes` let go below the store. Error: the store cannot be read;
// nothing was removed then, or no more of it.
Result<Cleaned> clean_store(const workflow::Context& context, store::Store& store,
                            const Wishes& wishes, Act act);

}  // namespace torc::clean
