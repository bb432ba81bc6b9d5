// Everything lib/store asks of the filesystem that holds a store, and the only way it asks. Each
// call is one operation, so that a test that passes another Disk can tear, delay, refuse or forget
// exactly one. (What LMDB does with its own file, and the private directory of a replica, are local
// to the node and do not go through here.)
//
// Paths are absolute; calls block. A failed call that changes something may have changed it all the
// same: on a network filesystem a reply can be lost after the server acted. Errors carry the errno.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/file/descriptor.h"
#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/store/disk/mount_watch.h"
#include "lib/store/disk/protected_roots.h"

namespace torc::store {

// An open file. Whoever opened it closes it, exactly once, also after a failed close.
struct FileHandle {
  int fd = -1;
};

enum class FileKind : std::uint8_t { regular, directory, other };
struct FileStatus {
  FileKind kind = FileKind::other;
  ByteCount size;
  // What tells a file from a copy of it; 0: not known.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t born = 0;  // ns since 1970, by the filesystem's clock
};

// What is mounted where, and what should be, as this process sees it: the texts of
// /proc/self/mountinfo and /etc/fstab. Empty: not known.
struct MountTables {
  std::string mounted;
  std::string wanted;
};

enum class Sync : std::uint8_t {
  data,
  all
};  // fdatasync, fsync: `all` carries new names of the file too
enum class Replace : std::uint8_t { no, yes };
enum class Caches : std::uint8_t {
  trust,
  bypass  // the client's pages of a file are not asked where the filesystem can do without
          // (O_DIRECT)
};

enum class Root : std::uint8_t {
  named,     // by the user: links on the way to it are followed
  made_here  // by this process: it is no link
};

class Disk {
 public:
  virtual ~Disk() = default;

  virtual Result<FileHandle> open_read(const Path& file) = 0;
  virtual Result<FileHandle> open_update(const Path& file) = 0;  // read and write; made when absent
  virtual Result<FileHandle> create(
      const Path& file) = 0;  // for writing; kind `exists` when it is there
  virtual Result<FileHandle> create_unnamed(const Path& directory) = 0;  // O_TMPFILE

  // At most `size` bytes from `offset`; fewer only at the end of the file.
  virtual Result<std::string> read(FileHandle file, std::uint64_t offset, std::size_t size) = 0;
  // The same of a file that is opened for it and closed again, so that what an earlier look left in
  // the client's memory is not believed.
  virtual Result<std::string> read_at(const Path& file, std::uint64_t offset, std::size_t size,
                                      Caches caches);
  virtual Result<void> write(FileHandle file, std::uint64_t offset, std::string_view bytes) = 0;
  virtual Result<void> sync(FileHandle file, Sync what) = 0;
  virtual Result<void> close(FileHandle file) = 0;

  virtual Result<void> link(const Path& from,
                            const Path& to) = 0;  // kind `exists` when `to` is there
  virtual Result<void> link_unnamed(FileHandle file, const Path& to) = 0;
  virtual Result<void> unlink(const Path& file) = 0;
  virtual Result<void> make_directory(const Path& directory) = 0;
  virtual Result<void> remove_directory(const Path& directory) = 0;
  // Replace::no falls back on a plain rename where the kernel cannot promise it; that one replaces
  // a file or an empty directory, never a directory with something in it.
  virtual Result<void> rename(const Path& from, const Path& to, Replace replace) = 0;
  virtual Result<void> sync_directory(const Path& directory) = 0;

  // The names in a directory without . and .., in no order. Always asks anew.
  virtual Result<std::vector<std::string>> list(const Path& directory) = 0;
  virtual Result<FileStatus> status(const Path& path) = 0;  // does not follow a symbolic link
  virtual Result<std::uint64_t> filesystem(const Path& path) = 0;  // magic number of statfs(2)

  // A number of the filesystem (f_fsid of statfs(2)) that stays when it is mounted anew and that
  // another one on this machine hardly has; 0: not known.
  virtual std::uint64_t filesystem_id(const Path&) { return 0; }
  virtual MountTables mount_tables() { return {}; }
  // Another number than before: something was mounted or unmounted meanwhile. Asks no server.
  virtual std::uint64_t mount_changes() { return 0; }
  // Without symbolic links, as far as that can be found out.
  virtual Path resolved(const Path& path) { return path; }

  // From now on nothing below `root` is reached through a symbolic link, whoever puts one there
  // meanwhile (lib/base/file/beneath.h); links on the way to `root` are the user's own. Whoever
  // works in a directory says so first: Store, verify, doctor. It stays the directory that it is at
  // the first use: another one in its place on the same filesystem is Error fenced. Of a directory
  // that this process made, under a name of its own, a link in its place is not followed either.
  virtual void protect(const Path& /*root*/, Root /*kind*/ = Root::named) {}
  // From now on no protect() of it takes another one: whoever works there for long means this one.
  virtual void keep(const Path& /*root*/) {}
  // The same, for the directory that is open as `opened`, and no other one that gets its place.
  virtual Result<void> protect_opened(const Path& root, Descriptor /*opened*/) {
    protect(root);
    return {};
  }

