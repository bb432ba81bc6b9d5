#include "tests/torture/crew.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

namespace torc::torture {
namespace {

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::vector<pid_t> children_of(pid_t pid) {
  std::istringstream in(itest::read_text(fmt::format("/proc/{0}/task/{0}/children", pid)));
  std::vector<pid_t> children;
  for (pid_t child = 0; in >> child;) children.push_back(child);
  return children;
}

std::string program_of(pid_t pid) {
  char path[4096];
  const ssize_t n = readlink(fmt::format("/proc/{}/exe", pid).c_str(), path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "";
}

bool has_threads(pid_t pid) {
  return itest::read_text(fmt::format("/proc/{}/status", pid)).find("\nThreads:\t1\n") ==
         std::string::npos;
}

// A thread in one of the calls of lib/store/disk/posix_disk.cc or of LMDB that a commit consists
// of.
bool is_writing(pid_t pid) {
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
    const std::string call = itest::read_text(task.path() / "syscall");
    if (call.empty() || std::isdigit(static_cast<unsigned char>(call.front())) == 0) continue;
    switch (std::atol(call.c_str())) {
      case SYS_fsync:
      case SYS_fdatasync:
      case SYS_linkat:
      case SYS_pwrite64:
      case SYS_pwritev:
      case SYS_getdents64:
      case SYS_msync:
        return true;
      default:
        break;
    }
  }
  return false;
}

std::string line_of(pid_t pid, const std::string& line, const std::string& name) {
  const std::string text = itest::read_text(fmt::format("/proc/{}/{}", pid, name));
  for (const std::string& found : itest::lines_of(text)) {
    if (found.starts_with(line)) return found;
  }
  return "";
}

// What it is, and what each of its threads waits for.
std::string describe(pid_t pid) {
  std::string line = itest::read_text(fmt::format("/proc/{}/cmdline", pid));
  std::replace(line.begin(), line.end(), '\0', ' ');
  std::string text = fmt::format("{}: {}", pid, line);
  for (const char* what : {"PPid:", "State:", "SigPnd:", "ShdPnd:", "SigBlk:"})
    text += fmt::format("\n    {}", line_of(pid, what, "status"));
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
    text += fmt::format(
        "\n    thread {}: {}, in {}, call {}", task.path().filename().string(),
        line_of(pid, "State:", "task/" + task.path().filename().string() + "/status"),
        itest::read_text(task.path() / "wchan"), itest::read_text(task.path() / "syscall"));
  }
  return text;
}

}  // namespace

std::int64_t wall_now() {
  return read_clock(CLOCK_REALTIME);
}
std::int64_t boot_now() {
  return read_clock(CLOCK_BOOTTIME);
}

void Ledger::killed(pid_t pid) {
  ended(pid);
  fates_[pid].was_killed = true;
}

void Ledger::ended(pid_t pid) {
  Fate& fate = fates_[pid];
  if (fate.died_at == 0) fate.died_at = wall_now();
  continued(pid);
}

void Ledger::stopped(pid_t pid) {
  fates_[pid].stops.emplace_back(wall_now(), 0);
}

void Ledger::continued(pid_t pid) {
  auto& stops = fates_[pid].stops;
  if (!stops.empty() && stops.back().second == 0) stops.back().second = wall_now();
}

const Ledger::Fate* Ledger::find(pid_t pid) const {
  const auto it = fates_.find(pid);
  return it == fates_.end() ? nullptr : &it->second;
}

bool Ledger::anybody_stood_still(std::int64_t from, std::int64_t to) const {
  const auto meets = [&](const std::pair<std::int64_t, std::int64_t>& gap) {
    return gap.first < to && (gap.second == 0 || gap.second > from);
  };
  return std::any_of(stalls_.begin(), stalls_.end(), meets) ||
         std::any_of(fates_.begin(), fates_.end(), [&](const auto& fate) {
           return std::any_of(fate.second.stops.begin(), fate.second.stops.end(), meets);
         });
}

Member::Member(itest::Launch launch, Ledger& ledger)
    : launch_(std::move(launch)), ledger_(ledger) {}

