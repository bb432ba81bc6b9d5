#include "lib/worker/loop/notice_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/worker/jobs/load.h"
#include "lib/worker/text/outcome_text.h"
#include "lib/workflow/plan/plan_actions.h"

namespace torc::worker {
namespace {

using What = Notice::What;

std::string show(std::chrono::nanoseconds d) {
  return show_duration(
      std::chrono::duration_cast<WallTime>(std::max(d, std::chrono::nanoseconds(0))));
}

std::string_view again(int number) {
  return number == SIGINT ? "press Ctrl-C again" : "send SIGTERM again";
}

std::string name_of(const Notice& n) {
  return n.job == nullptr ? "" : n.job->job.name;
}

std::string show_obstacle(const Notice& n) {
  if (n.step == exec::StartStep::none) return n.text;
  return fmt::format("the filesystem of {} does not answer ({})", exec::to_string(n.step),
                     std::strerror(n.number));
}

std::string with(claim::Remedy remedy) {
  if (remedy == claim::Remedy::raise_memory) return " with more memory";
  return remedy == claim::Remedy::raise_runtime ? " with more time" : "";
}

std::string show_ceiling(const Notice& n) {
  if (n.ceiling == claim::Ceiling::memory)
    return fmt::format("'{}' is not tried again: ceiling reached, its memory cannot grow beyond {}",
                       name_of(n), show_bytes(n.memory));
  return fmt::format("'{}' is not tried again: ceiling reached, its runtime cannot grow beyond {}",
                     name_of(n), show(n.time));
}

std::string show_leaving(const Notice& n) {
  std::string what;
  if (n.count > 0)
    what = n.count == 1
               ? fmt::format("1 job has {} to save its work and end", show(n.time))
               : fmt::format("{} jobs have {} to save their work and end", n.count, show(n.time));
  if (n.other > 0)
    what += fmt::format("{}{} may go on for {}, with {} more to end then", what.empty() ? "" : "; ",
                        plural(n.other, "job"), show(n.time - n.lead), show(n.lead));
  return fmt::format("told to leave: {}; send SIGTERM again to stop them now", what);
}

std::string show_awaited(const Notice& n) {
  std::string what;
  if (n.count > 0) what = plural(n.count, "canceled job") + " that another worker has to end";
  if (n.other > 0)
    what += fmt::format("{}{} that another worker runs", what.empty() ? "" : " and ",
                        plural(n.other, "action"));
  return fmt::format("waiting for {}, or for the end of its lease", what);
}

std::string show_loss(const Notice& n) {
  return fmt::format(
      "{}: {}, so it is over on all of its nodes{}; what is left of it here is ended, and this "
      "node "
      "is free then",
      n.job == nullptr ? fmt::format("job #{}", n.other) : fmt::format("'{}'", name_of(n)),
      n.text.empty() ? "one of its nodes has left" : printable(n.text) + " was lost or has left",
      n.flag ? ", and runs again as its next attempt" : "");
}

std::string title(const Notice& n, const NoticeWorld& world) {
  return fmt::format("action {} ({})", n.action.action,
                     claim::to_string(world.actions[n.action.action - 1].trigger));
}

std::string command_of(const Notice& n, const NoticeWorld& world) {
  const auto commands = workflow::decode_commands(world.actions[n.action.action - 1].recipe);
  return commands && n.action.done < commands->size() ? printable((*commands)[n.action.done]) : "";
}

std::string show_refusal(const claim::Refused& r) {
  switch (r.why) {
    case claim::Refusal::superseded:
      if (claim::raw(r.holder) == 0) return "that attempt does not count any more";
      return fmt::format("worker {} has the job now", claim::raw(r.holder));
    case claim::Refusal::finished:
      return "the job has ended already";
    case claim::Refusal::canceled:
      return "the job was canceled";
    case claim::Refusal::no_such_job:
      return "the store has no such job";
  }
  return "?";
}

std::string show_refused(const claim::Refused& r) {
  return fmt::format("the result of job #{} (attempt {}) was discarded: {}", raw(r.token.job),
                     r.token.attempt, show_refusal(r));
}

}  // namespace

std::string show_end_of(const Load& load, const claim::Outcome& outcome,
                        const JobPreparer& preparer) {
  const std::vector<std::string>& files = load.job.declared.outputs;
  const bool lacks_file = outcome.missing_output > 0 && outcome.missing_output <= files.size();
  const std::string& named = lacks_file ? files[outcome.missing_output - 1] : load.job.command.line;
  return show_outcome(outcome, named, preparer.directory()) +
         (outcome.rank == 0 ? "" : fmt::format(", on rank {}", outcome.rank));
}

std::string show_script_end(const exec::Ended& script) {
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

std::string show_notice(const Notice& n, const NoticeWorld& world) {
  const auto ended = [&] { return show_end_of(*n.job, n.outcome, world.preparer); };
  switch (n.what) {
    case What::cannot_start:
    case What::cannot_start_mount:
      return fmt::format("cannot start '{}', trying again: {}", name_of(n), show_obstacle(n));
    case What::runs_alone:
      return fmt::format("'{}' runs alone{}: an earlier worker was lost with it", name_of(n),
                         n.flag ? "" : " for a while");
    case What::node_cannot_run:
      return fmt::format("cannot run jobs here: {} of '{}': {}", exec::to_string(n.step),
                         name_of(n), std::strerror(n.number));
    case What::mount_stays_dead:
      return fmt::format("cannot run jobs here, for {} minutes now: {}",
                         std::chrono::duration_cast<std::chrono::minutes>(n.time).count(),
                         show_obstacle(n));
    case What::job_canceled:
      return fmt::format("'{}' was canceled: ending it", name_of(n));
    case What::tried_again:
      return fmt::format("'{}' failed ({}) and is tried again{}: retry {} of {}", name_of(n),
                         ended(), n.time.count() > 0 ? " in " + show(n.time) : "", n.count,
                         n.other);
    case What::recovered:
      return fmt::format("'{}' failed ({}) and runs again{}{}: recovery {} of {}", name_of(n),
                         ended(), with(n.remedy), n.time.count() > 0 ? " in " + show(n.time) : "",
                         n.count, n.other);
    case What::recoveries_used:
      return fmt::format("'{}' has been recovered {}, and is not recovered again (max_recoveries)",
                         name_of(n), plural(n.count, "time"));
    case What::ceiling_reached:
      return show_ceiling(n);
    case What::failures_wait:
      return "jobs that fail wait for a decision (use_pending_failed): `torc retry NAME` runs one "
             "again, `torc cancel NAME` lets its failure stand";
    case What::recovery_begins:
      return fmt::format("'{}' failed ({}): running its recovery script", name_of(n), ended());
    case What::recovery_not_started:
      return fmt::format("cannot start the recovery script of '{}': {}", name_of(n), n.text);
    case What::recovery_failed:
      return fmt::format("the recovery script of '{}' failed ({}); see {}", name_of(n),
                         show_script_end(n.ended),
                         recovery_file(world.preparer.output_dir(), n.job->job.grant.token.job,
                                       n.job->job.grant.token.attempt)
                             .string());
    case What::finishes_jobs:
      return fmt::format("finishing {}; press Ctrl-C again to stop {}",
                         plural(n.count, "running job"), n.count == 1 ? "it" : "them");
    case What::told_to_leave:
      return show_leaving(n);
    case What::stops_jobs:
      return fmt::format("stopping {}, with {} to end; {} to kill {}",
                         plural(n.count, "running job"), show(n.lead), again(n.number),
                         n.count == 1 ? "it" : "them");
    case What::results_left:
      return fmt::format("{} not reported yet: trying for {} more; {} to give up",
                         plural(n.count, "result"), show(n.lead), again(n.number));
    case What::kills_jobs:
      return "killing " + plural(n.count, "running job");
    case What::no_time_left:
      return "no time is left: stopping " + plural(n.count, "running job");
    case What::lease_lost:
      return n.text;
    case What::too_late:
      return "this worker could not renew its lease in time (frozen, or its filesystem hangs)";
    case What::lease_stands:
      if (world.running == 0) return "";
      return fmt::format("its lease is still good: {} {} on", plural(world.running, "running job"),
                         world.running == 1 ? "goes" : "go");
    case What::lease_in_doubt:
      if (world.running == 0) return "";
      return fmt::format(
          "stopped {}: this worker could not renew its lease in time, "
          "or was stopped; asking the store whether it still has it",
          plural(world.running, "running job"));
    case What::no_answer:
      return fmt::format("no answer about the lease yet: {}", n.text);
    case What::cannot_write:
      return fmt::format("the store cannot be written now, trying again: {}", n.text);
    case What::can_write_again:
      return "the store can be written again";
    case What::result_refused:
      return show_refused(n.refused);
    case What::waits_for_new_jobs:
      return fmt::format("nothing is left to do; waiting {} for new jobs", show(n.time));
    case What::stays:
      return "nothing is left to do; this worker stays until its time is up or it is told to stop "
             "(compute_node_ignore_workflow_completion)";
    case What::allocation_unused:
      return n.flag ? fmt::format("there was nothing for this worker to do for {}", show(n.time))
                    : fmt::format(
                          "no worker of this allocation has had anything to do for {}: they leave",
                          show(n.time));
    case What::awaits_others:
      return show_awaited(n);
    case What::gave_up_results:
      return fmt::format(
          "gave up on reporting {}, {}: {}", plural(n.count, "result"),
          n.flag ? "whether the store has them is not known; if not, those jobs run again"
                 : "those jobs will run again",
          n.text);
    case What::node_is_taken:
      return fmt::format("waits until CPUs of this node are free{}; see: torc node",
                         world.holders.empty() ? "" : ": " + world.holders + " has them");
    case What::gang_formed:
      return fmt::format("'{}' has {} nodes, this one first: waiting until all have confirmed",
                         name_of(n), n.count);
    case What::gang_joined:
      return fmt::format(
          "holds this node for {}, as rank {} of {} nodes, of which {} is the head",
          n.job == nullptr ? fmt::format("job #{}", n.other) : fmt::format("'{}'", name_of(n)),
          n.number, n.count, printable(n.text));
    case What::gang_incomplete:
      return fmt::format("'{}' is given back: after {} these nodes have not confirmed: {}",
                         name_of(n), show(n.time), printable(n.text));
    case What::gang_lacks_node:
      return fmt::format("cannot have this whole node for '{}': others use a part of it",
                         name_of(n));
    case What::gang_stays:
      return fmt::format(
          "stays until '{}', which has this node, is over; {} to leave it, which ends it "
          "on all of its nodes",
          name_of(n), again(n.number));
    case What::gang_silent:
      return fmt::format(
          "'{}' has failed; that is reported once these nodes have shown that they live, else it "
          "runs again: {}",
          name_of(n), printable(n.text));
    case What::gang_lost:
      return show_loss(n);
    case What::gang_over:
      return fmt::format(
          "the attempt of '{}' was over before it ended: a node of it was lost or has left",
          name_of(n));
    case What::gang_left_some:
      return fmt::format(
          "processes of '{}' may be left on this node: for {} they could not be ended, or not be "
          "looked for",
          name_of(n), show(n.time));
    case What::action_not_started:
      return fmt::format("cannot start {} here: {}", title(n, world),
                         n.number != 0 ? std::strerror(n.number) : n.text);
    case What::action_failed:
      return fmt::format("{} failed: {}: {}", title(n, world), show_outcome(n.outcome),
                         command_of(n, world));
  }
  return "";
}

std::string show_others_here(const std::vector<exec::NodeEntry>& here,
                             const exec::NodeMember& self) {
  std::vector<pid_t> pids;
  for (const exec::NodeEntry& e : here) {
    if (e.member.store == self.store && e.member.worker.pid != self.worker.pid)
      pids.push_back(e.member.worker.pid);
  }
  if (pids.empty()) return "";
  return fmt::format(
      "shares this node with {} of this workflow (process {}): all together they use what it has, "
      "and one is enough",
      pids.size() == 1 ? "another worker" : fmt::format("{} other workers", pids.size()),
      fmt::join(pids, ", "));
}

}  // namespace torc::worker
