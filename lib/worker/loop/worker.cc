#include "lib/worker/loop/worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

#include "lib/exec/end/watched_lease.h"
#include "lib/exec/node/node_ledger.h"
#include "lib/worker/loop/notice_text.h"
#include "lib/worker/loop/session.h"

namespace torc::worker {

sigset_t worker_signals() {
  sigset_t set;
  sigemptyset(&set);
  // A blocked signal arrives even if it was to be ignored: nohup, and a shell for what it starts in
  // the background, mean that it shall not.
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    struct sigaction before {};
    if (sigaction(s, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    sigaddset(&set, s);
  }
  return set;
}

void block_worker_signals() {
  sigset_t set = worker_signals();
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGTTOU, SIG_IGN);  // it writes to its terminal from the background
  signal(SIGPIPE, SIG_IGN);  // whoever read its output may go away
  signal(SIGUSR2, SIG_IGN);  // a warning of Slurm's (--signal) is for the jobs
}

namespace {

// Without a ledger a worker does its work all the same.
std::unique_ptr<exec::NodeLedger> enter_ledger(const workflow::Context& context,
                                               const WorkerSetup& setup, const store::Store& store,
                                               const WorkerEvents& events) {
  if (!setup.node) return nullptr;
  exec::NodeMember member = *setup.node;
  member.worker = exec::this_process();
  member.watchdog = context.watched != nullptr ? context.watched->process() : member.worker;
  member.since = context.clock.wall_now();
  member.store = store.directory().string();
  auto ledger = exec::NodeLedger::enter(setup.node_place, member, context.clock);
  if (ledger) {
    // After entering: of two that come at once the later one sees the other.
    const auto here = exec::NodeLedger::look(setup.node_place);
    const std::string others = here ? show_others_here(*here, member) : "";
    if (events.notice && !others.empty()) events.notice(others);
    return *std::move(ledger);
  }
  if (events.notice) {
    events.notice(
        fmt::format("takes no account of other workers on this node: {}", ledger.error().text()));
  }
  return nullptr;
}

// Where Slurm knows the processes of a step by their parents alone, those whose parents have ended
// outlive it.
void end_leftovers(const exec::Command& command, const exec::Origin& origin) {
  std::vector<std::string> tags;
  for (const char* name : {"TORC_WORKFLOW_ID=", "TORC_JOB_ID=", "TORC_CLAIM_ID="}) {
    for (const auto* some : {&command.env, command.common_env.get()}) {
      if (some == nullptr) continue;
      for (const std::string& entry : *some) {
        if (entry.starts_with(name)) tags.push_back(entry);
      }
    }
  }
  constexpr std::size_t kAll = 3;
  if (tags.size() == kAll) (void)exec::kill_tagged(tags, origin);
}

}  // namespace

Result<WorkerSummary> work(const workflow::Context& context, std::unique_ptr<store::Store> store,
                           const WorkerSetup& setup, const WorkerEvents& events) {
  block_worker_signals();
  // A group of its own: SIGKILL to the one of the watchdog (`kill -9 %1`, `timeout -s KILL`) leaves
  // somebody who ends the jobs. The watchdog passes on all other signals.
  if (context.watched != nullptr) setpgid(0, 0);
  // Gone after the host, which ends what still runs on it.
  const auto ledger = enter_ledger(context, setup, *store, events);
  TORC_ASSIGN(std::unique_ptr<exec::ProcessHost> host,
              exec::ProcessHost::create(context.clock, context.watched));
  if (setup.steps) {
    exec::StepTerms terms = *setup.steps;
    const exec::ProcessIdentity self =
        context.watched != nullptr ? context.watched->process() : exec::this_process();
    terms.end_leftovers = [origin = exec::Origin{self.start, exec::ancestors_of(self),
                                                 setup.allocation}](const exec::Command& command) {
      end_leftovers(command, origin);
    };
    terms.name = fmt::format("torc-steps-{:016x}{:016x}", context.world.entropy.next(),
                             context.world.entropy.next());
    TORC_ASSIGN(host, exec::StepHost::create(std::move(host), context.clock, std::move(terms)));
  }
  Session session(context, setup, events, *host, ledger.get());
  return session.run(std::move(store));
}

}  // namespace torc::worker
