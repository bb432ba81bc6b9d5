// A control group (version 2) for each command that has a memory limit, where the group of this
// process is delegated to it: the kernel then holds the limit, and ends the whole tree at once.
// docs/maintainer/execution.md says when that is so.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.h"

namespace torc::exec {

// The group of one command. It is removed with the value, when no process is left in it.
class JobGroup {
 public:
  JobGroup(std::string directory, int procs_fd);
  ~JobGroup();
  JobGroup(const JobGroup&) = delete;
  JobGroup& operator=(const JobGroup&) = delete;

  [[nodiscard]] const std::string& directory() const { return directory_; }
  // A process that writes "0" there moves itself into the group. Open as long as the value lives.
  [[nodiscard]] int procs_fd() const { return procs_fd_; }
  void kill() const;  // every process in it, whatever it did to hide
  // Processes of it that the kernel killed for lack of memory.
  [[nodiscard]] std::uint64_t oom_kills() const;
  // Of all that was charged to it, cached files included; nothing before Linux 5.19.
  [[nodiscard]] std::optional<ByteCount> peak() const;

 private:
  std::string directory_;
  int procs_fd_;
};

class JobGroups {
 public:
  // Null when the group of this process is not delegated, lacks the memory controller, or has
  // processes beside `own`, which must be all of this worker. Else `own` are moved into a group
  // of their own below it, since one that has processes can have no groups with controllers. `root`
  // is "" but for tests.
  static std::unique_ptr<JobGroups> create(const std::string& root, const std::vector<pid_t>& own);

  // Null: it could not be made.
  [[nodiscard]] std::unique_ptr<JobGroup> make(std::uint64_t number, ByteCount memory) const;

 private:
  explicit JobGroups(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace torc::exec
