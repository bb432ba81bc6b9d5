// torc new on a terminal: a few questions, and the file that follows from the answers.
#pragma once

#include <optional>
#include <string>

#include "bin/app.h"
#include "bin/commands/prepare/starters.h"

namespace torc::cli {

struct Wish {
  const Starter* starter = nullptr;
  StarterValues values;
  std::string file;  // as the person named it
};

// Asks until each answer is one; Enter takes what stands in brackets. nullopt: the input has ended
// before. `is_there`: whether a file of that name is there, which is not written over.
// Precondition: can_ask() (bin/commands/change/confirm.h).
[[nodiscard]] std::optional<Wish> ask_for_starter(const App& app,
                                                  bool (*is_there)(const App& app,
                                                                   const std::string& file));

}  // namespace torc::cli
