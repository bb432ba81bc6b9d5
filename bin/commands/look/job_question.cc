#include "bin/commands/look/job_question.h"

#include <vector>

#include "bin/locate.h"

namespace torc::cli {
namespace {

struct QuestionOptions {
  std::vector<std::string> words;  // NAME, or STORE NAME
  bool json = false;
};

Result<Exit> run_question(const App& app, const QuestionOptions& options, AnswerQuestion answer,
                          LookAround around) {
  TORC_ASSIGN(const StoreAndName where, locate_store_and_name(app, options.words));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  report::Situation situation;
  if (around == LookAround::yes) {
    TORC_ASSIGN(situation, report::look_around(app, *store, report::AskSlurm::yes));
  }
  const std::string shown = workflow::shown_path(app, where.store);
  std::string text;
  const auto look = [&](const claim::Reader& reader) -> Result<void> {
    workflow::RecipeBook book;
    TORC_ASSIGN(const auto id, workflow::find_job(book, reader, where.name));
    if (!id) return workflow::no_such_job(where.name);
    TORC_ASSIGN(text, answer({situation, app, reader, book, *id, where.name, shown, options.json}));
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
  c.argument("NAME", o.words, "[STORE] NAME, or #NUMBER")
      .required()
      .words(1, 2)
      .value("[STORE] NAME");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o, answer, around](const App& app) { return run_question(app, o, answer, around); });
}

}  // namespace torc::cli