void Member::start() {
  process_ = std::make_unique<itest::Process>(launch_);
  seen_ = {process_->pid()};
  stopped_.clear();
  suspended_ = false;
  ledger_.lives(process_->pid());
}

// A job's process is the same program, too, between its birth and its execve, but has one thread.
pid_t Member::find_child() const {
  if (!process_->running()) return 0;
  for (const pid_t child : children_of(process_->pid())) {
    if (program_of(child) == launch_.argv.front() && has_threads(child)) return child;
  }
  return 0;
}

void Member::note(pid_t pid, int signal) {
  if (std::find(seen_.begin(), seen_.end(), pid) == seen_.end()) seen_.push_back(pid);
  if (signal == SIGKILL) ledger_.killed(pid);
  if (signal == SIGSTOP) {
    ledger_.stopped(pid);
    stopped_.push_back(pid);
  }
}

void Member::strike(Target target, int signal) {
  const pid_t parent = process_->pid();
  const pid_t child = find_child();
  std::vector<pid_t> victims;
  if (child != 0 && target != Target::parent) victims.push_back(child);
  if (child == 0 || target != Target::child) victims.push_back(parent);
  for (const pid_t pid : victims) {
    note(pid, signal);
    ::kill(pid, signal);
  }
  if (signal != SIGKILL || child == 0) return;
  // Neither survives the other. A parent whose child was killed ends by itself, and may be dealt a
  // second fault before its end is noticed here: what counts is this moment.
  note(child, SIGKILL);
  ledger_.ended(parent);
}

void Member::suspend() {
  suspended_ = true;
  for (const pid_t pid : {process_->pid(), find_child()}) {
    if (pid != 0) ledger_.stopped(pid);
    if (pid != 0 && std::find(seen_.begin(), seen_.end(), pid) == seen_.end()) seen_.push_back(pid);
  }
  ::kill(-process_->pid(), SIGTSTP);
}

bool Member::is_committing() const {
  const pid_t child = find_child();
  return is_writing(child != 0 ? child : process_->pid());
}

bool Member::wait_for_commit(std::int64_t limit) const {
  const pid_t child = find_child();
  for (const std::int64_t until = boot_now() + limit; boot_now() < until;) {
    if (is_writing(child != 0 ? child : process_->pid())) return true;
  }
  return false;
}

void Member::resume() {
  if (std::exchange(suspended_, false)) {
    for (const pid_t pid : seen_) ledger_.continued(pid);
    if (process_->running()) ::kill(-process_->pid(), SIGCONT);
  }
  for (const pid_t pid : stopped_) {
    ledger_.continued(pid);
    ::kill(pid, SIGCONT);
  }
  stopped_.clear();
}

std::string Member::evidence() const {
  std::string text = fmt::format("--- {}, started here{}\n{}\n", describe(process_->pid()),
                                 suspended_ || !stopped_.empty() ? ", stopped by this program" : "",
                                 process_->out() + process_->err());
  for (const pid_t child : children_of(process_->pid()))
    text += fmt::format("    below it: {}\n", describe(child));
  return text;
}

void Member::buried() {
  for (const pid_t pid : seen_) ledger_.ended(pid);
  stopped_.clear();
  suspended_ = false;
}

void reap_orphans(const std::vector<pid_t>& own) {
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (std::find(own.begin(), own.end(), info.si_pid) != own.end()) return;
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

std::vector<std::string> survivors(std::chrono::seconds limit) {
  std::vector<std::unique_ptr<itest::Witness>> witnesses;
  std::vector<itest::Source*> sources;
  for (const pid_t child : children_of(getpid())) {
    witnesses.push_back(std::make_unique<itest::Witness>(child));
    sources.push_back(witnesses.back().get());
  }
  (void)itest::wait_until(
      sources,
      [&] {
        reap_orphans({});
        return children_of(getpid()).empty();
      },
      limit);
  std::vector<std::string> left;
  for (const pid_t child : children_of(getpid())) {
    left.push_back(describe(child));
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  return left;
}

}  // namespace torc::torture
