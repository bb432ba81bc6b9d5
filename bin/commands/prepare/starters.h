// Workflow files to start from, with comments.
#pragma once

#include <span>
#include <string_view>

namespace torc::cli {

struct Starter {
  std::string_view kind;
  std::string_view about;  // one line
  std::string_view text;   // the file
};

[[nodiscard]] std::span<const Starter> starters();

}  // namespace torc::cli
