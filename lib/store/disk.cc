#include "lib/store/disk.h"

#include <cerrno>
#include <limits>

namespace torc::store {
namespace {

constexpr int kStaleTries = 4;

// A handle does not know its path, a person wants it.
Error naming(Error error, const Path& file) {
  error.what = file.string() + ": " + error.what;
  return error;
}

Result<std::string> read_once(Disk& disk, const Path& file) {
  TORC_ASSIGN(const FileHandle handle, disk.open_read(file));
  OpenFile open(disk, handle);
  Result<std::string> bytes = disk.read(handle, 0, std::numeric_limits<std::uint32_t>::max());
  if (!bytes.ok()) return naming(std::move(bytes).error(), file);
  return bytes;  // nothing was written: what close says of a reader decides nothing
}

Result<void> fill(Disk& disk, FileHandle handle, std::string_view bytes, Durable durable) {
  OpenFile open(disk, handle);
  TORC_TRY(disk.write(handle, 0, bytes));
  if (durable == Durable::yes) TORC_TRY(disk.sync(handle, Sync::all));
  return open.close();
}

}  // namespace

Result<std::string> Disk::read_at(const Path& file, std::uint64_t offset, std::size_t size,
                                  Caches) {
  TORC_ASSIGN(const FileHandle handle, open_read(file));
  const OpenFile open(*this, handle);
  return read(handle, offset, size);
}

Result<std::string> read_file(Disk& disk, const Path& file) {
  for (int tries = 1;; ++tries) {
    Result<std::string> bytes = read_once(disk, file);
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
  Result<void> written = fill(disk, handle, bytes, durable);
  if (written.ok()) return {};
  (void)disk.unlink(file);
  return naming(std::move(written).error(), file);
}

Result<void> remove_tree(Disk& disk, const Path& directory) {
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
    note(inner ? remove_tree(disk, path) : std::move(gone));
  }
  note(disk.remove_directory(directory));
  return first;
}

}  // namespace torc::store
