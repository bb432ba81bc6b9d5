#include "lib/exec/run/own_children.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace torc::exec {
namespace {

// Only children of the calling thread when `id` is 0. They are left unreaped.
pid_t peek(pid_t id) {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  const int result = id == 0 ? waitid(P_ALL, 0, &info, options | __WNOTHREAD)
                             : waitid(P_PID, static_cast<id_t>(id), &info, options);
  return result == 0 ? info.si_pid : 0;
}

}  // namespace

bool is_dead_child(pid_t pid) {
  return peek(pid) == pid;
}

OwnChildren::OwnChildren() : process_(getpid()), thread_(static_cast<pid_t>(syscall(SYS_gettid))) {}

void OwnChildren::open() {
  // The kernel gives orphans to the first living thread of a subreaper, which is the main one.
  for (const pid_t tid : threads()) {
    auto file = std::make_unique<ChildrenFile>(tid);
    if (file->there()) files_.push_back(std::move(file));
  }
  for (const pid_t child : all()) left_alone_.insert(child);
}

std::vector<pid_t> OwnChildren::threads() const {
  if (thread_ == process_) return {process_};
  return {process_, thread_};
}

std::vector<pid_t> OwnChildren::all() const {
  if (files_.empty()) return children_of(process_).pids;
  std::vector<pid_t> pids = files_.front()->read();
  for (std::size_t i = 1; i < files_.size(); ++i) {
    const auto more = files_[i]->read();
    pids.insert(pids.end(), more.begin(), more.end());
  }
  return pids;
}

// Children of other threads are not looked at: run_program() waits for those. Orphans come to the
// main thread.
pid_t OwnChildren::dead_one(const Strays& adopted) const {
  if (const pid_t pid = peek(0)) return pid;
  if (thread_ == process_) return 0;
  for (const pid_t child : are_listed() ? all() : adopted.all()) {
    if (const pid_t pid = peek(child)) return pid;
  }
  return 0;
}

OwnChildren::Reaped OwnChildren::reap(pid_t pid) {
  Reaped reaped;
  reaped.status = SIGKILL;
  while (wait4(pid, &reaped.status, 0, &reaped.usage) < 0 && errno == EINTR) {
  }
  left_alone_.erase(pid);
  return reaped;
}

}  // namespace torc::exec