  // An exclusive lock without waiting; false: somebody has it. It ends with the handle.
  virtual Result<bool> try_lock(FileHandle file) = 0;
  virtual Result<void> unlock(FileHandle file) = 0;
};

// The real one. EINTR and short writes are handled; nothing is retried after a failed sync or
// close. What is opened to be read or written must be a regular file: else an Error of kind corrupt
// says what it is, without waiting for anybody.
class PosixDisk : public Disk {
 public:
  PosixDisk() = default;
  // With a group (its number), every directory that is made belongs to it, is open to its members
  // and closed to others, and hands the group on to all that anybody makes in it (set-group-ID).
  // Files get their modes from the process's umask as ever. Error permission: not a member of it.
  explicit PosixDisk(std::optional<std::uint32_t> group) : group_(group) {}

  Result<FileHandle> open_read(const Path& file) override;
  Result<FileHandle> open_update(const Path& file) override;
  Result<FileHandle> create(const Path& file) override;
  Result<FileHandle> create_unnamed(const Path& directory) override;
  Result<std::string> read(FileHandle file, std::uint64_t offset, std::size_t size) override;
  Result<std::string> read_at(const Path& file, std::uint64_t offset, std::size_t size,
                              Caches caches) override;
  Result<void> write(FileHandle file, std::uint64_t offset, std::string_view bytes) override;
  Result<void> sync(FileHandle file, Sync what) override;
  Result<void> close(FileHandle file) override;
  Result<void> link(const Path& from, const Path& to) override;
  Result<void> link_unnamed(FileHandle file, const Path& to) override;
  Result<void> unlink(const Path& file) override;
  Result<void> make_directory(const Path& directory) override;
  Result<void> remove_directory(const Path& directory) override;
  Result<void> rename(const Path& from, const Path& to, Replace replace) override;
  Result<void> sync_directory(const Path& directory) override;
  Result<std::vector<std::string>> list(const Path& directory) override;
  Result<FileStatus> status(const Path& path) override;
  Result<std::uint64_t> filesystem(const Path& path) override;
  std::uint64_t filesystem_id(const Path& path) override;
  MountTables mount_tables() override;
  std::uint64_t mount_changes() override { return mount_watch_.changes(); }
  Path resolved(const Path& path) override;
  void protect(const Path& root, Root kind) override;
  void keep(const Path& root) override;
  Result<void> protect_opened(const Path& root, Descriptor opened) override;
  Result<bool> try_lock(FileHandle file) override;
  Result<void> unlock(FileHandle file) override;

 private:
  std::optional<std::uint32_t> group_;
  MountWatch mount_watch_;
  ProtectedRoots roots_;
};

// Error corrupt.
[[nodiscard]] Error too_large(const Path& file, std::uint64_t most);

// Of any file of a store, in bytes; nothing that torc writes is as large.
inline constexpr std::size_t kMostOfAFile = std::size_t{1} << 29;

// The whole of a file of at most `most` bytes; of a larger one Error corrupt. ESTALE (the file was
// replaced or the server restarted) is met by opening it again from its path, a few times.
Result<std::string> read_file(Disk& disk, const Path& file, std::size_t most = kMostOfAFile);

// The names in a directory, with ESTALE met in the same way.
Result<std::vector<std::string>> list_directory(Disk& disk, const Path& directory);

// Writes a new file and makes it durable when `sync`. After an error the file is gone as far as can
// be.
enum class Durable : std::uint8_t { no, yes };
Result<void> write_file(Disk& disk, const Path& file, std::string_view bytes, Durable durable);

// Deletes a directory and everything in it, as far as it can; the first error is returned. What is
// no directory is unlinked, never entered, and nothing mounted below it is touched. Below a
// protected root (Disk::protect) that holds whatever others do meanwhile.
Result<void> remove_tree(Disk& disk, const Path& directory);

// Closes on scope exit, ignoring errors; close() closes now and tells. A handle does not know its
// path: what fails here is told with that of `file`, or of the directory where it has no name.
class OpenFile {
 public:
  OpenFile(Disk& disk, FileHandle handle, Path file)
      : disk_(&disk), handle_(handle), file_(std::move(file)) {}
  OpenFile(OpenFile&& other) noexcept
      : disk_(other.disk_), handle_(other.handle_), file_(std::move(other.file_)) {
    other.handle_.fd = -1;
  }
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(disk_, other.disk_);  // what it had is closed with the other
    std::swap(handle_, other.handle_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~OpenFile() { (void)close(); }

  // As Disk has them.
  Result<std::string> read(std::uint64_t offset, std::size_t size) const;
  Result<void> write(std::uint64_t offset, std::string_view bytes) const;
  Result<void> sync(Sync what) const;
  Result<void> close();
  [[nodiscard]] FileHandle handle() const { return handle_; }

 private:
  template <class T>
  Result<T> named(Result<T> result) const;

  Disk* disk_;
  FileHandle handle_;
  Path file_;
};

}  // namespace torc::store
