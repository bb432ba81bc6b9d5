// {}, {2.}, {#} and the like in a command, as GNU parallel has them, and what they become: a
// pattern of the language with parameters of our own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bin/commands/exec/values.h"
#include "lib/base/result.h"

namespace torc::cli {

// The parameter with the number of the job.
inline constexpr std::string_view kNumberParameter = "torc_number";

// One word of a shell command that means `value`, quoted only where it has to be: for any shell.
[[nodiscard]] std::string exec_word(std::string_view value);

// A parameter: a part of one value of a job, or of all of them.
struct ExecColumn {
  std::string parameter;
  int position = 0;  // from 1, or from -1, the last one; 0: all, with blanks between
  std::string (*part)(std::string_view value) = nullptr;

  // Words of a shell command; nothing where the job has no such value.
  [[nodiscard]] std::string text_of(const ExecValues& values) const;
};

struct ReplaceStyle {
  std::string all;        // what stands for all values: "{}"
  std::size_t width = 0;  // values of each job; 0: it differs
};

struct ExecPattern {
  std::string text;
  std::vector<ExecColumn> columns;  // each once
  bool has_slot = false;            // {%}
};

// A command with no place for a value gets all of them at its end. Error (invalid): it names what
// there is not.
Result<ExecPattern> pattern_of(std::string_view command, const ReplaceStyle& style);

// The word as one of a shell, but for its places, which stay.
[[nodiscard]] std::string quoted_but_places(std::string_view word, const ReplaceStyle& style);

// Whether the command has a place for a value, or for the number of its job.
[[nodiscard]] bool has_place(std::string_view command, const ReplaceStyle& style);

}  // namespace torc::cli
