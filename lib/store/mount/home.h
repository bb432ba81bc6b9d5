// Whose a store of engine `lmdb` is: the machine that may open it. Its processes meet in shared
// memory and in locks that one kernel keeps, so it is that of one machine.
//
// A name says little of it: hosts are renamed, and names are given twice. A machine id says little,
// too: nodes without a disk get a new one at each boot. What decides is whether the directory is
// the very one that META speaks of, together with one of the two; in another directory it is the
// id.
#pragma once

#include <cstdint>
#include <string>

#include "lib/store/disk/disk.h"

namespace torc::store {

// What is known of a machine and of a store's place on it; empty and 0: not known.
struct Whereabouts {
  std::string machine;      // of machine_id()
  std::string host;         // name
  std::uint64_t inode = 0;  // of the state directory
  std::int64_t born = 0;    // ns since 1970
};

enum class Home : std::uint8_t {
  here,           // this machine's; whatever it is called now
  moved,          // this machine's, but in another directory: a copy, or moved between filesystems
  other_machine,  // surely not this machine's
  unknown         // what is known does not tell
};

// `made`: as META has it. `now`: as this process sees it.
[[nodiscard]] Home judge_home(const Whereabouts& made, const Whereabouts& now);

// Whether the two surely are, or surely are not, the same directory.
enum class SameDirectory : std::uint8_t { yes, no, unknown };
[[nodiscard]] SameDirectory compare_directories(const Whereabouts& a, const Whereabouts& b);

// 32 hexadecimal digits that follow from /etc/machine-id, or else from
// /var/lib/dbus/machine-id, and do not show it: machine-id(5) asks for that. Empty: there is none,
// as in many containers, or it cannot be read. `root` is "/" but for tests.
[[nodiscard]] std::string machine_id(const Path& root = "/");

}  // namespace torc::store
