// What `torc status --json` prints.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bin/commands/look/status_picture.h"
#include "lib/base/json_value.h"
#include "lib/base/labels.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"
#include "lib/report/worker_places.h"
#include "lib/store/engine/engine_name.h"

namespace torc::cli {
namespace {

using nlohmann::ordered_json;

ordered_json runs_json(const claim::ActionTally& t) {
  return {{"due", t.due},
          {"running", t.running},
          {"completed", t.ended - std::min(t.ended, t.failed)},
          {"failed", t.failed}};
}

ordered_json gang_json(const claim::GangPart& part) {
  return {{"job_id", raw(part.gang.token.job)},
          {"attempt", part.gang.token.attempt},
          {"rank", part.rank},
          {"nodes", part.gang.members.size()},
          {"gang_stage", word_of(part.gang.stage)}};
}

ordered_json stages_json(const report::AllocationList& ledger) {
  ordered_json out;
  for (const auto stage : {claim::AllocationStage::wanted, claim::AllocationStage::intent,
                           claim::AllocationStage::queued, claim::AllocationStage::running})
    out[std::string(claim::to_string(stage))] = report::count_of(ledger, stage);
  return out;
}

}  // namespace

ordered_json status_json(const App& app, const StatusPicture& picture, const store::Store& store,
                         WallTime now) {
  const claim::WorkflowState& w = picture.workflow;
  const report::Situation& around = picture.situation;
  ordered_json workers = ordered_json::array();
  for (const report::WorkerNow& w_now : around.workers) {
    const claim::Worker& worker = w_now.worker;
    ordered_json one = {{"worker", claim::raw(worker.epoch)},
                        {"host", worker.info.host},
                        {"pid", worker.info.pid},
                        {"allocation", json_or_null(worker.info.allocation)},
                        {"scheduler", json_or_null(worker.info.scheduler)},
                        {"label", json_or_null(worker.info.labels)},
                        {"jobs", worker.held},
                        {"finished_jobs", worker.finished},
                        {"registered_at", json_seconds(worker.info.registered_at)},
                        {"last_commit_at", json_seconds(worker.last_seen)}};
    report::add_presence(one, around, w_now);
    report::add_shared(one, claim::total_of(worker.info));
    one["group"] = json_or_null(worker.info.group);
    one["node_name"] = json_or_null(worker.info.node_name);
    one["gang"] = w_now.gang ? gang_json(*w_now.gang) : ordered_json();
    one["reserved"] = w_now.reservation.has_value();
    workers.push_back(std::move(one));
  }
  ordered_json unserved = ordered_json::array();
  for (const Unserved& u : picture.unserved) {
    unserved.push_back({{"first_job", u.name},
                        {"jobs", u.jobs},
                        {"needs", show_need(u.job_class)},
                        {"allocation_waits", u.allocation}});
  }
  ordered_json unserved_labels = ordered_json::array();
  for (const auto& [labels, jobs] : picture.unserved_labels)
    unserved_labels.push_back({{"labels", labels_of(labels)}, {"jobs", jobs}});
  ordered_json failures = ordered_json::array();
  for (const StatusPicture::Failure& f : picture.failures) {
    failures.push_back({{"job_id", raw(f.id)},
                        {"job", f.name},
                        {"state", claim::to_string(f.job.state)},
                        {"reason", f.reason},
                        {"recoveries", f.recoveries}});
  }
  ordered_json stages;
  if (picture.stages) {
    stages = ordered_json::array();
    for (const report::StageCounts& stage : *picture.stages) {
      stages.push_back({{"entry", stage.name},
                        {"jobs", stage.jobs()},
                        {"jobs_by_state", report::counts_json(stage.counts)}});
    }
  }
  ordered_json out = {
      {"workflow", w.name},
      {"state", verdict_of(picture)},
      {"store", store.directory().string()},
      {"store_id", store.identity().id_hex()},
      {"engine", to_string(store.identity().engine)},
      {"jobs", w.jobs},
      {"jobs_by_state", report::counts_json(w.counts)},
      {"not_needed_jobs", w.unmet},
      {"jobs_by_entry", std::move(stages)},
      {"halted", w.halted()},
      {"outdated_jobs", w.outdated},
      {"max_recoveries", json_or_null(picture.recoveries)},
      {"next_retry_at", json_if(picture.next_due.has_value(),
                                json_seconds(now + picture.next_due.value_or(WallTime{})))},
      {"workers", std::move(workers)},
      {"unserved", std::move(unserved)},
      {"unserved_labels", std::move(unserved_labels)},
      {"limits", report::limits_json(picture.quota)},
      {"budget", report::budget_json(picture.quota)},
      {"actions", w.actions.actions},
      {"action_runs_by_state", runs_json(w.actions)},
      {"failures", std::move(failures)}};
  ordered_json concerns = ordered_json::array();
  for (const std::string& line : report::concerns_of(around.ledger, now)) concerns.push_back(line);
  out["allocation_concerns"] = std::move(concerns);
  out["allocations_by_stage"] = stages_json(around.ledger);
  report::add_situation(out, app, around, workflow::shown_path(app, store.directory()));
  return out;
}

}  // namespace torc::cli
