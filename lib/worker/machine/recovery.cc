// What follows the failure of a job on its worker: recovery scripts, and ends that only interrupt.
#include <cerrno>

#include "lib/base/dead_mount.h"
#include "lib/claim/rules/transition.h"
#include "lib/worker/machine/parts.h"

namespace torc::worker {
namespace {

// Of a job that saves its state by itself.
constexpr auto kShortestLeg = std::chrono::minutes(1);

bool failed(const claim::Finished& end) {
  return end.state == claim::JobState::failed || end.state == claim::JobState::terminated;
}

// The job was not the cause: it runs again, but not for ever.
void interrupt(const Running& job, claim::Finished& end, claim::EndCause why) {
  if (job.job.grant.stopped + 1 >= claim::kMostStops) return;
  end.state = claim::JobState::ready;
  end.outcome.cause = why;
}

// What its handler would have given more of, were there more.
claim::Ceiling ceiling(const Running& job, const claim::Finished& end) {
  if (job.job.handler == nullptr) return claim::Ceiling::none;
  const auto rule = claim::rule_for(*job.job.handler, end.outcome);
  if (!rule) return claim::Ceiling::none;
  return claim::ceiling_reached(*job.job.handler, job.job.handler->rules[*rule], end.outcome,
                                job.job.need, job.job.memory_ceiling);
}

// It would be recovered, had it not been so often.
bool uses_up_recoveries(const Running& job, const claim::Finished& end) {
  Running before = job;
  before.job.retries.recoveries = 0;
  return job.job.retries.recoveries > 0 && recovery(before, end).has_value();
}

// For what may be well elsewhere or later, and says nothing of the script.
bool could_not_be_begun(const exec::Ended& script) {
  const int error = script.os_errno;
  return script.how == exec::Ending::not_started &&
         (torc::is_of_dead_mount(error) || error == ENOSPC || error == EDQUOT);
}

}  // namespace

// It says by its exit code that it can go on from where it was, and may have been told to end: in
// an allocation by Slurm itself, without this worker's knowledge.
bool may_be_checkpoint(const State& w, const Running& job, const exec::Ended& ended) {
  const int code = job.job.checkpoint_exit_code;
  if (code == 0 || ended.exit_code != code) return false;
  return ended.how == exec::Ending::stopped || ended.how == exec::Ending::timed_out ||
         (ended.how == exec::Ending::exited && (w.orders.terminated_at || w.terms.in_allocation));
}

// One that nobody is known to have told must have worked for a while. Else it would be run again
// and again for nothing.
bool is_checkpoint(const State& w, const Running& job, const exec::Ended& ended, BootTime now) {
  if (!may_be_checkpoint(w, job, ended)) return false;
  return ended.how != exec::Ending::exited || w.orders.terminated_at ||
         now - job.started >= kShortestLeg;
}

// The same rules on the same counts: nobody else changes those of a job that this worker holds.
const claim::RetryRule* retry_rule(const Running& job, const claim::Finished& end) {
  if (job.job.handler == nullptr || !failed(end)) return nullptr;
  const auto rule = claim::rule_for(*job.job.handler, end.outcome);
  if (!rule) return nullptr;
  const claim::RetryRule& found = job.job.handler->rules[*rule];
  if (job.job.retries.of(*rule) >= found.max_retries) return nullptr;
  if (ceiling(job, end) != claim::Ceiling::none) return nullptr;
  return found.script.empty() || end.recovered ? &found : nullptr;
}

std::optional<claim::Proposal> recovery(const Running& job, const claim::Finished& end) {
  if (job.job.handler == nullptr || !failed(end)) return std::nullopt;
  if (claim::rule_for(*job.job.handler, end.outcome)) return std::nullopt;
  return claim::recovery_of(*job.job.handler, job.job.retries.recoveries, end.outcome, end.said,
                            job.job.need, job.job.has_alternatives, job.job.memory_ceiling);
}

bool recover(const Step& s, Running& job, claim::Finished& end) {
  State& w = s.w;
  claim::Finished if_recovered = end;
  if_recovered.recovered = true;
  const claim::RetryRule* rule = retry_rule(job, if_recovered);
  if (rule == nullptr || rule->script.empty()) return false;
  if (w.phase == Phase::stopping) {
    interrupt(job, end, w.stop_cause);
    return false;
  }
  if (job.doubtful) {
    s.tell({.what = Notice::What::recovery_not_started, .job = job.job.load, .text = kShareLost});
    interrupt(job, end, w.stop_cause);
    return false;
  }
  const Run run = next_run(w);
  s.order(command::StartRecovery{run, job.job.load, end, rule->script});
  job.failed = end;
  if (job.of_gang && w.gang) w.gang->run = run;
  w.running.emplace(run, std::move(job));
  return true;
}

void take_recovery_start(const Step& s, const event::StartAnswer& answer) {
  State& w = s.w;
  const auto found = w.running.find(answer.run);
  if (found == w.running.end() || !found->second.failed) return;
  if (answer.what == event::StartAnswer::What::started) {
    s.tell({.what = Notice::What::recovery_begins,
            .job = found->second.job.load,
            .outcome = found->second.failed->outcome});
    return;
  }
  Running job = std::move(found->second);
  w.running.erase(found);
  claim::Finished end = *std::exchange(job.failed, std::nullopt);
  s.tell({.what = Notice::What::recovery_not_started, .job = job.job.load, .text = answer.why});
  interrupt(job, end, w.stop_cause);
  report_end(s, job, std::move(end));
}

void recovered(const Step& s, Running job, const exec::Ended& script) {
  claim::Finished end = *std::exchange(job.failed, std::nullopt);
  const bool told = was_meant_for_worker(s.w, script, s.now);
  if (script.how == exec::Ending::exited && script.exit_code == 0) {
    end.recovered = true;
  } else if (script.how == exec::Ending::stopped || told || could_not_be_begun(script)) {
    // It is not known what it would have come to: the job runs again where somebody has time.
    interrupt(job, end, s.w.stop_cause);
  } else {
    s.tell({.what = Notice::What::recovery_failed, .job = job.job.load, .ended = script});
  }
  report_end(s, job, std::move(end));
}

void tell_retry(const Step& s, const Running& job, const claim::Finished& end) {
  if (const auto remedy = recovery(job, end)) {
    const std::uint32_t nth_recovery = job.job.retries.recoveries + 1;
    s.tell({.what = Notice::What::recovered,
            .job = job.job.load,
            .count = nth_recovery,
            .other = job.job.handler->recoveries,
            .time = claim::recovery_delay(*remedy, end.outcome, nth_recovery),
            .outcome = end.outcome,
            .remedy = remedy->remedy});
    return;
  }
  const auto rule = *claim::rule_for(*job.job.handler, end.outcome);
  const claim::RetryRule& by = job.job.handler->rules[rule];
  const std::uint32_t nth = job.job.retries.of(rule) + 1;
  s.tell({.what = Notice::What::tried_again,
          .job = job.job.load,
          .count = nth,
          .other = by.max_retries,
          .time = claim::backoff_of(by, nth),
          .outcome = end.outcome});
}

// That what failed is not tried again for want of more, and, once, that somebody is to decide: the
// list is in torc status.
void tell_final(const Step& s, const Running& job, const claim::Finished& end) {
  State& w = s.w;
  const claim::Ceiling reached = ceiling(job, end);
  if (reached != claim::Ceiling::none) {
    s.tell({.what = Notice::What::ceiling_reached,
            .job = job.job.load,
            .time = longest_time(job.job.need),
            .ceiling = reached,
            .memory = job.job.need.memory});
  }
  if (uses_up_recoveries(job, end)) {
    s.tell({.what = Notice::What::recoveries_used,
            .job = job.job.load,
            .count = job.job.retries.recoveries});
  }
  if (w.told_undecided || !w.terms.use_pending_failed) return;
  if (job.job.handler != nullptr && claim::rule_for(*job.job.handler, end.outcome)) return;
  w.told_undecided = true;
  s.tell({.what = Notice::What::failures_wait});
}

}  // namespace torc::worker
