#include "lib/store/testing/test_memory_disk.h"

#include <cerrno>

namespace torc::store::testing {

FileHandle MemoryDisk::hand_out(Inode inode) {
  server_.pin(inode);
  handles_[next_] = inode;
  return {next_++};
}

Result<FileServer::Inode> MemoryDisk::inode_of(FileHandle file) {
  const auto found = handles_.find(file.fd);
  if (found != handles_.end()) return found->second;
  ++misused_;
  return os_error(EBADF, "not an open handle");
}

Result<FileHandle> MemoryDisk::open_read(const Path& file) {
  TORC_ASSIGN(const Inode inode, server_.walk(file));
  TORC_ASSIGN(const FileServer::Attributes attributes, server_.attributes(inode));
  if (attributes.status.kind == FileKind::directory)
    return os_error(EISDIR, "cannot open " + file.string());
  return hand_out(inode);
}

Result<FileHandle> MemoryDisk::open_update(const Path& file) {
  if (server_.walk(file).ok()) return open_read(file);
  return create(file);
}

Result<FileHandle> MemoryDisk::create(const Path& file) {
  TORC_ASSIGN(const Inode parent, parent_of(file));
  TORC_ASSIGN(const Inode made, server_.create(parent, file.filename()));
  return hand_out(made);
}

Result<FileHandle> MemoryDisk::create_unnamed(const Path& directory) {
  if (!abilities_.unnamed_files) return os_error(EOPNOTSUPP, "no unnamed files here");
  TORC_TRY(server_.walk(directory));
  return hand_out(server_.create_unnamed());
}

Result<std::string> MemoryDisk::read(FileHandle file, std::uint64_t offset, std::size_t size) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  TORC_ASSIGN(const auto bytes, server_.content(inode));
  return bytes->read(offset, size);
}

Result<void> MemoryDisk::write(FileHandle file, std::uint64_t offset, std::string_view bytes) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  return server_.write(inode, offset, bytes);
}

Result<void> MemoryDisk::sync(FileHandle file, Sync what) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  server_.sync(inode, what);
  return {};
}

Result<void> MemoryDisk::close(FileHandle file) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  handles_.erase(file.fd);
  if (const auto lock = locks_.find(inode); lock != locks_.end() && lock->second == file.fd)
    locks_.erase(lock);
  server_.unpin(inode);
  return {};
}

Result<void> MemoryDisk::link(const Path& from, const Path& to) {
  if (!abilities_.hard_links) return os_error(EPERM, "no hard links here");
  TORC_ASSIGN(const Inode inode, server_.walk(from));
  TORC_ASSIGN(const Inode parent, parent_of(to));
  return server_.link(inode, parent, to.filename());
}

Result<void> MemoryDisk::link_unnamed(FileHandle file, const Path& to) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  TORC_ASSIGN(const Inode parent, parent_of(to));
  return server_.link(inode, parent, to.filename());
}

Result<void> MemoryDisk::unlink(const Path& file) {
  TORC_ASSIGN(const Inode parent, parent_of(file));
  return server_.unlink(parent, file.filename());
}

Result<void> MemoryDisk::make_directory(const Path& directory) {
  TORC_ASSIGN(const Inode parent, parent_of(directory));
  TORC_TRY(server_.make_directory(parent, directory.filename()));
  return {};
}

Result<void> MemoryDisk::remove_directory(const Path& directory) {
  TORC_ASSIGN(const Inode parent, parent_of(directory));
  return server_.remove_directory(parent, directory.filename());
}

Result<void> MemoryDisk::rename(const Path& from, const Path& to, Replace replace) {
  TORC_ASSIGN(const Inode source, parent_of(from));
  TORC_ASSIGN(const Inode target, parent_of(to));
  return server_.rename(source, from.filename(), target, to.filename(), replace);
}

Result<void> MemoryDisk::sync_directory(const Path& directory) {
  TORC_ASSIGN(const Inode inode, server_.walk(directory));
  server_.sync_directory(inode);
  return {};
}

Result<std::vector<std::string>> MemoryDisk::list(const Path& directory) {
  TORC_ASSIGN(const Inode inode, server_.walk(directory));
  TORC_ASSIGN(const auto entries, server_.list(inode));
  std::vector<std::string> names;
  for (const auto& [name, at] : entries) names.push_back(name);
  return names;
}

Result<FileStatus> MemoryDisk::status(const Path& path) {
  if (path.string().starts_with("/proc/")) return FileStatus{FileKind::directory, {}};
  TORC_ASSIGN(const Inode inode, server_.walk(path));
  TORC_ASSIGN(const FileServer::Attributes attributes, server_.attributes(inode));
  return attributes.status;
}

Result<std::uint64_t> MemoryDisk::filesystem(const Path& path) {
  TORC_TRY(server_.walk(path));
  return abilities_.magic;
}

Result<bool> MemoryDisk::try_lock(FileHandle file) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  const auto [held, fresh] = locks_.emplace(inode, file.fd);
  return fresh || held->second == file.fd;
}

Result<void> MemoryDisk::unlock(FileHandle file) {
  TORC_ASSIGN(const Inode inode, inode_of(file));
  if (const auto held = locks_.find(inode); held != locks_.end() && held->second == file.fd)
    locks_.erase(held);
  return {};
}

}  // namespace torc::store::testing
