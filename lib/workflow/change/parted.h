// Two texts that differ somewhere, as a message can hold them: commands may be long.
#pragma once

#include <string>
#include <string_view>

namespace torc::workflow {

// Printable, from a little before where they part, cut where they are long.
struct Parted {
  std::string before;
  std::string now;
};
[[nodiscard]] Parted where_they_part(std::string_view before, std::string_view now);
// The beginning of one.
[[nodiscard]] std::string beginning_of(std::string_view text);

}  // namespace torc::workflow
