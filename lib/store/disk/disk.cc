#include "lib/store/disk/disk.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace torc::store {
namespace {

constexpr int kStaleTries = 4;
constexpr std::size_t kFirstPart = std::size_t{1} << 20;  // most files are no larger
constexpr std::size_t kPart = std::size_t{8} << 20;

Result<std::string> read_once(Disk& disk, const Path& file, std::size_t most) {
  TORC_ASSIGN(const FileHandle handle, disk.open_read(file));
  const OpenFile open(disk, handle, file);
  Result<std::string> bytes = open.read(0, std::min(most + 1, kFirstPart));
  if (bytes.ok() && bytes->size() == kFirstPart) {
    // By its name, which may be gone by now: then it is read as far as it may be.
    const Result<FileStatus> status = disk.status(file);
    if (status.ok() && status->size.value > most) return too_large(file, most);
    // In parts into the place that it needs: at no moment is there more than one copy of it.
    if (status.ok()) bytes->reserve(status->size.value);
    for (std::size_t wanted = kPart; wanted == kPart && bytes->size() <= most;) {
      wanted = std::min(kPart, most + 1 - bytes->size());
      const Result<std::string> part = open.read(bytes->size(), wanted);
      if (!part.ok()) return part;
      bytes->append(*part);
      if (part->size() < wanted) break;
    }
  }
  if (!bytes.ok()) return bytes;
  if (bytes->size() > most) return too_large(file, most);
  return bytes;  // nothing was written: what close says of a reader decides nothing
}

Result<void> fill(OpenFile file, std::string_view bytes, Durable durable) {
  TORC_TRY(file.write(0, bytes));
  if (durable == Durable::yes) TORC_TRY(file.sync(Sync::all));
  return file.close();
}

}  // namespace

template <class T>
Result<T> OpenFile::named(Result<T> result) const {
  if (result.ok()) return result;
  Error error = std::move(result).error();
  error.what = file_.string() + ": " + error.what;
  return error;
}

Result<std::string> OpenFile::read(std::uint64_t offset, std::size_t size) const {
  return named(disk_->read(handle_, offset, size));
}

Result<void> OpenFile::write(std::uint64_t offset, std::string_view bytes) const {
  return named(disk_->write(handle_, offset, bytes));
}

Result<void> OpenFile::sync(Sync what) const {
  return named(disk_->sync(handle_, what));
}

Result<void> OpenFile::close() {
  if (handle_.fd < 0) return {};
  return named(disk_->close(std::exchange(handle_, FileHandle{})));
}

Error too_large(const Path& file, std::uint64_t most) {
  return {
      ErrorKind::corrupt,
      file.string() + " has more than " + std::to_string(most) + " bytes, which torc never writes",
      "somebody put it there; look at it with `ls -l`"};
}

Result<std::string> Disk::read_at(const Path& file, std::uint64_t offset, std::size_t size,
                                  Caches) {
  TORC_ASSIGN(const FileHandle handle, open_read(file));
  const OpenFile opened(*this, handle, file);
  return opened.read(offset, size);
}

Result<std::string> read_file(Disk& disk, const Path& file, std::size_t most) {
  for (int tries = 1;; ++tries) {
    Result<std::string> bytes = read_once(disk, file, most);
    if (bytes.ok() || bytes.error().os_errno != ESTALE || tries == kStaleTries) return bytes;
  }
}

Result<std::vector<std::string>> list_directory(Disk& disk, const Path& directory) {
  for (int tries = 1;; ++tries) {
    Result<std::vector<std::string>> names = disk.list(directory);
    if (names.ok() || names.error().os_errno != ESTALE || tries == kStaleTries) return names;
  }
}

Result<void> write_file(Disk& disk, const Path& file, std::string_view bytes, Durable durable) {
  TORC_ASSIGN(const FileHandle handle, disk.create(file));
  Result<void> written = fill(OpenFile(disk, handle, file), bytes, durable);
  if (!written.ok()) (void)disk.unlink(file);
  return written;
}

namespace {

Result<void> remove_below(Disk& disk, const Path& directory, std::uint64_t device) {
  TORC_ASSIGN(const std::vector<std::string> names, disk.list(directory));
  Result<void> first = {};
  const auto note = [&](Result<void> r) {
    if (!r.ok() && r.error().os_errno != ENOENT && first.ok()) first = std::move(r);
  };
  for (const std::string& name : names) {
    const Path path = directory / name;
    Result<void> gone = disk.unlink(path);
    // Asked, and not guessed from what unlink(2) says: EPERM also means that it may not go.
    const Result<FileStatus> status =
        gone.ok() ? Result<FileStatus>(FileStatus{}) : disk.status(path);
    const bool inner = status.ok() && status->kind == FileKind::directory;
    if (!inner) {
      note(std::move(gone));
    } else if (status->device != device) {
      note(Error{ErrorKind::busy, path.string() + " is a filesystem of its own, mounted there",
                 "unmount it first", EBUSY});
    } else {
      note(remove_below(disk, path, device));
    }
  }
  note(disk.remove_directory(directory));
  return first;
}

}  // namespace

Result<void> remove_tree(Disk& disk, const Path& directory) {
  TORC_ASSIGN(const FileStatus status, disk.status(directory));
  if (status.kind != FileKind::directory) {
    return Error{ErrorKind::corrupt, directory.string() + " is not a directory of its own",
                 "somebody put it there; look at it with `ls -l`, then remove it", ENOTDIR};
  }
  return remove_below(disk, directory, status.device);
}

}  // namespace torc::store
