#include "lib/workflow/plan/command_runner.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/exec/start/run_program.h"

namespace torc::workflow {
namespace {

std::string_view name_in(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

}  // namespace

slurm::RunCommand command_runner(const Context& context) {
  std::vector<std::string> all;
  for (char** entry = context.environment; entry != nullptr && *entry != nullptr; ++entry)
    all.emplace_back(*entry);
  std::vector<std::string> users;
  for (const auto& entry : all) {
    if (slurm::passes_to_batch_system(entry, all)) users.push_back(entry);
  }
  return [users](const slurm::Command& command) -> Result<slurm::SbatchOutput> {
    exec::ProgramRequest request;
    request.argv = command.argv;
    request.environment = command.environment;
    for (const auto& entry : users) {
      const bool is_given = std::ranges::any_of(
          command.environment, [&](const auto& given) { return name_in(given) == name_in(entry); });
      if (!is_given) request.environment.push_back(entry);
    }
    request.time_limit = command.limit;
    request.output_limit = command.output_limit;
    TORC_ASSIGN(exec::ProgramOutput output, exec::run_program(request));
    return slurm::SbatchOutput{output.exit_code, output.signal,         output.timed_out,
                               output.truncated, std::move(output.out), std::move(output.err)};
  };
}

}  // namespace torc::workflow
