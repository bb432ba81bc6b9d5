// From the command line of torc exec to jobs: the workflow as the language would have it, checked
// and expanded by lib/spec. Lines become the values of parameters of one entry; no text is pasted
// together that a value could break.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bin/app.h"
#include "bin/commands/exec/options.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// The environment variable in which jobs find their value as it is.
inline constexpr std::string_view kValueVariable = "TORC_VALUE";

// One word of a shell command that means `value`, quoted only where it has to be: for any shell.
[[nodiscard]] std::string exec_word(std::string_view value);

// Commands for combinations of parameters: all jobs at once. Nothing is wrong with the flags when
// it has an expansion; else its diagnostics say what. Error: a flag that is none.
Result<workflow::LoadedSpec> exec_commands_spec(const App& app, const ExecOptions& options,
                                                const std::vector<std::string>& commands);

// Jobs of lines: either each is a value for the commands of the options, or, where these name
// none, a command.
class ExecLineJobs {
 public:
  // Fails as exec_commands_spec() does; the diagnostics are in header().
  static Result<ExecLineJobs> make(const App& app, const ExecOptions& options);
  [[nodiscard]] const workflow::LoadedSpec& header() const { return header_; }

  // The jobs of the next lines, numbered from 1 within them, named after their numbers among all.
  workflow::LoadedSpec jobs_of(const std::vector<std::string>& lines);

 private:
  ExecLineJobs() = default;
  [[nodiscard]] spec::JobEntry entry(const spec::JobEntry& of,
                                     const std::vector<std::string>& lines, std::size_t first,
                                     std::size_t count) const;

  workflow::LoadedSpec header_;
  bool lines_are_commands_ = false;
  std::uint64_t lines_before_ = 0;
};

}  // namespace torc::cli
