#include "bin/commands/look/job_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "bin/commands/selection.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"

namespace torc::cli {
namespace {

struct QuestionOptions {
  std::vector<std::string> words;  // [STORE] NAME…
  bool json = false;
};

// More are a list, which other commands give.
constexpr std::uint64_t kMostAnswers = 20;

Result<Exit> run_question(const App& app, const QuestionOptions& options, AnswerQuestion answer,
                          LookAround around) {
  TORC_ASSIGN(const StoreAndNames where, locate_store_and_names(app, options.words));
  if (where.names.empty())
    return Error{ErrorKind::invalid, "no job was named", "name one; `torc jobs` lists them"};
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  report::Situation situation;
  if (around == LookAround::yes) {
    TORC_ASSIGN(situation, report::look_around(app, *store, report::AskSlurm::yes));
  }
  const std::string shown = workflow::shown_path(app, where.store);
  std::string text;
  const auto look = [&](const claim::Reader& reader) -> Result<void> {
    text.clear();
    workflow::RecipeBook book;
    TORC_ASSIGN(const auto jobs, select_jobs(reader, Selection{where.names, "", {}, false}));
    const std::uint64_t count = claim::jobs_in(jobs);
    if (options.json && count != 1) {
      return Error{ErrorKind::invalid, fmt::format("{} jobs are named", show_count(count)),
                   "--json is about one; `torc jobs --json` tells of many"};
    }
    std::uint64_t told = 0;
    for (const claim::JobRange& range : jobs) {
      for (std::uint64_t i = 0; i < range.count && told < kMostAnswers; ++i, ++told) {
        const JobId id{raw(range.first) + i};
        TORC_ASSIGN(const std::string one,
                    answer({situation, app, reader, book, id, workflow::job_name(book, reader, id),
                            shown, options.json}));
        if (told > 0) text += "\n";
        text += one;
      }
    }
    if (count > told) {
      text += fmt::format("\nand {} more: `torc jobs {} NAME…` lists them\n",
                          show_count(count - told), shown);
    }
    return {};
  };
  TORC_TRY(store->view(store::Freshness::latest, look));
  say(app.out, "{}", text);
  return Exit::ok;
}

}  // namespace

void add_job_question(Command& c, const std::string& about, AnswerQuestion answer,
                      LookAround around) {
  auto& o = c.options<QuestionOptions>();
  c.about(about);
  c.argument("NAME", o.words, kNamesHelp).required().value("[STORE] NAME…");
  c.flag("--json", o.json, "machine-readable output, of one job");
  c.run([&o, answer, around](const App& app) { return run_question(app, o, answer, around); });
}

}  // namespace torc::cli
