#include "lib/clean/removal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "lib/base/file/beneath.h"

namespace torc::clean {
namespace {

// Each level below costs a descriptor.
constexpr int kMostLevels = 100;

Error left(const Path& shown, const std::string& why) {
  return {ErrorKind::permission, fmt::format("{} {}", shown.string(), why),
          "remove it yourself if nobody needs it"};
}

Result<void> check_owner(const struct stat& about, const Place& place, const Path& shown) {
  if (about.st_uid == place.uid) return {};
  return left(shown, fmt::format("belongs to user {}", about.st_uid));
}

Result<void> remove(const Place& place, const std::string& name, int flags) {
  if (place.act == Act::look || ::unlinkat(place.directory, name.c_str(), flags) == 0 ||
      errno == ENOENT)
    return {};
  return os_error(errno, "cannot remove " + (place.shown / name).string());
}

std::uint64_t bytes_of(const struct stat& about) {
  // Another name keeps them.
  return S_ISREG(about.st_mode) && about.st_nlink == 1 ? static_cast<std::uint64_t>(about.st_size)
                                                       : 0;
}

Result<Freed> walk(const Place& place, const std::string& name, dev_t device, int levels);

Result<Freed> take_entry(const Place& place, const std::string& name, dev_t device, int levels) {
  struct stat about {};
  const Path shown = place.shown / name;
  if (::fstatat(place.directory, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Freed{};
    return os_error(errno, "cannot look at " + shown.string());
  }
  if (S_ISDIR(about.st_mode)) return walk(place, name, device, levels);
  TORC_TRY(check_owner(about, place, shown));
  if (!S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode))
    return left(shown, "is not a file, directory or link");
  TORC_TRY(remove(place, name, 0));
  return Freed{1, bytes_of(about)};
}

// `device`: no other one is entered.
Result<Freed> walk(const Place& place, const std::string& name, dev_t device, int levels) {
  const Path shown = place.shown / name;
  const Descriptor opened(
      beneath::open_at(place.directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (!opened) {
    if (errno == ENOENT) return Freed{};
    return beneath::open_error(errno, "open", shown);
  }
  struct stat about {};
  if (::fstat(opened.get(), &about) != 0)
    return os_error(errno, "cannot look at " + shown.string());
  TORC_TRY(check_owner(about, place, shown));
  if (about.st_dev != device) return left(shown, "is another filesystem");
  if (levels == 0) return left(shown, "has too many directories within each other");
  Descriptor listed(beneath::open_at(opened.get(), ".", O_RDONLY | O_DIRECTORY));
  if (!listed) return beneath::open_error(errno, "list", shown);
  TORC_ASSIGN(const std::vector<std::string> names, beneath::list(std::move(listed), shown));
  Freed freed;
  const Place inner{opened.get(), shown, place.uid, place.act};
  for (const std::string& one : names) {
    TORC_ASSIGN(const Freed more, take_entry(inner, one, about.st_dev, levels - 1));
    freed += more;
  }
  TORC_TRY(remove(place, name, AT_REMOVEDIR));
  return freed;
}

}  // namespace

Result<Freed> take_file(const Place& place, const std::string& name) {
  struct stat about {};
  const Path shown = place.shown / name;
  if (::fstatat(place.directory, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return Freed{};
    return os_error(errno, "cannot look at " + shown.string());
  }
  if (!S_ISREG(about.st_mode)) return left(shown, "is not a regular file");
  TORC_TRY(check_owner(about, place, shown));
  if (about.st_nlink != 1) return left(shown, "has another name, too");
  TORC_TRY(remove(place, name, 0));
  return Freed{1, bytes_of(about)};
}

Result<Freed> take_tree(const Place& place, const std::string& name) {
  Place looked = place;
  looked.act = Act::look;
  struct stat at {};
  if (::fstat(place.directory, &at) != 0)
    return os_error(errno, "cannot look at " + place.shown.string());
  TORC_ASSIGN(const Freed found, walk(looked, name, at.st_dev, kMostLevels));
  if (place.act == Act::look) return found;
  return walk(place, name, at.st_dev, kMostLevels);
}

}  // namespace torc::clean
