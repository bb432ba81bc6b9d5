// What must hold when everything is over.
#include <fmt/format.h>

#include <algorithm>

#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/transition.h"
#include "tests/simulation/process.h"
#include "tests/simulation/promises.h"

namespace torc::simulation {

void Promises::wrong(JobId id, const claim::Job& job, const std::string& what) {
  world_.violate(fmt::format("job {} {} (attempt {}, {} lost, {} stopped, {})", raw(id), what,
                             job.attempt, job.lost, job.stopped, to_string(job.outcome.cause)));
}

// Its worker was lost too often, or its recovery script said that nothing can be done.
void Promises::check_failed(JobId id, const claim::Job& job) {
  if (fate_of(id).crashes) {
    if (job.lost + 1 < 5 && job.outcome.cause != claim::EndCause::worker_lost)
      wrong(id, job, "failed before its limit of lost workers");
    return;
  }
  const auto& runs = runs_of_jobs_[raw(id)];
  const bool given_up = std::any_of(runs.begin(), runs.end(), [&](const RunKey& key) {
    const Run& r = runs_.at(key);
    return r.kind == Kind::script && r.token.attempt == job.attempt && r.over && r.end.by_itself &&
           r.end.exit_code != 0;
  });
  if (!given_up) wrong(id, job, "has failed, for which it gave no reason");
}

void Promises::check_completed(JobId id, const claim::Job& job) {
  const auto& runs = runs_of_jobs_[raw(id)];
  const bool ended_so = std::any_of(runs.begin(), runs.end(), [&](const RunKey& key) {
    const Run& r = runs_.at(key);
    return r.kind == Kind::job && r.token.attempt == job.attempt && r.token.claim == job.claim &&
           r.over && r.end.by_itself && r.end.exit_code == 0;
  });
  if (!ended_so) wrong(id, job, "counts as completed, and no run of it by that claim has ended so");
}

void Promises::check_job(JobId id, const claim::Job& job) {
  switch (job.state) {
    case claim::JobState::completed:
      return check_completed(id, job);
    case claim::JobState::failed:
      return check_failed(id, job);
    case claim::JobState::terminated:
      if (job.stopped < claim::kMostStops && job.attempt < claim::kMostStops)
        wrong(id, job, "was given up too soon");
      return;
    case claim::JobState::canceled:
      if (!canceled_.contains(raw(id))) wrong(id, job, "is canceled, which nobody wanted");
      return;
    case claim::JobState::blocked:
      if (!waits_for_others(scenario_, id) || !may_be_blocked()) wrong(id, job, "still waits");
      return;
    default:
      return wrong(id, job, fmt::format("is still {}", to_string(job.state)));
  }
}

// Of the workflow's own, which somebody must have run to its end.
void Promises::check_action(std::uint32_t number, claim::WorkerEpoch worker,
                            const claim::ActionRun& run) {
  const ActionPlan& plan = scenario_.actions[number - 1];
  if (claim::is_of_worker(plan.trigger)) return;
  const auto bad = [&](const std::string& what) {
    world_.violate(fmt::format("action {} ({}) {} ({} lost, {} of {} commands)", number,
                               claim::to_string(plan.trigger), what, run.lost, run.done,
                               plan.commands));
  };
  if (run.state == claim::RunState::armed && plan.trigger == claim::Trigger::jobs_ready &&
      may_be_blocked())
    return;
  if (run.state != claim::RunState::ended)
    return bad(fmt::format("is still {}", claim::to_string(run.state)));
  const auto& runs = runs_of_actions_[{number, claim::raw(worker)}];
  const auto ended_with = [&](bool good) {
    return std::any_of(runs.begin(), runs.end(), [&](const RunKey& key) {
      const Run& r = runs_.at(key);
      return r.action.done + 1 == static_cast<std::uint32_t>(plan.commands) && r.over &&
             r.end.by_itself && (r.end.exit_code == 0) == good;
    });
  };
  if (!claim::is_failed(run)) {
    if (!ended_with(true)) bad("counts as done, and its last command has never ended well");
  } else if (!ended_with(false) && run.lost < claim::kMostActionLosses &&
             run.outcome.cause != claim::EndCause::timed_out) {
    bad(fmt::format("has failed ({}), for which it gave no reason", to_string(run.outcome.cause)));
  }
}

// All jobs that were ever there; the rest is for who knows the file (EditedWorkflow).
void Promises::check_edited(const store::Reader& reader) {
  const auto jobs = claim::count_jobs(reader);
  if (!jobs) return world_.violate("the jobs cannot be counted: " + jobs.error().text());
  for (std::uint64_t j = 1; j <= *jobs; ++j) {
    const auto job = claim::read_job(reader, JobId{j});
    if (!job) return world_.violate(fmt::format("there is no job {}", j));
    if (job->state == claim::JobState::completed) check_completed(JobId{j}, *job);
    if (job->state == claim::JobState::terminated) check_job(JobId{j}, *job);
  }
}

void Promises::check_end(const store::Reader& reader) {
  if (const auto sound = claim::verify_state(reader); !sound)
    world_.violate("the state contradicts itself: " + sound.error().text());
  if (scenario_.edited) return check_edited(reader);
  std::vector<claim::Job> jobs(scenario_.jobs + 1);
  for (std::uint64_t j = 1; j <= scenario_.jobs; ++j) {
    const auto job = claim::read_job(reader, JobId{j});
    if (!job) return world_.violate(fmt::format("there is no job {}", j));
    jobs[j] = *job;
    given_up_ = given_up_ || job->state == claim::JobState::terminated ||
                job->state == claim::JobState::failed;
  }
  for (std::uint64_t j = 1; j <= scenario_.jobs; ++j) check_job(JobId{j}, jobs[j]);
  for (std::uint32_t a = 1; a <= scenario_.actions.size(); ++a) {
    bool any = false;
    const auto read =
        claim::scan_runs(reader, a, [&](claim::WorkerEpoch worker, const claim::ActionRun& run) {
          any = true;
          check_action(a, worker, run);
          return true;
        });
    if (!read) world_.violate("the actions cannot be read: " + read.error().text());
    const claim::Trigger trigger = scenario_.actions[a - 1].trigger;
    if (!any && !claim::is_of_worker(trigger) &&
        !(trigger == claim::Trigger::jobs_ready && may_be_blocked()))
      world_.violate(fmt::format("action {} was never set off", a));
  }
}

}  // namespace torc::simulation
