// Directories that a PosixDisk works in, each reached as the very directory that it was at its
// first use: below one, no symbolic link is followed, whoever puts one there meanwhile
// (lib/base/file/beneath.h). Outside of them links are followed, as the user has named them. What
// each call promises is said at Disk::protect.
#pragma once

#include <fcntl.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/base/file/descriptor.h"
#include "lib/base/path.h"
#include "lib/base/result.h"

namespace torc::beneath {
class Root;
}

namespace torc::store {

// Safe from several threads. `verb` is for errors: "cannot VERB PATH".
class ProtectedRoots {
 public:
  // `links`: O_NOFOLLOW when a link in the place of the root itself is not followed either, else 0.
  void protect(const Path& root, int links);
  void keep(const Path& root);
  Result<void> protect_opened(const Path& root, Descriptor opened);

  // A root that this process has moved is where it is now; what was there before it is not any
  // more.
  void note_moved(const Path& from, const Path& to);
  // What gets its place is another one, which the next use takes.
  void note_removed(const Path& root);

  // A name in a directory that was opened for it, for calls such as unlinkat(2).
  struct Spot {
    Descriptor directory;
    std::string name;
    [[nodiscard]] int at() const { return directory ? directory.get() : AT_FDCWD; }
  };
  [[nodiscard]] Result<Spot> spot(const Path& path, const char* verb) const;

  // With the `flags` of open(2). EINTR, a stale name and a file that somebody has under a lease are
  // met.
  [[nodiscard]] Result<Descriptor> open(const Path& path, int flags, const char* verb) const;
  [[nodiscard]] Result<Descriptor> open_directory(const Path& directory, const char* verb) const;

 private:
  std::shared_ptr<beneath::Root> made_known(const Path& root, int links);
  [[nodiscard]] std::shared_ptr<beneath::Root> known(const Path& root) const;
  // The innermost one above `path`; null: none.
  [[nodiscard]] std::shared_ptr<const beneath::Root> above(const Path& path) const;
  [[nodiscard]] Result<Descriptor> open_named(const Path& path, int flags, int outside,
                                              const char* verb) const;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<beneath::Root>> roots_;
};

}  // namespace torc::store
