#include "lib/exec/machine/io_use.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

namespace torc::exec {
namespace {

// Of a line "rchar: 1234".
std::optional<ByteCount> bytes_of_field(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digit = text.find_first_of("0123456789", at + name.size());
  if (digit == std::string_view::npos) return std::nullopt;
  ByteCount bytes;
  std::from_chars(text.data() + digit, text.data() + text.size(), bytes.value);
  return bytes;
}

}  // namespace

IoFile::IoFile(pid_t pid)
    : fd_(open(("/proc/" + std::to_string(pid) + "/io").c_str(), O_RDONLY | O_CLOEXEC)) {}

IoFile::~IoFile() {
  if (fd_ >= 0) close(fd_);
}

std::optional<Traffic> IoFile::read() const {
  char buffer[512];
  const ssize_t n = fd_ >= 0 ? pread(fd_, buffer, sizeof buffer, 0) : -1;
  if (n <= 0) return std::nullopt;
  const std::string_view text(buffer, static_cast<std::size_t>(n));
  const auto read_bytes = bytes_of_field(text, "rchar:");
  const auto written = bytes_of_field(text, "wchar:");
  if (!read_bytes || !written) return std::nullopt;
  return Traffic{*read_bytes, *written};
}

}  // namespace torc::exec
