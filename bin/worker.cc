#include "bin/worker.h"

#include <signal.h>

#include <utility>

#include "bin/worker_session.h"

namespace torc::cli {

sigset_t worker_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, s);
  // A blocked signal arrives even if it was to be ignored: nohup means that it shall not.
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) != 0 || hangup.sa_handler != SIG_IGN) {
    sigaddset(&set, SIGHUP);
  }
  return set;
}

void block_worker_signals() {
  sigset_t set = worker_signals();
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);  // whoever read its output may go away
  signal(SIGUSR2, SIG_IGN);  // a warning of Slurm's (--signal) is for the jobs, who get it too
}

Result<WorkerSummary> work(const App& app, std::unique_ptr<store::Store> store,
                           const WorkerSetup& setup, const WorkerEvents& events) {
  block_worker_signals();
  TORC_ASSIGN(const std::unique_ptr<exec::ProcessHost> host, exec::ProcessHost::create(app.clock));
  Session session(app, setup, events, *host);
  return session.run(std::move(store));
}

}  // namespace torc::cli
