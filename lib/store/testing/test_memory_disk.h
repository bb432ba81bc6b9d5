// A Disk on a FileServer as one machine sees its own filesystem: no caches, nothing lost. It keeps
// account of handles: who forgets to close one, closes it twice or uses it afterwards is found out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/store/disk/disk.h"
#include "lib/store/testing/test_file_server.h"

namespace torc::store::testing {

// What the filesystem can do; as real ones, so that `create` chooses a primitive by itself.
struct Abilities {
  std::uint64_t magic = 0xef53;  // of statfs
  bool unnamed_files = true;
  bool hard_links = true;
};
inline constexpr Abilities kLikeExt4{0xef53, true, true};
inline constexpr Abilities kLikeNfs{0x6969, false, true};
inline constexpr Abilities kLikeFuse{0x65735546, false, false};

class MemoryDisk final : public Disk {
 public:
  MemoryDisk(FileServer& server, Abilities abilities) : server_(server), abilities_(abilities) {}

  Result<FileHandle> open_read(const Path& file) override;
  Result<FileHandle> open_update(const Path& file) override;
  Result<FileHandle> create(const Path& file) override;
  Result<FileHandle> create_unnamed(const Path& directory) override;
  Result<std::string> read(FileHandle file, std::uint64_t offset, std::size_t size) override;
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
  Result<bool> try_lock(FileHandle file) override;
  Result<void> unlock(FileHandle file) override;

  [[nodiscard]] std::size_t open_handles() const { return handles_.size(); }
  // Handles that were used after their close.
  [[nodiscard]] std::uint64_t misused_handles() const { return misused_; }

 private:
  using Inode = FileServer::Inode;
  Result<Inode> parent_of(const Path& path) const { return server_.walk(path.parent_path()); }
  FileHandle hand_out(Inode inode);
  Result<Inode> inode_of(FileHandle file);

  FileServer& server_;
  Abilities abilities_;
  std::map<int, Inode> handles_;
  std::map<Inode, int> locks_;  // by handle
  int next_ = 1000;
  std::uint64_t misused_ = 0;
};

}  // namespace torc::store::testing
