// The question before completed jobs run again.
#pragma once

#include <cstdint>

#include "bin/app.h"

namespace torc::cli {

// Whether a person is there to answer.
[[nodiscard]] bool can_ask(const App& app);
// The answer, which is no unless it is yes; a no is told. Precondition: can_ask().
[[nodiscard]] bool confirms_redoing(const App& app, std::uint64_t jobs);
// Others go on while the question waits: a yes to `confirmed` results is none to the `now` that
// would be lost by the time it is given.
void say_more_than_confirmed(const App& app, std::uint64_t confirmed, std::uint64_t now);

}  // namespace torc::cli
