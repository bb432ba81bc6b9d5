#include "lib/store/mount/home.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "lib/store/disk/hash.h"

namespace torc::store {
namespace {

// systemd writes "uninitialized" into the file of an image that has not been started yet.
bool is_machine_id(std::string_view text) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 32 && std::all_of(text.begin(), text.end(), is_hex) &&
         text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

SameDirectory compare_directories(const Whereabouts& a, const Whereabouts& b) {
  if (a.inode == 0 || b.inode == 0) return SameDirectory::unknown;
  const bool other_birth = a.born != 0 && b.born != 0 && a.born != b.born;
  return a.inode != b.inode || other_birth ? SameDirectory::no : SameDirectory::yes;
}

Home judge_home(const Whereabouts& made, const Whereabouts& now) {
  const SameDirectory directory = compare_directories(made, now);
  // A node without a disk gets a new id at each boot, the image of a container has its own or none.
  // A local filesystem is never live on two kernels at once, so its very directory is here.
  if (made.host == now.host && directory == SameDirectory::yes) return Home::here;
  if (made.machine.empty() != now.machine.empty()) return Home::unknown;
  if (made.machine != now.machine) return Home::other_machine;
  // Cloned machines have the same id: it is believed of another name in the very same directory
  // only. Without any id the name is all there is.
  const bool sure =
      made.host == now.host || (!made.machine.empty() && directory == SameDirectory::yes);
  if (!sure) return Home::unknown;
  return directory == SameDirectory::no ? Home::moved : Home::here;
}

std::string machine_id(const Path& root) {
  for (const char* file : {"etc/machine-id", "var/lib/dbus/machine-id"}) {
    std::ifstream in(root / file);
    std::string id;
    if (std::getline(in, id) && is_machine_id(id)) return to_hex(hash128({}, "torc machine " + id));
  }
  return {};
}

}  // namespace torc::store
