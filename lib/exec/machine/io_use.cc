#include "lib/exec/machine/io_use.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "lib/exec/machine/procfs.h"

namespace torc::exec {

IoFile::IoFile(pid_t pid)
    : file_(open(("/proc/" + std::to_string(pid) + "/io").c_str(), O_RDONLY | O_CLOEXEC)) {}

std::optional<Traffic> IoFile::read() const {
  char buffer[512];
  const ssize_t n = file_ ? pread(file_.get(), buffer, sizeof buffer, 0) : -1;
  if (n <= 0) return std::nullopt;
  const std::string_view text(buffer, static_cast<std::size_t>(n));
  const auto read_bytes = line_number(text, "rchar:");
  const auto written = line_number(text, "wchar:");
  if (!read_bytes || !written) return std::nullopt;
  return Traffic{{*read_bytes}, {*written}};
}

}  // namespace torc::exec
