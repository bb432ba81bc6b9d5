// Counts what a store asks of a filesystem: the requests that a network filesystem would see at
// least, and those of them that change something. Closing a reader is none, nor is reading what
// this client has just written or read: opening the file has shown that it is the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>

#include "lib/store/disk/disk.h"

namespace torc::store {

class CountingDisk final : public Disk {
 public:
  struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t modifying = 0;  // of these
  };

  explicit CountingDisk(Disk& inner) : inner_(inner) {}
  [[nodiscard]] const Counts& counts() const { return counts_; }

  Result<FileHandle> open_read(const Path& file) override {
    Result<FileHandle> opened = reads().open_read(file);
    const bool known = std::find(known_.begin(), known_.end(), file) != known_.end();
    if (opened.ok()) readers_[opened->fd] = known ? Content::known : Content::asked_for;
    if (!known) remember(file);
    return opened;
  }
  Result<FileHandle> open_update(const Path& file) override { return reads().open_update(file); }
  Result<FileHandle> create(const Path& file) override { return changes().create(file); }
  Result<FileHandle> create_unnamed(const Path& directory) override {
    return changes().create_unnamed(directory);
  }
  Result<std::string> read(FileHandle file, std::uint64_t offset, std::size_t size) override {
    const auto reader = readers_.find(file.fd);
    const bool known = reader != readers_.end() && reader->second == Content::known;
    return (known ? inner_ : reads()).read(file, offset, size);
  }
  Result<void> write(FileHandle file, std::uint64_t offset, std::string_view bytes) override {
    return changes().write(file, offset, bytes);
  }
  Result<void> sync(FileHandle file, Sync what) override { return changes().sync(file, what); }
  Result<void> close(FileHandle file) override {
    return (readers_.erase(file.fd) > 0 ? inner_ : reads()).close(file);
  }
  Result<void> link(const Path& from, const Path& to) override {
    remember(to);
    return changes().link(from, to);
  }
  Result<void> link_unnamed(FileHandle file, const Path& to) override {
    remember(to);
    return changes().link_unnamed(file, to);
  }
  Result<void> unlink(const Path& file) override { return changes().unlink(file); }
  Result<void> make_directory(const Path& directory) override {
    return changes().make_directory(directory);
  }
  Result<void> remove_directory(const Path& directory) override {
    return changes().remove_directory(directory);
  }
  Result<void> rename(const Path& from, const Path& to, Replace replace) override {
    return changes().rename(from, to, replace);
  }
  Result<void> sync_directory(const Path& directory) override {
    return changes().sync_directory(directory);
  }
  Result<std::vector<std::string>> list(const Path& directory) override {
    return reads().list(directory);
  }
  Result<FileStatus> status(const Path& path) override { return reads().status(path); }
  Result<std::uint64_t> filesystem(const Path& path) override { return reads().filesystem(path); }
  std::uint64_t filesystem_id(const Path& p) override { return inner_.filesystem_id(p); }
  MountTables mount_tables() override { return inner_.mount_tables(); }
  std::uint64_t mount_changes() override { return inner_.mount_changes(); }
  Path resolved(const Path& path) override { return inner_.resolved(path); }
  void protect(const Path& root, Root kind) override { inner_.protect(root, kind); }
  void keep(const Path& root) override { inner_.keep(root); }
  Result<void> protect_opened(const Path& root, Descriptor opened) override {
    return inner_.protect_opened(root, std::move(opened));
  }
  Result<bool> try_lock(FileHandle file) override { return reads().try_lock(file); }
  Result<void> unlock(FileHandle file) override { return reads().unlock(file); }

 private:
  enum class Content : std::uint8_t { asked_for, known };
  static constexpr std::size_t kRemembered = 64;
  void remember(const Path& file) {
    known_.push_back(file);
    if (known_.size() > kRemembered) known_.pop_front();
  }
  Disk& reads() {
    ++counts_.requests;
    return inner_;
  }
  Disk& changes() {
    ++counts_.modifying;
    return reads();
  }

  Disk& inner_;
  Counts counts_;
  std::deque<Path> known_;          // files whose content this client has
  std::map<int, Content> readers_;  // by descriptor
};

}  // namespace torc::store
