// How much processes read and wrote, by /proc/PID/io. The kernel adds what a child did to its
// parent when that waits for it; so the sum over the living processes of a tree, and over those
// that ended without being waited for by another of it, is that of the tree.
#pragma once

#include <sys/types.h>

#include <optional>

#include "lib/base/activity.h"
#include "lib/base/file/descriptor.h"

namespace torc::exec {

// The file of one process, kept open: it can still be read when the process has ended and is not
// reaped yet. (By its name only root could do that.)
class IoFile {
 public:
  IoFile() = default;
  explicit IoFile(pid_t pid);

  [[nodiscard]] bool there() const { return static_cast<bool>(file_); }
  [[nodiscard]] std::optional<Traffic> read() const;  // nothing: it does not let itself be read

 private:
  Descriptor file_;
};

[[nodiscard]] constexpr Traffic operator+(const Traffic& a, const Traffic& b) {
  return {a.read + b.read, a.written + b.written};
}

}  // namespace torc::exec
