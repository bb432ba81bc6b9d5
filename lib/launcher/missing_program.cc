#include "lib/launcher/missing_program.h"

#include "lib/base/text/text.h"

namespace torc::launcher {

bool is_missing_program(const slurm::SbatchOutput& output) {
  constexpr int kCannotExecute = 126;
  constexpr int kNotFound = 127;
  const auto lines = split(trimmed(output.err), '\n');
  return (output.exit_code == kNotFound || output.exit_code == kCannotExecute) &&
         trimmed(output.out).empty() && lines.size() == 1 && lines[0].starts_with("env: ");
}

}  // namespace torc::launcher
