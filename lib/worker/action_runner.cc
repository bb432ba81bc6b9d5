#include "lib/worker/action_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "lib/base/beneath.h"
#include "lib/base/dead_mount.h"
#include "lib/base/quote.h"
#include "lib/worker/worker_setup.h"
#include "lib/workflow/plan_actions.h"

namespace torc::worker {
namespace {

using What = claim::ActionReport::What;

claim::Outcome outcome_of(const exec::Ended& ended) {
  claim::Outcome o;
  o.exit_code = ended.exit_code;
  o.signal = ended.signal;
  o.os_errno = ended.os_errno;
  o.ended_at = ended.ended_at;
  switch (ended.how) {
    case exec::Ending::exited:
      o.cause = claim::EndCause::exited;
      break;
    case exec::Ending::signaled:
      o.cause = claim::EndCause::signaled;
      break;
    case exec::Ending::timed_out:
      o.cause = claim::EndCause::timed_out;
      break;
    case exec::Ending::stopped:
      o.cause = claim::EndCause::stopped;
      break;
    case exec::Ending::not_started:
      o.cause = claim::EndCause::not_started;
      break;
    case exec::Ending::out_of_memory:
      o.cause = claim::EndCause::out_of_memory;
      break;
  }
  return o;
}

// Open to append, with the command as a heading.
Result<Descriptor> open_output(const exec::OutputRoot& root, const Path& file,
                               const std::string& command) {
  const Path name = beneath::name_below(root.path, file);
  TORC_TRY(beneath::make_directories(root.path, name.parent_path(), root.directory_mode()));
  TORC_ASSIGN(Descriptor out, beneath::open_to_append(root.path, name, root.file_mode()));
  const std::string heading = fmt::format("+ {}\n", command);
  (void)!write(out.get(), heading.data(), heading.size());
  return out;
}

}  // namespace

Path action_file(const Path& output_dir, std::uint32_t action, std::uint32_t nth,
                 claim::WorkerEpoch of) {
  return output_dir / "actions" /
         (claim::raw(of) == 0 ? fmt::format("{}.{}.log", action, nth)
                              : fmt::format("{}.worker{}.log", action, claim::raw(of)));
}

ActionRunner::ActionRunner(World world, std::vector<claim::Action> actions)
    : world_(std::move(world)), actions_(std::move(actions)) {}

bool ActionRunner::has(claim::Trigger trigger) const {
  return std::any_of(actions_.begin(), actions_.end(),
                     [&](const claim::Action& a) { return a.trigger == trigger; });
}

bool ActionRunner::has_own_of_workflow() const {
  return std::any_of(actions_.begin(), actions_.end(),
                     [](const claim::Action& a) { return !claim::is_of_worker(a.trigger); });
}

void ActionRunner::take(const std::vector<claim::ActionGrant>& grants) {
  stopping_ = false;
  waiting_.insert(waiting_.end(), grants.begin(), grants.end());
}

std::string ActionRunner::title(const claim::ActionGrant& grant) const {
  return fmt::format("action {} ({})", grant.action, claim::to_string(of(grant).trigger));
}

void ActionRunner::report(const claim::ActionGrant& grant, What what, claim::Outcome outcome) {
  reports_.push_back({grant.action, grant.claim, what, grant.done, std::move(outcome)});
}

exec::Command ActionRunner::command(const Running& run) const {
  const JobPreparer& preparer = world_.preparer;
  exec::Command command = preparer.plain_command(run.commands[run.grant.done]);
  command.umask = world_.umask;
  command.env.push_back(fmt::format("TORC_ACTION={}", run.grant.action));
  command.env.push_back(fmt::format("TORC_ACTION_RUN={}", run.grant.nth));
  command.env.push_back(
      fmt::format("TORC_ACTION_TRIGGER={}", claim::to_string(of(run.grant).trigger)));
  command.env.push_back(fmt::format("TORC_WORKER={}", claim::raw(world_.self)));
  return command;
}

bool ActionRunner::start(Running run, std::chrono::nanoseconds limit) {
  exec::Command next = command(run);
  next.time_limit = limit;
  const claim::WorkerEpoch whose =
      claim::is_of_worker(of(run.grant).trigger) ? world_.self : claim::WorkerEpoch{};
  const Path file =
      action_file(world_.preparer.output_dir(), run.grant.action, run.grant.nth, whose);
  const exec::OutputRoot root = world_.preparer.output_root(world_.umask);
  Result<Descriptor> output = open_output(root, file, next.line);
  if (!output.ok())
    world_.notice(
        fmt::format("the output of {} is lost: {}", title(run.grant), output.error().what));
  next.stdout_fd = next.stderr_fd = output.ok() ? output->get() : -1;
  auto id = world_.host.start(next);
  if (output.ok()) output->reset();
  between_ = false;
  const auto bad = id ? world_.host.not_started(*id) : std::nullopt;
  const bool unanswered = bad && is_of_dead_mount(bad->os_errno);
  if (!id || unanswered) {
    // A filesystem that does not answer says nothing of the action either.
    if (unanswered) world_.host.forget(*id);
    world_.notice(fmt::format("cannot start {} here: {}", title(run.grant),
                              unanswered ? std::strerror(bad->os_errno) : id.error().what));
    claim::Outcome outcome;
    outcome.cause = claim::EndCause::stopped;
    report(run.grant, What::returned, outcome);
    running_.reset();
    return false;
  }
  run.id = *id;
  running_ = std::move(run);
  return true;
}

bool ActionRunner::start_next(std::chrono::nanoseconds limit) {
  if (running_) return !between_ || start(*std::move(running_), limit);
  while (!running_ && !waiting_.empty()) {
    const claim::ActionGrant grant = waiting_.front();
    waiting_.pop_front();
    auto commands = workflow::decode_commands(of(grant).recipe);
    if (!commands || grant.done >= commands->size()) {
      // All of it had run before; only its end was not told.
      claim::Outcome outcome;
      outcome.cause = claim::EndCause::exited;
      outcome.exit_code = 0;
      report(grant, What::ended, outcome);
      continue;
    }
    if (!start({grant, *std::move(commands), {}}, limit)) return false;
  }
  return true;
}

bool ActionRunner::ended(const exec::Ended& ended, bool told) {
  if (!running_ || between_ || running_->id != ended.id) return false;
  claim::Outcome outcome = outcome_of(ended);
  if (told && outcome.cause == claim::EndCause::signaled) outcome.cause = claim::EndCause::stopped;
  if (outcome.cause == claim::EndCause::exited && outcome.exit_code == 0) {
    if (++running_->grant.done < running_->commands.size() && stopping_) {
      report(running_->grant, What::returned, outcome);
    } else if (running_->grant.done < running_->commands.size()) {
      report(running_->grant, What::went_on, {});
      between_ = true;
      return true;
    } else {
      report(running_->grant, What::ended, outcome);
    }
  } else if (outcome.cause == claim::EndCause::stopped) {
    report(running_->grant, What::returned, outcome);
  } else {
    world_.notice(fmt::format("{} failed: {}: {}", title(running_->grant), show_outcome(outcome),
                              printable(running_->commands[running_->grant.done])));
    report(running_->grant, What::ended, outcome);
  }
  running_.reset();
  return true;
}

void ActionRunner::drain() {
  stopping_ = true;
  claim::Outcome outcome;
  outcome.cause = claim::EndCause::stopped;
  for (const claim::ActionGrant& grant : std::exchange(waiting_, {}))
    report(grant, What::returned, outcome);
  if (!between_) return;
  report(running_->grant, What::returned, outcome);
  running_.reset();
  between_ = false;
}

void ActionRunner::stop(std::chrono::nanoseconds lead) {
  drain();
  if (running_) world_.host.stop(running_->id, lead);
}

void ActionRunner::kill() {
  if (running_ && !between_) world_.host.kill(running_->id);
}

void ActionRunner::forget() {
  waiting_.clear();
  running_.reset();
  between_ = false;
  reports_.clear();
}

std::vector<claim::ActionReport> ActionRunner::take_reports() {
  return std::exchange(reports_, {});
}

void ActionRunner::put_back(std::vector<claim::ActionReport> reports) {
  reports.insert(reports.end(), std::make_move_iterator(reports_.begin()),
                 std::make_move_iterator(reports_.end()));
  reports_ = std::move(reports);
}

}  // namespace torc::worker
