// torc why: what keeps a job from running, and what would let it run.
#include "lib/report/why.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bin/commands/look/job_question.h"

namespace torc::cli {
namespace {

Result<std::string> tell_why(const JobQuestion& q) {
  const auto found = report::explain(q.app, q.reader, q.book, q.store, q.situation, q.id);
  if (!found) return workflow::damaged_job(q.name);
  if (q.json) return report::json_text(report::to_json(q.reader, q.book, *found)) + "\n";
  return report::to_text(*found, static_cast<std::size_t>(std::max(q.app.terminal_columns, 40)));
}

}  // namespace

void add_why(Command& c) {
  add_job_question(c, "Tell what keeps a job from running, and what would let it run", tell_why,
                   LookAround::yes);
}

}  // namespace torc::cli
