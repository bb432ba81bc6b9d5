#include "lib/workflow/plan/slurm_question.h"

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <utility>

#include "lib/exec/start/program_path.h"
#include "lib/exec/start/run_program.h"

namespace torc::workflow {
namespace {

constexpr const char* kSbatch = "sbatch";

slurm::Answer unanswered(std::string why) {
  return {slurm::Verdict::unanswered, {}, std::move(why)};
}

std::vector<std::string> environment_of(const Context& context) {
  std::vector<std::string> environment;
  for (char** entry = context.environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (slurm::is_for_sbatch(*entry)) environment.emplace_back(*entry);
  }
  return environment;
}

exec::ProgramRequest question_of(const Context& context, const BatchScript& script, ReadFrom from) {
  exec::ProgramRequest request;
  request.argv = {kSbatch, "--test-only"};
  if (from == ReadFrom::its_file) {
    request.argv.push_back(script.file.string());
  } else {
    request.input = script.text;
  }
  request.environment = environment_of(context);
  return request;
}

// `limit`: of all questions.
slurm::Answer ask(const exec::ProgramRequest& request, const std::string& limit) {
  auto output = exec::run_program(request);
  if (!output) return unanswered(std::move(output).error().what);
  auto answer = slurm::judge({output->exit_code, output->signal, output->timed_out,
                              output->truncated, std::move(output->out), std::move(output->err)});
  if (output->timed_out) {
    answer.why = fmt::format(
        "sbatch did not answer within the {} for all batch scripts, and was killed", limit);
  }
  return answer;
}

}  // namespace

bool can_ask_slurm(const Context& context, const char* program) {
  const std::vector<std::string> environment = environment_of(context);
  const auto found = exec::ProgramPaths().find(program, exec::variable(environment, "PATH"),
                                               context.directory.string());
  return !found.path.empty() || found.os_errno != ENOENT;
}

std::optional<std::vector<slurm::Answer>> ask_slurm(const Context& context,
                                                    const std::vector<BatchScript>& scripts,
                                                    ReadFrom from, std::chrono::nanoseconds limit) {
  const BootTime deadline = context.clock.boot_now() + limit;
  const std::string all = fmt::format("{} s", std::chrono::duration<double>(limit).count());
  std::vector<slurm::Answer> answers;
  for (const BatchScript& script : scripts) {
    exec::ProgramRequest request = question_of(context, script, from);
    request.time_limit = deadline - context.clock.boot_now();
    if (request.time_limit <= std::chrono::nanoseconds::zero()) {
      answers.push_back(unanswered(
          fmt::format("sbatch was not asked: the {} for all batch scripts were over", all)));
    } else {
      answers.push_back(ask(request, all));
    }
  }
  if (answers.empty()) return std::nullopt;
  return answers;
}

}  // namespace torc::workflow
