#include "bin/commands/prepare/slurm_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "lib/base/json_value.h"
#include "lib/base/text/quote.h"
#include "lib/spec/text/source.h"

namespace torc::cli {
namespace {

using slurm::Verdict;
using workflow::BatchScript;

bool are_made(const SlurmAnswers& all) {
  return all.from == workflow::ReadFrom::its_file;
}

std::string of_scheduler(const BatchScript& script) {
  return fmt::format("the batch script of scheduler {}", torc::quoted(script.scheduler));
}

std::string said(const slurm::Answer& answer) {
  return fmt::format("{}", fmt::join(answer.words, "; "));
}

void print_accepted(const App& app, const BatchScript& script, const SlurmAnswers& all,
                    const slurm::Answer& answer) {
  say(app.out, "Slurm accepts {}: {}\n",
      are_made(all) ? workflow::shown_path(app, script.file) : of_scheduler(script), said(answer));
}

void refuse(const App& app, const BatchScript& script, const SlurmAnswers& all,
            const slurm::Answer& answer, spec::Report& report) {
  const std::string what =
      are_made(all)
          ? fmt::format("{}, {}", workflow::shown_path(app, script.file), of_scheduler(script))
          : of_scheduler(script);
  report.add(
      are_made(all) ? spec::Severity::warning : spec::Severity::error, script.place,
      fmt::format("Slurm refuses {}: {}", what, said(answer)),
      fmt::format("compare its keys with `sinfo` and `scontrol show partition`; nodes that "
                  "are down or drained count as not there\n{}",
                  are_made(all) ? "the store was made all the same: edit the script, or change the "
                                  "workflow file and repeat this with --force"
                                : "`torc check --no-slurm` looks at the file alone"));
}

// Those of which there is the same to say together.
void print_unanswered(const App& app, const SlurmAnswers& all) {
  std::vector<std::pair<std::string, std::vector<std::string>>> told;  // why, schedulers
  for (std::size_t i = 0; i < all.scripts.size(); ++i) {
    const slurm::Answer& answer = all.answers->at(i);
    if (answer.verdict != Verdict::unanswered) continue;
    std::string why = answer.why;
    if (!answer.words.empty()) why += ": " + answer.words.back();
    auto same = std::ranges::find(told, why, [](const auto& one) { return one.first; });
    if (same == told.end()) same = told.insert(same, {why, {}});
    same->second.push_back(torc::quoted(all.scripts[i].scheduler));
  }
  for (const auto& [why, schedulers] : told) {
    const char* ending = schedulers.size() == 1 ? "" : "s";
    say(app.err,
        "torc: note: whether Slurm takes the batch script{} of scheduler{} {} is not known: {}\n",
        ending, ending, fmt::join(schedulers, ", "), why);
  }
}

}  // namespace

std::size_t SlurmAnswers::refused() const {
  if (!answers) return 0;
  return static_cast<std::size_t>(
      std::ranges::count(*answers, Verdict::refused, &slurm::Answer::verdict));
}

nlohmann::ordered_json to_json(const SlurmAnswers& all) {
  if (!all.answers) return nullptr;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < all.scripts.size(); ++i) {
    const slurm::Answer& answer = all.answers->at(i);
    list.push_back({{"scheduler", all.scripts[i].scheduler},
                    {"script", json_if(are_made(all), all.scripts[i].file.string())},
                    {"answer", to_string(answer.verdict)},
                    {"words", answer.words},
                    {"reason", json_or_null(answer.why)}});
  }
  return list;
}

void print(const App& app, const workflow::LoadedSpec& loaded, const SlurmAnswers& all) {
  if (!all.answers) return;
  const spec::Source source(loaded.text, loaded.file);
  spec::Report report(source);
  for (std::size_t i = 0; i < all.scripts.size(); ++i) {
    const slurm::Answer& answer = all.answers->at(i);
    if (answer.verdict == Verdict::accepted) print_accepted(app, all.scripts[i], all, answer);
    if (answer.verdict == Verdict::refused) refuse(app, all.scripts[i], all, answer, report);
  }
  say(app.err, "{}", spec::to_text(std::move(report).sorted()));
  print_unanswered(app, all);
}

}  // namespace torc::cli
