#include "lib/base/file/user_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

namespace torc::user_directory {
namespace {

constexpr int kMostTries = 8;  // others make and remove directories at the same time

Error not_ours(const Path& path, const std::string& why) {
  return {ErrorKind::permission, path.string() + " " + why,
          "remove it, or set TMPDIR or TORC_NODE_DIR to a directory of your own"};
}

Result<void> check_ours(const struct stat& about, const Path& path, std::uint32_t uid) {
  if (!S_ISDIR(about.st_mode)) return not_ours(path, "is not a directory of ours");
  if (about.st_uid != uid) return not_ours(path, "belongs to user " + std::to_string(about.st_uid));
  if ((about.st_mode & 077) != 0) return not_ours(path, "is open to others");
  return {};
}

}  // namespace

std::string fixed_name(std::uint32_t uid) {
  return "torc-" + std::to_string(uid);
}

Result<std::vector<std::string>> random_names(int root, const Path& shown, std::uint32_t uid,
                                              Modes modes, std::size_t most_names) {
  Descriptor fd(::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(fd ? ::fdopendir(fd.get()) : nullptr, ::closedir);
  if (!dir) return os_error(errno, "cannot list " + shown.string());
  (void)fd.release();
  const std::string start = fixed_name(uid) + "-";
  std::vector<std::string> found;
  std::size_t seen = 0;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    if (++seen > most_names) {
      return Error{ErrorKind::permission, "there are too many names in " + shown.string(),
                   "remove what is not needed there, or set TMPDIR or TORC_NODE_DIR to a directory "
                   "of your own"};
    }
    const std::string name = entry->d_name;
    if (!name.starts_with(start)) continue;
    struct stat about {};
    if (::fstatat(root, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // removed meanwhile
      return os_error(errno, "cannot look at " + (shown / name).string());
    }
    const bool ours = S_ISDIR(about.st_mode) && about.st_uid == uid;
    if (ours && (modes == Modes::any || check_ours(about, shown / name, uid).ok()))
      found.push_back(name);
  }
  if (errno != 0) return os_error(errno, "cannot list " + shown.string());
  std::ranges::sort(found);
  return found;
}

Result<Found> open_named(int root, const Path& shown, const std::string& name, std::uint32_t uid) {
  const Path path = shown / name;
  struct stat about {};
  // Asked before it is opened: of a directory that is closed to us, opening says less.
  if (::fstatat(root, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0)
    return os_error(errno, "cannot open " + path.string());
  TORC_TRY(check_ours(about, path, uid));
  Found found{
      Descriptor(::openat(root, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
      name};
  if (!found.directory || ::fstat(found.directory.get(), &about) != 0)
    return os_error(errno, "cannot open " + path.string());
  TORC_TRY(check_ours(about, path, uid));
  return found;
}

namespace {

// By the order that the header tells. Errors: ENOENT (nobody has the fixed name), exists (somebody
// has it, and there is no other), and what is in the way of looking.
Result<Found> look(int root, const Path& shown, std::uint32_t uid, std::size_t most_names) {
  Result<Found> fixed = open_named(root, shown, fixed_name(uid), uid);
  if (fixed.ok()) return fixed;
  const bool taken = fixed.error().kind == ErrorKind::permission;
  if (!taken && fixed.error().os_errno != ENOENT) return fixed;
  const Result<std::vector<std::string>> others =
      random_names(root, shown, uid, Modes::closed, most_names);
  if (others.ok() && !others->empty()) return open_named(root, shown, others->front(), uid);
  Error error = std::move(fixed).error();
  // Nobody is kept from a name that is free because the others cannot be looked for.
  if (!taken) return error;
  if (others.ok()) {
    error.kind = ErrorKind::exists;
  } else {
    error.what += ", and " + others.error().what;
  }
  return error;
}

Result<std::string> make_random(const Path& shown, std::uint32_t uid) {
  std::string path = (shown / (fixed_name(uid) + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) return os_error(errno, "cannot make " + path);
  return Path(path).filename().string();
}

}  // namespace

Result<Found> open(int root, const Path& shown, std::uint32_t uid, Missing missing,
                   std::size_t most_names) {
  std::string made;
  for (int tries = 0; tries < kMostTries; ++tries) {
    Result<Found> found = look(root, shown, uid, most_names);
    // Made in vain: another is earlier by name. Whoever has put something into this one meanwhile
    // keeps it, and moves when he asks again.
    if (!made.empty() && (!found.ok() || found->name != made)) {
      ::unlinkat(root, made.c_str(), AT_REMOVEDIR);
      made.clear();
    }
    if (found.ok()) return found;
    const bool taken = found.error().kind == ErrorKind::exists;
    if (!taken && found.error().os_errno != ENOENT) return found;
    if (missing == Missing::fail) return os_error(ENOENT, "there is none in " + shown.string());
    if (taken) {
      TORC_ASSIGN(made, make_random(shown, uid));
    } else if (::mkdirat(root, fixed_name(uid).c_str(), 0700) != 0 && errno != EEXIST) {
      return os_error(errno, "cannot make " + (shown / fixed_name(uid)).string());
    }
  }
  return Error{
      ErrorKind::busy, "directories are made and removed again and again in " + shown.string(), {}};
}

}  // namespace torc::user_directory
