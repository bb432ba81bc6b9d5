// One round: a copy of a store, one mutation, three commands, and a look at what is around it.
#pragma once

#include <string>
#include <vector>

#include "tests/mutation/rules.h"
#include "tests/mutation/store_templates.h"

namespace torc::mutation {

struct Violation {
  std::string rule;
  std::string text;  // with all that is needed to try it by hand
};

struct RoundEnd {
  std::string mutation;  // in words; empty: the choice did not fit this store
  std::size_t commands = 0;
  std::vector<Violation> violations;
};

struct RoundPlace {
  Path program;
  Path directory;             // of this round, made by it and removed
  std::optional<uid_t> user;  // as whom commands run
  bool bytes_of_data_file = true;
  std::string kind;  // of the mutations; empty: any
  Path keep;         // where the mutated store is left, before any command; empty: nowhere
  bool shows_commands = false;
};

[[nodiscard]] RoundEnd run_round(const RoundPlace& place,
                                 const std::vector<StoreTemplate>& templates, std::uint64_t seed);

}  // namespace torc::mutation
