// The beginning of a script: its interpreter, and the comment lines that say something of its job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/text/source.h"

namespace torc::spec {

// Bytes [begin, begin + bytes) of the script.
struct ScriptText {
  std::string text;  // without quotes
  std::size_t begin = 0;
  std::size_t bytes = 0;
};

enum class Directive : std::uint8_t { torc, sbatch };

// A line `#TORC …` or `#SBATCH …`.
struct ScriptLine {
  Directive directive = Directive::torc;
  std::vector<ScriptText> words;
};

struct ScriptHead {
  ScriptText interpreter;  // with an empty text: it has none, which was reported
  std::string argument;    // all that follows it, as one word, as the kernel hands it over
  std::vector<ScriptLine> lines;
};

// Lines count up to the first that is neither empty nor a comment, as in Slurm. Reports what stands
// there and does not count: lines behind the first command, lines of other batch systems, what is
// no UTF-8 or has control characters, quotes that are not closed. Whatever follows the head may be
// anything. Linear in the length of the text. Precondition: is_script().
[[nodiscard]] ScriptHead read_script_head(const Source& source, Report& report);

}  // namespace torc::spec
