// The question before completed jobs run again.
#pragma once

#include <cstdint>

#include "bin/app.h"

namespace torc::cli {

// Whether a person is there to answer.
[[nodiscard]] bool can_ask(const App& app);
// The answer, which is no unless it is yes. Precondition: can_ask().
[[nodiscard]] bool confirms_redoing(const App& app, std::uint64_t jobs);

}  // namespace torc::cli
