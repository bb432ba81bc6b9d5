#include "lib/exec/machine/memory_use.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

// Of a line "VmRSS:      1234 kB".
std::optional<ByteCount> kib_of_field(std::string_view text, std::string_view name) {
  const auto kib = line_number(text, name);
  return kib ? std::optional(ByteCount{*kib << 10}) : std::nullopt;
}

ByteCount of(std::optional<ByteCount> size) {
  return size.value_or(ByteCount{});
}

std::string status_of(pid_t pid) {
  return read_small_file("/proc/" + std::to_string(pid) + "/status").value_or("");
}

// Before Linux 4.5 the kinds are not told apart.
ByteCount counted(const std::string& status) {
  const auto anonymous = kib_of_field(status, "RssAnon:");
  if (!anonymous) return of(kib_of_field(status, "VmRSS:"));
  return *anonymous + of(kib_of_field(status, "RssShmem:"));
}

std::optional<ByteCount> proportional(pid_t pid) {
  const auto rollup = read_small_file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  if (!rollup || rollup->empty()) return std::nullopt;
  const auto anonymous = kib_of_field(*rollup, "Pss_Anon:");
  if (!anonymous) return kib_of_field(*rollup, "Pss:");
  return *anonymous + of(kib_of_field(*rollup, "Pss_Shmem:"));
}

}  // namespace

MemoryUse quick_memory_use(const std::vector<pid_t>& processes) {
  MemoryUse use;
  for (const pid_t pid : processes) {
    const std::string status = status_of(pid);
    use.now = use.now + counted(status);
    use.largest_peak = std::max(use.largest_peak, of(kib_of_field(status, "VmHWM:")));
  }
  return use;
}

ByteCount exact_memory_use(const std::vector<pid_t>& processes) {
  ByteCount sum;
  for (const pid_t pid : processes) {
    const auto share = proportional(pid);
    sum = sum + (share ? *share : counted(status_of(pid)));
  }
  return sum;
}

}  // namespace torc::exec
