// What a check of a filesystem found, in words for a person: the fact, what it means for a store,
// and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace torc::store {

enum class Severity : std::uint8_t {
  note,     // good to know
  warning,  // torc is correct here, but something will be slow, or unsafe for other programs
  unfit     // a store must not be here
};
[[nodiscard]] constexpr std::string_view to_string(Severity severity) {
  return severity == Severity::note ? "note" : severity == Severity::warning ? "warning" : "unfit";
}

struct Finding {
  Severity severity = Severity::note;
  std::string check;   // which check says so: "mount", "locks", "clock", …
  std::string text;    // one sentence, no trailing full stop
  std::string remedy;  // what to do; may be empty
};

}  // namespace torc::store
