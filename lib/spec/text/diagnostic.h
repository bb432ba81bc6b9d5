// What is wrong with a spec and where, all at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torc::spec {

// Line and column from 1; column counts characters (UTF-8 code points). 0: no place.
struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
  std::size_t length = 1;  // characters to underline
};

enum class Severity : std::uint8_t { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string file;
  Place place;
  std::string message;      // the fact: "unknown key 'comand'"
  std::string remedy;       // what to do: "did you mean 'command'?"; may have several lines
  std::string source_line;  // the line of the file, without its end; of a long one what is around
  std::size_t skipped = 0;  // characters of the line before `source_line`
  std::size_t more = 0;     // of the last: errors that were found and left out
  bool blocks_run = false;  // a note that the workflow is sound but more than this version runs
};

// For people, after the manner of compilers:
//   wf.yaml:7:5: error: unknown key 'comand'
//       7 |     comand: echo hi
//         |     ^~~~~~
//         = did you mean 'command'?
[[nodiscard]] std::string to_text(const Diagnostic& d);
[[nodiscard]] std::string to_text(const std::vector<Diagnostic>& all);

// The candidate nearest to `name` by edit distance, when near enough to be a likely slip; else
// empty.
[[nodiscard]] std::string nearest(std::string_view name,
                                  const std::vector<std::string>& candidates);

}  // namespace torc::spec
