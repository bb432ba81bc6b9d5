// torc logs --diagnose: why jobs failed.
#include <nlohmann/json.hpp>

#include "bin/commands/look/job_logs.h"
#include "bin/commands/selection.h"
#include "lib/report/failure_diagnosis.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

Result<std::vector<report::JobNow>> jobs_named(const claim::Reader& reader, const Path& store,
                                               const std::vector<std::string>& names) {
  if (names.empty()) return report::troubled_jobs(reader, store);
  TORC_ASSIGN(const auto ranges, select_jobs(reader, Selection{names, "", {}, false}));
  return report::jobs_now(reader, store, ranges);
}

}  // namespace

Result<Exit> print_diagnosis(const App& app, const std::vector<std::string>& words, bool json) {
  TORC_ASSIGN(const auto where, locate_store_and_names(app, words));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  std::vector<report::JobNow> jobs;
  TORC_TRY(store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(jobs, jobs_named(reader, store->directory(), where.names));
    return {};
  }));
  for (const report::JobNow& now : jobs) {
    if (now.job.attempt > 0) continue;
    return Error{
        ErrorKind::invalid,
        fmt::format("'{}' has not run ({})", printable(now.name), claim::to_string(now.job.state)),
        "`torc why NAME` tells what it waits for"};
  }
  const report::Diagnosis diagnosis = report::diagnose(std::move(jobs));
  if (json) {
    say(app.out, "{}\n", report::json_text(report::diagnosis_json(diagnosis)));
  } else if (diagnosis.jobs.empty()) {
    say(app.err, "no job has failed\n");
  } else {
    say(app.out, "{}", report::diagnosis_text(diagnosis));
  }
  return Exit::ok;
}

}  // namespace torc::cli
