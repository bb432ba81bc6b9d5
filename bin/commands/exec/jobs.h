// From the command line of torc exec to jobs: the workflow as the language would have it, checked
// and expanded by lib/spec. Values become those of parameters of one entry; no text is pasted
// together that a value could break.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bin/app.h"
#include "bin/commands/exec/options.h"
#include "bin/commands/exec/replace.h"
#include "bin/commands/exec/values.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// The environment variable in which jobs find their value as it is; where they have several all of
// them with blanks between, and each in TORC_VALUE_1, ….
inline constexpr std::string_view kValueVariable = "TORC_VALUE";

// Commands for combinations of parameters: all jobs at once. Nothing is wrong with the flags when
// it has an expansion; else its diagnostics say what. Error: a flag that is none.
Result<workflow::LoadedSpec> exec_commands_spec(const App& app, const ExecOptions& options,
                                                const std::vector<std::string>& commands);

// Jobs of values for the commands of the options; where these name none, each is a command.
class ExecValueJobs {
 public:
  // Fails as exec_commands_spec() does; the diagnostics are in header().
  static Result<ExecValueJobs> make(const App& app, const ExecOptions& options);
  [[nodiscard]] const workflow::LoadedSpec& header() const { return header_; }

  // The jobs of the next values, numbered from 1 within them, named after their numbers among all.
  workflow::LoadedSpec jobs_of(const std::vector<ExecValues>& jobs);
  // Whether a command asks for TORC_JOB_SLOT.
  [[nodiscard]] bool have_slots() const { return have_slots_; }

 private:
  ExecValueJobs() = default;
  [[nodiscard]] spec::JobEntry entry(const spec::JobEntry& of, const std::vector<ExecValues>& jobs,
                                     std::size_t first, std::size_t count) const;
  void add_environment(spec::JobEntry& entry, const std::vector<ExecValues>& jobs,
                       std::size_t first, std::size_t count) const;

  workflow::LoadedSpec header_;
  std::vector<ExecColumn> columns_;  // of all commands
  std::size_t width_ = 0;            // values of each job; 0: it differs
  bool values_are_commands_ = false;
  bool have_slots_ = false;
  std::uint64_t jobs_before_ = 0;
};

}  // namespace torc::cli
