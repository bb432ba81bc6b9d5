#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/number.h"
#include "lib/exec/process/host.h"

namespace torc::exec {
namespace {

std::chrono::microseconds microseconds_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

std::optional<Traffic> most(const std::optional<Traffic>& a, const std::optional<Traffic>& b) {
  if (!a || !b) return a ? a : b;
  return Traffic{std::max(a->read, b->read), std::max(a->written, b->written)};
}

constexpr std::uint64_t kStorageUnit = 512;  // of ru_inblock and ru_oublock

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

// Children of other threads are not looked at: run_program() waits for those. Orphans come to the
// main thread.
pid_t Host::dead_child() const {
  if (const pid_t pid = peek(0)) return pid;
  if (thread_ == process_) return 0;
  if (!children_files_.empty()) {
    for (const pid_t child : children()) {
      if (const pid_t pid = peek(child)) return pid;
    }
    return 0;
  }
  for (const auto& [child, stray] : strays_) {
    if (const pid_t pid = peek(child)) return pid;
  }
  return 0;
}

bool Host::reap() {
  bool any = false;
  while (const pid_t pid = dead_child()) {
    take(pid);
    any = true;
  }
  return any;
}

void Host::account(Run& run, const struct rusage& usage) {
  run.cpu_time += microseconds_of(usage.ru_utime) + microseconds_of(usage.ru_stime);
  const ByteCount rss{static_cast<std::uint64_t>(usage.ru_maxrss) << 10};
  run.max_rss = std::max(run.max_rss, rss);
  const auto bytes = [](long blocks) {
    return ByteCount{static_cast<std::uint64_t>(blocks) * kStorageUnit};
  };
  Activity& activity = run.activity;
  activity.storage = activity.storage + Traffic{bytes(usage.ru_inblock), bytes(usage.ru_oublock)};
  activity.voluntary_switches += static_cast<std::uint64_t>(usage.ru_nvcsw);
  activity.involuntary_switches += static_cast<std::uint64_t>(usage.ru_nivcsw);
}

// Before it is reaped. Short commands are not looked at, and spared the cost.
void Host::account_io(Run& run, pid_t pid, bool is_leader) {
  if (!run.io_file.there()) return;
  const auto io = is_leader ? run.io_file.read() : IoFile(pid).read();
  if (io) run.activity.io = run.activity.io.value_or(Traffic{}) + *io;
}

// Reaps a dead child. A dead leader is left unreaped until its group is killed, so that no other
// process can have got the group's number.
void Host::take(pid_t pid) {
  auto key = runs_.by_session(pid);
  Run* run = key ? runs_.find(*key) : nullptr;
  const bool is_leader = run != nullptr && !run->leader_gone;
  const bool by_itself = is_leader && run->phase == Phase::running;
  if (by_itself) kill_run(*key);
  const auto stray = strays_.find(pid);
  if (!is_leader) {
    key = stray != strays_.end() ? stray->second.owner : owner_of(pid);
    run = key ? runs_.find(*key) : nullptr;
  }
  if (run != nullptr) account_io(*run, pid, is_leader);
  int status = SIGKILL;  // an end that nobody can tell of was no success
  struct rusage usage {};
  while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  earlier_children_.erase(pid);
  if (run != nullptr) account(*run, usage);
  if (is_leader) {
    run->leader_gone = true;
    run->status = status;
    const bool out_of_memory = killed_in_group(*run) || (by_itself && killed_by_kernel(*run));
    if (!run->cause && by_itself && out_of_memory) run->cause = Ending::out_of_memory;
    leaderless_.push_back(*key);
  }
  if (stray != strays_.end()) {
    if (run != nullptr) --run->strays;
    strays_.erase(stray);
  }
}

std::vector<pid_t> Host::children() const {
  if (children_files_.empty()) return children_of(process_).pids;
  std::vector<pid_t> all = children_files_.front()->read();
  for (std::size_t i = 1; i < children_files_.size(); ++i) {
    const auto more = children_files_[i]->read();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

void Host::adopt() {
  const std::vector<pid_t> found = children();
  // What came from a command that a slot began must find it here.
  if (!found.empty()) know_leaders(std::chrono::nanoseconds(0));
  for (const pid_t pid : found) {
    const auto key = runs_.by_session(pid);
    const bool is_leader = key && !runs_.find(*key)->leader_gone;
    if (!is_leader && !strays_.contains(pid) && !earlier_children_.contains(pid)) adopt_one(pid);
  }
}

void Host::adopt_one(pid_t pid) {
  const auto owner = owner_of(pid);
  Run* run = owner ? runs_.find(*owner) : nullptr;
  if (owner && run == nullptr) {
    // A slot has not told yet that the command began, or how it ended: this is found again then.
    if (is_of_lane(*owner)) return;
    ::kill(pid, SIGKILL);  // of a command whose end was reported: it had hidden then
    return;
  }
  // Without `children` files those of other threads, which are not ours, look the same.
  if (!owner && children_files_.empty()) return;
  strays_.emplace(pid, Stray{owner, last_key_});
  if (run == nullptr) return;
  ++run->strays;
}

// By the session, else by the variable that every command gets; nothing when a process has left the
// one and cleared the other.
std::optional<RunKey> Host::owner_of(pid_t pid) const {
  if (const auto key = runs_.by_session(getsid(pid))) return key;
  const auto value = environment_value(pid, "TORC_RUN_ID");
  if (!value) return std::nullopt;
  const std::string part = identity_ + ".";
  const auto at = value->find(part);
  if (at == std::string::npos || (at != 0 && (*value)[at - 1] != '/')) return std::nullopt;
  return leading_number<RunKey>(std::string_view(*value).substr(at + part.size())).value_or(0);
}

// Of each tree without a leader: kills what was found since, and reports it when nothing is left.
void Host::settle() {
  const std::vector<RunKey> keys = leaderless_;
  for (const RunKey key : keys) {
    Run& run = *runs_.find(key);
    claim_hidden(key);
    if (run.phase == Phase::killed) kill_strays(key);
    if (tree_gone(run)) report(key);
  }
}

// A process that hides whose it is belongs to the last of the commands it can have come from.
void Host::claim_hidden(RunKey key) {
  const auto oldest = runs_.oldest();
  for (auto& [pid, stray] : strays_) {
    if (stray.owner || stray.newest < key) continue;
    bool only = oldest == key;
    if (only) {
      const auto next = runs_.all().upper_bound(key);
      only = next == runs_.all().end() || next->first > stray.newest;
    }
    if (!only) continue;
    stray.owner = key;
    ++runs_.find(key)->strays;
  }
}

bool Host::tree_gone(Run& run) {
  if (!run.group_gone && ::kill(-run.group, 0) != 0) {
    run.group_gone = true;  // ESRCH; or EPERM: members of another user, who are beyond our reach
  }
  return run.group_gone && run.strays == 0;
}

// See Ended::max_rss. The kernel counts the pages of a process only roughly, a MiB more or less.
// This process's own peak never falls, so it is looked at again only where an old one would do.
ByteCount Host::peak_of(const Run& run) {
  constexpr ByteCount kRoughly = mebibytes(1);
  if (run.max_rss > own_peak_ + kRoughly) {
    struct rusage own {};
    getrusage(RUSAGE_SELF, &own);
    own_peak_ = ByteCount{static_cast<std::uint64_t>(own.ru_maxrss) << 10};
  }
  const bool told = run.max_rss > own_peak_ + kRoughly;
  return told ? std::max(run.memory.peak, run.max_rss) : run.memory.peak;
}

void Host::report(RunKey key) {
  report_run(key, *runs_.find(key), clock_.wall_now());
  std::erase(leaderless_, key);
  runs_.remove(key);
  if (lane_terms_.erase(key) > 0) lane_->settled();
}

void Host::report_run(RunKey key, const Run& run, WallTime ended_at) {
  Ended ended;
  ended.id = RunId{key};
  if (WIFEXITED(run.status)) ended.exit_code = WEXITSTATUS(run.status);
  if (WIFSIGNALED(run.status)) ended.signal = WTERMSIG(run.status);
  ended.how = run.cause.value_or(ended.signal != 0 ? Ending::signaled : Ending::exited);
  ended.started_at = run.started_at;
  ended.ended_at = ended_at;
  ended.max_rss = peak_of(run);
  if (ended.max_rss.value == 0 && run.limits != nullptr)
    ended.max_rss = run.limits->peak().value_or(ByteCount{});
  ended.cpu_time = run.cpu_time;
  ended.activity = run.activity;
  ended.activity.io = most(run.activity.io, run.io_seen);
  ended_.push_back(ended);
}

}  // namespace torc::exec
