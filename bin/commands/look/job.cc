// torc job: one job in full.
#include <nlohmann/json.hpp>

#include "bin/commands/look/job_question.h"
#include "lib/report/job_report.h"

namespace torc::cli {
namespace {

Result<std::string> tell_job(const JobQuestion& q) {
  const auto page = q.book.find(q.reader, q.id);
  const auto job = claim::read_job(q.reader, q.id);
  if (!page || !job) return workflow::damaged_job(q.name);
  const report::JobInStore in{q.reader, q.book, *page, q.id, *job, q.app.clock.wall_now()};
  return q.json ? report::json_text(report::to_json(in)) + "\n" : report::to_text(in, q.store);
}

}  // namespace

void add_job(Command& c) {
  add_job_question(c, "Show one job: command, state, attempts, where it ran", tell_job);
}

}  // namespace torc::cli
