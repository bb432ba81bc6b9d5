#include "lib/exec/end/job_groups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "lib/base/number.h"
#include "lib/exec/machine/cgroup.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

bool put(const std::string& file, const std::string& text) {
  const int fd = open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return written;
}

bool has_word(const std::optional<std::string>& text, const std::string& word) {
  std::istringstream in(text.value_or(""));
  for (std::string each; in >> each;) {
    if (each == word) return true;
  }
  return false;
}

std::vector<pid_t> members(const std::string& group) {
  std::vector<pid_t> pids;
  std::istringstream in(read_small_file(group + "/cgroup.procs").value_or(""));
  for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
  return pids;
}

// Undone unless it all worked: what was there before must be as it was.
class Move {
 public:
  Move(std::string from, const std::vector<pid_t>& own)
      : from_(std::move(from)), top_(from_ + "/torc-" + std::to_string(own.front())), own_(own) {}
  ~Move() {
    if (done_) return;
    for (const pid_t pid : moved_) put(from_ + "/cgroup.procs", std::to_string(pid));
    rmdir((top_ + "/worker").c_str());
    rmdir(top_.c_str());
  }
  bool run() {
    if (mkdir(top_.c_str(), 0755) != 0 || mkdir((top_ + "/worker").c_str(), 0755) != 0)
      return false;
    for (const pid_t pid : own_) {
      if (!put(top_ + "/worker/cgroup.procs", std::to_string(pid))) return false;
      moved_.push_back(pid);
    }
    done_ = put(from_ + "/cgroup.subtree_control", "+memory") &&
            put(top_ + "/cgroup.subtree_control", "+memory");
    return done_;
  }
  [[nodiscard]] const std::string& top() const { return top_; }

 private:
  std::string from_;
  std::string top_;
  const std::vector<pid_t>& own_;
  std::vector<pid_t> moved_;
  bool done_ = false;
};

}  // namespace

JobGroup::JobGroup(std::string directory, int procs_fd)
    : directory_(std::move(directory)), procs_fd_(procs_fd) {}

JobGroup::~JobGroup() {
  close(procs_fd_);
  rmdir(directory_.c_str());
}

void JobGroup::kill() const {
  put(directory_ + "/cgroup.kill", "1");
}

std::uint64_t JobGroup::oom_kills() const {
  const auto events = read_small_file(directory_ + "/memory.events").value_or("");
  return line_number(events, "oom_kill ").value_or(0);
}

std::optional<ByteCount> JobGroup::peak() const {
  const auto text = read_small_file(directory_ + "/memory.peak");
  const auto bytes = leading_number<std::uint64_t>(text.value_or(""));
  return bytes ? std::optional(ByteCount{*bytes}) : std::nullopt;
}

std::unique_ptr<JobGroups> JobGroups::create(const std::string& root,
                                             const std::vector<pid_t>& own) {
  const auto here = own_group(root);
  if (!here || own.empty()) return nullptr;
  if (!has_word(read_small_file(*here + "/cgroup.controllers"), "memory")) return nullptr;
  const std::vector<pid_t> all = members(*here);
  if (all.empty()) return nullptr;  // this process is there: the list could not be read
  for (const pid_t pid : all) {
    if (std::find(own.begin(), own.end(), pid) == own.end()) return nullptr;
  }
  Move move(*here, own);
  if (!move.run()) return nullptr;
  return std::unique_ptr<JobGroups>(new JobGroups(move.top()));
}

std::unique_ptr<JobGroup> JobGroups::make(std::uint64_t job, ByteCount memory) const {
  const std::string directory = directory_ + "/job-" + std::to_string(job);
  if (mkdir(directory.c_str(), 0755) != 0) return nullptr;
  const int fd = open((directory + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  // Killed as one: a tree that lost a part of itself is of no use to anybody.
  const bool limited = fd >= 0 && put(directory + "/memory.max", std::to_string(memory.value)) &&
                       put(directory + "/memory.oom.group", "1");
  if (!limited) {
    if (fd >= 0) close(fd);
    rmdir(directory.c_str());
    return nullptr;
  }
  put(directory + "/memory.swap.max", "0");  // where there is swap: it is no part of the limit
  return std::make_unique<JobGroup>(directory, fd);
}

}  // namespace torc::exec
