// torc job: one job in full. torc why: what keeps a job from running, and what would let it run.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_report.h"
#include "lib/report/job_view.h"
#include "lib/report/why.h"

namespace torc::cli {
namespace {

// "[STORE] NAME [--json]", answered from one view of the store.
struct JobQuestion {
  const App& app;
  const claim::Reader& reader;
  workflow::RecipeBook& book;
  JobId id{};
  std::string name;   // as it was typed
  std::string store;  // as a word of a command
  bool json = false;
};

// All that the command prints.
using AnswerQuestion = Result<std::string> (*)(const JobQuestion& question);

struct QuestionOptions {
  std::vector<std::string> words;  // NAME, or STORE NAME
  bool json = false;
};

Result<Exit> run(const App& app, const QuestionOptions& options, AnswerQuestion answer) {
  TORC_ASSIGN(const StoreAndName where, locate_store_and_name(app, options.words));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  const std::string shown = workflow::shown_path(app, where.store);
  std::string text;
  const auto look = [&](const claim::Reader& reader) -> Result<void> {
    workflow::RecipeBook book;
    TORC_ASSIGN(const auto id, workflow::find_job(book, reader, where.name));
    if (!id) return workflow::no_such_job(where.name);
    TORC_ASSIGN(text, answer({app, reader, book, *id, where.name, shown, options.json}));
    return {};
  };
  TORC_TRY(store->view(store::Freshness::latest, look));
  say(app.out, "{}", text);
  return Exit::ok;
}

void add_job_question(Command& c, const std::string& about, AnswerQuestion answer) {
  auto& o = c.options<QuestionOptions>();
  c.about(about);
  c.argument("NAME", o.words, "[STORE] NAME, or #NUMBER")
      .required()
      .words(1, 2)
      .value("[STORE] NAME");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o, answer](const App& app) { return run(app, o, answer); });
}

Result<std::string> tell_job(const JobQuestion& q) {
  const auto page = q.book.find(q.reader, q.id);
  const auto job = claim::read_job(q.reader, q.id);
  if (!page || !job) return workflow::damaged_job(q.name);
  const report::JobInStore in{q.reader, q.book, *page, q.id, *job};
  return q.json ? report::json_text(report::to_json(in)) + "\n" : report::to_text(in, q.store);
}

Result<std::string> tell_why(const JobQuestion& q) {
  TORC_ASSIGN(const auto found, report::explain(q.app, q.reader, q.book, q.store, q.id));
  if (!found) return workflow::damaged_job(q.name);
  if (q.json) return report::json_text(report::to_json(q.reader, q.book, *found)) + "\n";
  return report::to_text(*found, static_cast<std::size_t>(std::max(q.app.terminal_columns, 40)));
}

}  // namespace

void add_job(Command& c) {
  add_job_question(c, "Show one job: command, state, attempts, where it ran", tell_job);
}

void add_why(Command& c) {
  add_job_question(c, "Tell what keeps a job from running, and what would let it run", tell_why);
}

}  // namespace torc::cli
