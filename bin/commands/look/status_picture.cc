#include "bin/commands/look/status_picture.h"

#include <algorithm>

#include "lib/base/labels.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/tables/state.h"
#include "lib/report/job_view.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {
namespace {

using claim::JobState;

// The labels of ready jobs that no worker that is at work has all of, and how many of them wait.
Result<void> find_unserved_labels(const claim::Reader& reader, StatusPicture& picture) {
  Result<void> counted;
  TORC_TRY(claim::scan_ready_classes(reader, [&](const claim::JobClass& c, const auto& head) {
    const auto serves = [&](const report::WorkerNow& w) {
      const claim::WorkerInfo& info = w.worker.info;
      return w.is_at_work() && (info.any_binding || covers_labels(info.labels, c.labels));
    };
    if (c.labels.empty() || std::ranges::any_of(picture.situation.workers, serves)) return true;
    const auto jobs = claim::count_ready(reader, head.job_class);
    if (!jobs) counted = jobs.error();
    if (jobs) picture.unserved_labels[c.labels] += *jobs;
    return jobs.ok();
  }));
  return counted;
}

}  // namespace

Result<StatusPicture> look_at_status(const App& app, store::Store& store, WallTime now,
                                     bool with_stages) {
  StatusPicture picture;
  TORC_ASSIGN(const auto situation, report::look_around(app, store, report::AskSlurm::yes));
  const auto fill = [&](const claim::Reader& reader) -> Result<void> {
    picture = {};
    picture.situation = situation;
    TORC_ASSIGN(picture.workflow, claim::read_workflow(reader));
    TORC_TRY(claim::leave_out_removed(reader, picture.workflow));
    TORC_ASSIGN(const auto settings, workflow::decode_workflow_settings(picture.workflow.settings));
    picture.recoveries = settings.run.recoveries;
    workflow::RecipeBook book;
    TORC_TRY(find_unserved(reader, now, picture.situation, kShownFailures, book, picture.unserved));
    TORC_TRY(find_unserved_labels(reader, picture));
    TORC_ASSIGN(picture.quota, report::look_at_quota(reader, book));
    if (with_stages) {
      TORC_ASSIGN(picture.stages, report::read_stages(reader));
    }
    claim::State state_of(reader);
    picture.next_due = claim::next_due(state_of, now);
    TORC_TRY(state_of.sound());
    std::vector<JobState> troubled = claim::states_with(claim::trait::kTroubled);
    std::reverse(troubled.begin(), troubled.end());  // what a person is to decide comes first
    for (const JobState state : troubled) {
      // Else all that are set aside would be read to learn it.
      if (picture.workflow.of(state) == 0) continue;
      TORC_TRY(claim::scan_jobs(reader, state, [&](JobId id, const claim::Job& job) {
        if (picture.failures.size() >= kShownFailures) return false;
        picture.failures.push_back({id, workflow::job_name(book, reader, id), job,
                                    worker::show_end(reader, book, id, job.outcome),
                                    claim::read_retries(reader, id, job).recoveries});
        return true;
      }));
    }
    return {};
  };
  TORC_TRY(store.view(store::Freshness::latest, fill));
  return picture;
}

std::string_view verdict_of(const StatusPicture& picture) {
  return report::workflow_verdict(picture.workflow, picture.situation.anybody_at_work());
}

std::string_view word_of(claim::GangStage stage) {
  constexpr std::string_view kWords[] = {"forming", "complete", "running", "over"};
  return kWords[static_cast<std::size_t>(stage)];
}

}  // namespace torc::cli
