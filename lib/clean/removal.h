// Removes files and directories by the descriptor of the directory that has them. No link is
// followed and no other filesystem entered; what belongs to another user, or is no file or
// directory, stays, and all of the directory in which it lies.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/path.h"
#include "lib/base/result.h"

namespace torc::clean {

struct Freed {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  Freed& operator+=(const Freed& more) {
    files += more.files;
    bytes += more.bytes;
    return *this;
  }
  auto operator<=>(const Freed&) const = default;
};

enum class Act : std::uint8_t { look, remove };

// What a directory has, and who asks.
struct Place {
  int directory = -1;
  Path shown;  // of messages
  std::uint32_t uid = 0;
  Act act = Act::look;
};

// A regular file with this name and no other. Zeros: there is none (any more). Errors: it is
// something else, or another user's, and was left.
Result<Freed> take_file(const Place& place, const std::string& name);
// A directory with all below it, looked through before the first name is removed. A link that lies
// in it is removed as a name; what it leads to is not looked at. Errors: as above; what was removed
// before a failure is gone.
Result<Freed> take_tree(const Place& place, const std::string& name);

}  // namespace torc::clean
