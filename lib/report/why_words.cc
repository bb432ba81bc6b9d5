#include "lib/report/why_words.h"

#include <fmt/format.h>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/rules/transition.h"
#include "lib/worker/text/outcome_text.h"

namespace torc::report {

std::string WhyWords::name(JobId id) const {
  return printable(workflow::job_name(book_, reader_, id));
}

std::string WhyWords::word(JobId id) const {
  return workflow::job_word(workflow::job_name(book_, reader_, id), id);
}

std::string WhyWords::command(const char* what, JobId id) const {
  return fmt::format("torc {} {} {}", what, store_, word(id));
}

std::string WhyWords::remedy_for(JobId root) const {
  const claim::Job job = claim::read_job(reader_, root).value_or(claim::Job{});
  return command(job.state == claim::JobState::completed ? "reset" : "retry", root);
}

std::string WhyWords::state_of(JobId id) const {
  const claim::Job job = claim::read_job(reader_, id).value_or(claim::Job{});
  return fmt::format("{}, which is {}{}", name(id), claim::to_string(job.state), place_of(id));
}

std::string WhyWords::place_of(JobId id) const {
  const auto job = claim::read_job(reader_, id);
  if (!job) return "";
  if (claim::is_terminal(job->state) && claim::has(job->state, claim::trait::kTroubled))
    return fmt::format(" ({})", worker::show_end(reader_, book_, id, job->outcome));
  if (job->state != claim::JobState::running) return "";
  const auto worker = claim::read_worker(reader_, job->worker);
  return fmt::format(" since {}{}", show_time(job->outcome.started_at),
                     worker ? ", with " + place(*worker) : "");
}

std::string WhyWords::place(const claim::Worker& worker) {
  const claim::WorkerInfo& i = worker.info;
  return fmt::format("worker {} on {}{}", claim::raw(worker.epoch), printable(i.host),
                     i.allocation.empty() ? "" : ", allocation " + i.allocation);
}

}  // namespace torc::report
