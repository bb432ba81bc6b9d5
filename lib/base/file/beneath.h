// Files below a directory in which others may write, too.
//
// A name below such a directory may be exchanged at any moment: for a symbolic link to a file of
// somebody else, a fifo, a device. So nothing below it is reached by a path: each name is looked up
// in the directory that was opened for the name before it, and no symbolic link is followed, at the
// end as little as on the way (openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS; before
// Linux 5.6, a walk with O_NOFOLLOW). What leads to the root itself is the user's own word: there,
// links are followed.
//
// `name` is relative, not empty, and has no component "..". Descriptors are closed in programs that
// are executed. Calls block no longer than the filesystem does: a fifo is not waited for.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/file/descriptor.h"
#include "lib/base/path.h"
#include "lib/base/result.h"

namespace torc::beneath {

// `flags` and `mode` are those of open(2). -1: see errno; ELOOP or ENOTDIR: a symbolic link is in
// the way. Allocates nothing, so that a child may call it between fork and exec.
int open_at(int root, const char* name, int flags, mode_t mode = 0) noexcept;
// The same without openat2(2).
int walk_at(int root, const char* name, int flags, mode_t mode = 0) noexcept;

// Where names are looked up, and which directory that is. It is opened anew each time, so that a
// filesystem that was mounted again is found; but another directory of the same filesystem in its
// place, which somebody has exchanged it for, is refused. The first one is kept open, and both are
// asked for their numbers: filesystems that make these up may change those of a directory, but not
// so that one that is open twice has two. For several threads.
class Root {
 public:
  // `links`: O_NOFOLLOW where it must not be a link itself.
  Root(Path path, int links = 0)
      : path_(std::move(path)), links_(links) {}  // NOLINT: a path is one
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;

  // To look up names in it, not to list it (O_PATH). Error fenced: it was exchanged.
  Result<Descriptor> open() const;
  // Whoever says which directory it is may mean that one, or only the one that is there now.
  enum class Until : std::uint8_t { opened_anew, the_end };
  // From now on it is the directory that is open as `fd`; closed: the one that is opened next.
  Result<void> hold(Descriptor fd, Until until);
  // It stays the one that it is by now: whoever works there for long means no other.
  void keep() { given_ = true; }
  // The directory that it is, closed where that is not known yet; forgotten here.
  Descriptor let_go();
  // Whether hold() has said so until the end.
  [[nodiscard]] bool is_given() const { return given_; }
  [[nodiscard]] const Path& path() const { return path_; }
  [[nodiscard]] int links() const { return links_; }

 private:
  Result<void> check(const Descriptor& opened) const;

  Path path_;
  int links_;
  std::atomic<bool> given_{false};
  mutable std::mutex mutex_;
  mutable Descriptor held_;
};

// Of what Root says of a directory that was exchanged: nothing that comes later makes it good.
[[nodiscard]] bool is_exchanged(const Error& error);

// A directory and the last name of a path in it, for calls such as unlinkat(2).
struct Entry {
  Descriptor directory;
  std::string name;
};
Result<Entry> entry(const Root& root, const Path& name);

// Regular files alone. Error corrupt: something else has the name.
Result<Descriptor> open_file(const Root& root, const Path& name, int flags, mode_t mode = 0666);

// A new file for what is written from now on. What had the name is removed, so that nobody who has
// it open, or another name of it, sees or changes what is written.
Result<Descriptor> open_fresh(const Root& root, const Path& name, int flags, mode_t mode = 0666);
int open_fresh_at(int root, const char* name, int flags, mode_t mode) noexcept;

// The file `name` has these bytes from now on, durably; whoever opens it finds all that it had
// before or all of them, also after the end of this process at any moment (a file beside it may be
// left then, NAME.new-…). Of several at once the last counts.
Result<void> replace_file(const Root& root, const Path& name, std::string_view bytes,
                          mode_t mode = 0666);
// The same with the mode, the owner and the group of `like`, as far as the caller may give these
// away: a group that it may not give is not given what the mode says of one, either.
Result<void> replace_file(const Root& root, const Path& name, std::string_view bytes,
                          const struct stat& like);

// The directory `name` with all above it, as mkdir -p.
Result<void> make_directories(const Root& root, const Path& name, mode_t mode = 0777);

// The names in a directory that is open to be read, without . and .., in no order. Takes it.
Result<std::vector<std::string>> list(Descriptor directory, const Path& shown);
// The same of a directory below `root`. Error not_found: there is none.
Result<std::vector<std::string>> list(const Root& root, const Path& name);

// Whether `fd` is a regular file; else an Error corrupt that says what `shown` is, with ESPIPE for
// a pipe, which the user may have meant.
Result<void> check_regular(int fd, const Path& shown);

// To append to; made when absent. Error corrupt also where the file has a second name, by which it
// may be anybody's.
Result<Descriptor> open_to_append(const Root& root, const Path& name, mode_t mode = 0666);

// A regular file that the user has named himself: links are followed; anything else is refused at
// once, without waiting for whoever may be at the other end.
Result<Descriptor> open_named(const Path& file, int flags);

// `path` as a name below `root`, by their texts alone; empty: it is not below it.
[[nodiscard]] Path name_below(const Path& root, const Path& path);

// Whether `fd`, which was opened as `name`, has that name and no other. Asked of the name, so that
// nobody makes it true by removing the other one meanwhile.
bool has_one_name(const Entry& entry, int fd) noexcept;

// Files are opened with O_NONBLOCK, so that a fifo is not waited for; whoever uses them shall not
// see that.
void make_blocking(int fd) noexcept;
// Before another try to open a file that somebody has under a lease (EAGAIN): 10 ms.
void pause_for_lease() noexcept;

// What is told of a name that a symbolic link or anything else but a file or directory has.
[[nodiscard]] Error open_error(int os_errno, const char* verb, const Path& shown);

}  // namespace torc::beneath
