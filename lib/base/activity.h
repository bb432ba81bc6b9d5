// What a process tree did beside computing and using memory, as far as the kernel tells.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "lib/base/units.h"

namespace torc {

struct Traffic {
  ByteCount read;
  ByteCount written;
  auto operator<=>(const Traffic&) const = default;
};

struct Activity {
  // By system calls: files, whether in memory or not, pipes, terminals. Nothing: it was not seen.
  std::optional<Traffic> io;
  // What storage was asked for; less than the above where the kernel's cache had it, more where
  // files were mapped.
  Traffic storage;
  std::uint64_t voluntary_switches = 0;    // it waited for something
  std::uint64_t involuntary_switches = 0;  // others had the CPU
  auto operator<=>(const Activity&) const = default;
};

}  // namespace torc
