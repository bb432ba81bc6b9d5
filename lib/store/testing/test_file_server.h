// Files in memory, as a file server has them: inodes, directories, hard links, open counts, and
// apart from that what would survive a power cut. A value: a copy is a copy of the whole tree, so a
// test can go back to a prepared store a thousand times.
//
// Callers name a file by its inode, as a file handle of NFS does; paths are the clients' affair
// (MemoryDisk walks them without any cache, NfsDisk through one). No symbolic links, no modes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/disk/disk.h"
#include "lib/store/testing/test_file_content.h"

namespace torc::store::testing {

// What a name survives by: see DurableName of publisher.h.
enum class NamesLast : std::uint8_t {
  in_order,      // ext4, xfs: any sync commits all names given before it
  by_directory,  // only the sync of their directory
  at_once        // a server that has them on stable storage before it answers
};

class FileServer {
 public:
  using Inode = std::uint64_t;
  static constexpr Inode kRoot = 1;

  struct Attributes {
    FileStatus status;
    std::uint64_t change = 0;  // grows with every change of content or entries
    std::uint64_t links = 0;   // names of a file
  };

  explicit FileServer(NamesLast names = NamesLast::at_once);

  // Errors carry the errno that a kernel gives: ENOENT, ENOTDIR, EEXIST, ENOTEMPTY; ESTALE where
  // the inode itself is gone.
  [[nodiscard]] Result<Inode> lookup(Inode directory, const std::string& name) const;
  [[nodiscard]] Result<Inode> walk(const Path& path) const;
  [[nodiscard]] Result<Attributes> attributes(Inode inode) const;
  [[nodiscard]] Result<std::map<std::string, Inode>> list(Inode directory) const;
  [[nodiscard]] Result<std::shared_ptr<const FileContent>> content(Inode file) const;

  Result<Inode> create(Inode directory, const std::string& name);
  Inode create_unnamed();
  Result<void> write(Inode file, std::uint64_t offset, std::string_view bytes);
  Result<void> write_pages(Inode file, const FileContent& from,
                           const std::set<std::uint64_t>& pages);
  Result<void> link(Inode file, Inode directory, const std::string& name);
  Result<void> unlink(Inode directory, const std::string& name);
  Result<Inode> make_directory(Inode directory, const std::string& name);
  Result<void> remove_directory(Inode directory, const std::string& name);
  Result<void> rename(Inode from, const std::string& old_name, Inode to,
                      const std::string& new_name, Replace replace);

  // An inode without names lives as long as it is pinned.
  void pin(Inode inode);
  void unpin(Inode inode);

  void sync(Inode file, Sync what);
  void sync_directory(Inode directory);
  // Back to what was durable. `keep_names`: all names survive and only data that was not synced is
  // lost, which a filesystem may do as well. Nothing is open afterwards.
  enum class KeepNames : std::uint8_t { no, yes };
  void power_cut(KeepNames keep);

 private:
  struct Node {
    FileKind kind = FileKind::regular;
    std::shared_ptr<const FileContent> bytes;
    std::shared_ptr<const FileContent> durable_bytes;
    std::map<std::string, Inode> entries;
    std::map<std::string, Inode> durable_entries;
    std::uint64_t links = 0;
    std::uint64_t pins = 0;
    std::uint64_t change = 0;
  };

  [[nodiscard]] Result<const Node*> at(Inode inode, FileKind kind) const;
  Result<Node*> at(Inode inode, FileKind kind);
  Node& changed(Inode inode);
  void enter(Inode directory, const std::string& name, Inode inode);
  void leave(Inode directory, const std::string& name);
  void drop_if_unused(Inode inode);
  void recount();

  NamesLast names_;
  std::map<Inode, Node> nodes_;
  Inode next_ = 2;
  std::uint64_t changes_ = 0;
};

}  // namespace torc::store::testing
