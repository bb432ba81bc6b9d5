#include "bin/worker.h"

#include <signal.h>

#include <utility>

#include "bin/worker_session.h"

namespace torc::cli {

void block_worker_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);  // whoever read its output may go away
}

Result<WorkerSummary> work(const App& app, std::unique_ptr<store::Store> store,
                           const WorkerSetup& setup, const WorkerEvents& events) {
  block_worker_signals();
  TORC_ASSIGN(const std::unique_ptr<exec::ProcessHost> host, exec::ProcessHost::create(app.clock));
  Session session(app, setup, events, *host);
  return session.run(std::move(store));
}

}  // namespace torc::cli
