// What `torc job` and `torc why` have in common: jobs are named, and the answer to each is a text.
#pragma once

#include <string>

#include "bin/app.h"
#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"
#include "lib/report/situation.h"

namespace torc::cli {

// "[STORE] NAME… [--json]", answered from one view of the store: of one job.
struct JobQuestion {
  const report::Situation& situation;  // empty, unless it was asked for
  const App& app;
  const claim::Reader& reader;
  workflow::RecipeBook& book;
  JobId id{};
  std::string name;   // its own
  std::string store;  // as a word of a command
  bool json = false;
};

// All that the command prints of it. Of several jobs the answers stand one below the other, each of
// its own lines; --json is about one.
using AnswerQuestion = Result<std::string> (*)(const JobQuestion& question);

enum class LookAround : std::uint8_t { no, yes };
void add_job_question(Command& c, const std::string& about, AnswerQuestion answer,
                      LookAround around = LookAround::no);

}  // namespace torc::cli
