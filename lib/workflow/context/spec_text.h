// The bytes of a workflow file, wherever they come from.
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/workflow/context/context.h"

namespace torc::workflow {

// Stands for standard input.
inline constexpr const char* kStdin = "-";

// Also of pipes and the like, which have no size and no positions. Error: not_found, or invalid for
// what is longer than a workflow file may be.
[[nodiscard]] Result<std::string> read_spec_text(const Context& context, const Path& path);
// What a user is told who has named the file: as invalid input. `remedy`: where there is none.
[[nodiscard]] Error unreadable(Error error, const std::string& file, std::string remedy);
// To its end.
[[nodiscard]] Result<std::string> read_spec_stream(std::FILE* stream);

}  // namespace torc::workflow
