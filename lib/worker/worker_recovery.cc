// What follows the failure of a job on its worker: recovery scripts, and ends that only interrupt.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/base/beneath.h"
#include "lib/base/dead_mount.h"
#include "lib/base/quantities.h"
#include "lib/claim/rules/transition.h"
#include "lib/worker/worker_session.h"
#include "lib/worker/worker_setup.h"

namespace torc::worker {
namespace {

// A recovery script that takes longer is ended, and has failed.
constexpr auto kRecoveryLimit = std::chrono::minutes(10);

// Of a job that saves its state by itself.
constexpr auto kShortestLeg = std::chrono::minutes(1);

bool failed(const claim::Finished& end) {
  return end.state == claim::JobState::failed || end.state == claim::JobState::terminated;
}

// Of a recovery script.
std::string how_it_ended(const exec::Ended& script) {
  switch (script.how) {
    case exec::Ending::not_started:
      return fmt::format("it could not be started, {}: {}", exec::to_string(script.failed_at),
                         std::strerror(script.os_errno));
    case exec::Ending::timed_out:
      return fmt::format("it took longer than {}", show_duration(kRecoveryLimit));
    case exec::Ending::signaled:
      return fmt::format("signal {}", script.signal);
    case exec::Ending::out_of_memory:
      return "out of memory";
    case exec::Ending::exited:
    case exec::Ending::stopped:
      break;
  }
  return fmt::format("exit code {}", script.exit_code);
}

// The job was not the cause: it runs again, but not for ever.
void interrupt(const Running& job, claim::Finished& end, claim::EndCause why) {
  if (job.stopped + 1 >= claim::kMostStops) return;
  end.state = claim::JobState::ready;
  end.outcome.cause = why;
}

}  // namespace

// It says by its exit code that it can go on from where it was, and may have been told to end: in
// an allocation by Slurm itself, without this worker's knowledge.
bool Session::may_be_checkpoint(const Running& job, const exec::Ended& ended) const {
  if (job.checkpoint_exit_code == 0 || ended.exit_code != job.checkpoint_exit_code) return false;
  return ended.how == exec::Ending::stopped || ended.how == exec::Ending::timed_out ||
         (ended.how == exec::Ending::exited && (terminated_at_ || !setup_.allocation.empty()));
}

// One that nobody is known to have told must have worked for a while. Else it would be run again
// and again for nothing.
bool Session::is_checkpoint(const Running& job, const exec::Ended& ended) const {
  if (!may_be_checkpoint(job, ended)) return false;
  return ended.how != exec::Ending::exited || terminated_at_ ||
         clock_.boot_now() - job.started >= kShortestLeg;
}

// The rule by which the store will let the job be tried again after this end; null: it is final.
// The same rules on the same counts: nobody else changes those of a job that this worker holds.
const claim::RetryRule* Session::retry_rule(const Running& job, const claim::Finished& end) const {
  if (job.handler == nullptr || !failed(end)) return nullptr;
  const auto rule = claim::rule_for(*job.handler, end.outcome);
  if (!rule) return nullptr;
  const claim::RetryRule& found = job.handler->rules[*rule];
  if (job.retries.of(*rule) >= found.max_retries) return nullptr;
  if (ceiling(job, end) != claim::Ceiling::none) return nullptr;
  return found.script.empty() || end.recovered ? &found : nullptr;
}

claim::Ceiling Session::ceiling(const Running& job, const claim::Finished& end) const {
  if (job.handler == nullptr) return claim::Ceiling::none;
  const auto rule = claim::rule_for(*job.handler, end.outcome);
  if (!rule) return claim::Ceiling::none;
  return claim::ceiling_reached(*job.handler, job.handler->rules[*rule], end.outcome, job.need,
                                job.memory_ceiling);
}

// Starts the recovery script in the place of the job, which keeps what it holds. False: none is
// due.
bool Session::recover(Running& job, claim::Finished& end) {
  claim::Finished if_recovered = end;
  if_recovered.recovered = true;
  const claim::RetryRule* rule = retry_rule(job, if_recovered);
  if (rule == nullptr || rule->script.empty()) return false;
  if (phase_ == Phase::stopping) {
    interrupt(job, end, stop_cause_);
    return false;
  }
  exec::Command command = job.command;
  command.line = rule->script;
  command.stdout_path = recovery_file(setup_.output_dir, end.token.job, end.token.attempt);
  command.stderr_path = command.stdout_path;
  command.stdout_fd = command.stderr_fd = -1;
  command.time_limit = kRecoveryLimit;
  command.env.push_back(fmt::format("TORC_RETURN_CODE={}", claim::return_code(end.outcome)));
  // Where it cannot be made the start fails and says why.
  const exec::OutputRoot root = preparer_->output_root(context_.umask);
  const Path name = beneath::name_below(root.path, command.stdout_path);
  (void)beneath::make_directories(root.path, name.parent_path(), root.directory_mode());
  const Result<Descriptor> output =
      beneath::open_fresh(root.path, name, O_WRONLY, root.file_mode());
  if (output.ok()) command.stdout_fd = command.stderr_fd = output->get();
  if (!output.ok())
    command.stdout_errno = output.error().os_errno != 0 ? output.error().os_errno : EINVAL;
  committer_->starting(true);
  auto id = host_.start(command);
  committer_->starting(false);
  if (!id) {
    notice(fmt::format("cannot start the recovery script of '{}': {}", job.name, id.error().what));
    interrupt(job, end, stop_cause_);
    return false;
  }
  notice(fmt::format("'{}' failed ({}): running its recovery script", job.name,
                     how_ended(job, end.outcome)));
  job.failed = end;
  running_.emplace(static_cast<std::uint64_t>(*id), std::move(job));
  return true;
}

namespace {

// For what may be well elsewhere or later, and says nothing of the script.
bool could_not_be_begun(const exec::Ended& script) {
  const int error = script.os_errno;
  return script.how == exec::Ending::not_started &&
         (is_of_dead_mount(error) || error == ENOSPC || error == EDQUOT);
}

void append(const Path& root, const Path& file, const std::string& line) {
  const auto out = beneath::open_to_append(root, beneath::name_below(root, file));
  if (out.ok()) (void)!::write(out->get(), line.data(), line.size());
}

}  // namespace

void Session::recovered(Running job, const exec::Ended& script) {
  claim::Finished end = *std::exchange(job.failed, std::nullopt);
  const bool told = was_meant_for_worker(script);
  if (script.how == exec::Ending::exited && script.exit_code == 0) {
    end.recovered = true;
  } else if (script.how == exec::Ending::stopped || told || could_not_be_begun(script)) {
    // It is not known what it would have come to: the job runs again where somebody has time.
    interrupt(job, end, stop_cause_);
  } else {
    const Path file = recovery_file(setup_.output_dir, end.token.job, end.token.attempt);
    const std::string why = how_it_ended(script);
    // What cannot be started prints nothing itself.
    if (script.how == exec::Ending::not_started)
      append(preparer_->output_root(context_.umask).path, file, fmt::format("torc: {}\n", why));
    notice(fmt::format("the recovery script of '{}' failed ({}); see {}", job.name, why,
                       file.string()));
  }
  exec::Ended ended = script;
  ended.how = exec::Ending::exited;  // whatever became of the script says nothing of this node
  report_end(std::move(job), ended, std::move(end));
}

std::string Session::how_ended(const Running& job, const claim::Outcome& outcome) const {
  return show_outcome(outcome, job.line, preparer_->settings().directory);
}

void Session::say_again(const Running& job, const claim::Finished& end) const {
  const auto rule = *claim::rule_for(*job.handler, end.outcome);
  const claim::RetryRule& by = job.handler->rules[rule];
  const std::uint32_t nth = job.retries.of(rule) + 1;
  const auto delay = claim::backoff_of(by, nth);
  notice(fmt::format("'{}' failed ({}) and is tried again{}: retry {} of {}", job.name,
                     how_ended(job, end.outcome),
                     delay.count() > 0 ? " in " + show_exactly(delay) : "", nth, by.max_retries));
}

void Session::say_ceiling(const Running& job, const claim::Finished& end) const {
  switch (ceiling(job, end)) {
    case claim::Ceiling::none:
      return;
    case claim::Ceiling::memory:
      return notice(
          fmt::format("'{}' is not tried again: ceiling reached, its memory cannot grow beyond {}",
                      job.name, show_bytes(job.need.memory)));
    case claim::Ceiling::runtime:
      return notice(
          fmt::format("'{}' is not tried again: ceiling reached, its runtime cannot grow beyond {}",
                      job.name, show_duration(job.need.runtime)));
  }
}

// Once: the list is in torc status.
void Session::say_undecided(const Running& job, const claim::Finished& end) {
  if (told_undecided_ || !preparer_->settings().run.use_pending_failed) return;
  if (job.handler != nullptr && claim::rule_for(*job.handler, end.outcome)) return;
  told_undecided_ = true;
  notice(
      "jobs that fail wait for a decision (use_pending_failed): `torc retry NAME` runs one again, "
      "`torc cancel NAME` lets its failure stand");
}

}  // namespace torc::worker
