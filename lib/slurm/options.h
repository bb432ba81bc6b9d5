// Options of sbatch as #SBATCH lines hold them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"

namespace torc::slurm {

// "02:03:04", "1-02:03:04": as --time takes it.
[[nodiscard]] std::string show_walltime(std::chrono::seconds walltime);

struct SbatchOption {
  std::string name;  // the long one, without dashes; also when the user wrote the short one
  std::optional<std::string> value;  // none: a flag
};

// Options in the order of their first mention, each once: setting one again replaces its value.
class SbatchOptions {
 public:
  void set(std::string name, std::optional<std::string> value);
  [[nodiscard]] bool contains(std::string_view name) const;
  // "#SBATCH --name='value'" lines, joined by newlines.
  [[nodiscard]] std::string directives() const;

 private:
  std::vector<SbatchOption> options_;
};

// The words of "--constraint 'a&b' -x n7 --requeue" as options. Quotes and backslashes work as in a
// shell; nothing is expanded. `where` names the key in errors. Errors: invalid (open quote, stray
// word, unknown short option, control characters, an option without its value).
Result<std::vector<SbatchOption>> parse_options(std::string_view text, std::string_view where);

// One pair of slurm_defaults. "true" and the empty text make a flag of an option that takes none;
// "false" leaves such a flag out (nullopt). Errors: invalid.
Result<std::optional<SbatchOption>> default_option(std::string_view name, std::string_view value);

// Why a user may not give this option, as a remedy ("use the scheduler's key 'nodes'"); empty: he
// may.
[[nodiscard]] std::string reserved_for(std::string_view option);

// `text` as sbatch reads a value in a #SBATCH line: there a backslash escapes also within single
// quotes. Precondition: no control characters.
[[nodiscard]] std::string directive_quote(std::string_view text);

[[nodiscard]] bool has_control_characters(std::string_view text);

}  // namespace torc::slurm
