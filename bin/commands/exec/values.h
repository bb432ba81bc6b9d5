// The values of jobs, one job after the other, without holding all of them: every combination of
// the values of several sources, of which those of the first are read as they are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bin/app.h"
#include "bin/commands/exec/lines.h"
#include "bin/commands/exec/options.h"

namespace re2 {
class RE2;
}

namespace torc::cli {

// Of one job, in the order of their sources.
using ExecValues = std::vector<std::string>;

class ExecValueReader {
 public:
  // Reads all of the sources behind the first, and those that are not linked with it. Errors
  // (invalid): a file cannot be read, a line cannot be a value, --colsep is no expression.
  static Result<ExecValueReader> open(const App& app, const ExecOptions& options);
  ExecValueReader(ExecValueReader&&) noexcept;
  ExecValueReader& operator=(ExecValueReader&&) noexcept;
  ~ExecValueReader();

  // False: there are no more jobs. The last one of the first varies slowest.
  Result<bool> next(ExecValues& values);

 private:
  // Sources of which the first values go together, and the second ones.
  using Linked = std::vector<ExecLines>;

  ExecValueReader();
  Result<bool> read(Linked& sources, ExecValues& values);
  Result<bool> combine(ExecValues& values);
  void split(std::string line, ExecValues& values) const;

  char separator_ = '\n';
  std::unique_ptr<re2::RE2> columns_;  // null: a line is one value
  std::uint64_t at_once_ = 1;          // combinations for one job
  Linked first_;
  ExecValues of_first_;
  std::vector<std::vector<ExecValues>> others_;
  std::vector<std::size_t> at_;  // of each of the others
  bool first_is_used_up_ = true;
};

// Values of each job; 0: it differs.
[[nodiscard]] std::size_t width_of(const ExecOptions& options);

}  // namespace torc::cli
