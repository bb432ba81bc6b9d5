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
  [[nodiscard]] const Counts& counts() const { return toll_.counts; }

  Result<FileHandle> open_read(const Path& file) override {
    Result<FileHandle> opened = toll_.reads().open_read(file);
    const bool known = std::find(known_.begin(), known_.end(), file) != known_.end();
    if (opened.ok()) readers_[opened->fd] = known ? Content::known : Content::asked_for;
    if (!known) remember(file);
    return opened;
  }
  Result<FileHandle> open_update(const Path& file) override {
    return toll_.reads().open_update(file);
  }
  Result<FileHandle> create(const Path& file) override { return toll_.changes().create(file); }
  Result<FileHandle> create_unnamed(const Path& directory) override {
    return toll_.changes().create_unnamed(directory);
  }
  Result<std::string> read(FileHandle file, std::uint64_t offset, std::size_t size) override {
    const auto reader = readers_.find(file.fd);
    const bool known = reader != readers_.end() && reader->second == Content::known;
    return (known ? inner_ : toll_.reads()).read(file, offset, size);
  }
  Result<void> write(FileHandle file, std::uint64_t offset, std::string_view bytes) override {
    return toll_.changes().write(file, offset, bytes);
  }
  Result<void> sync(FileHandle file, Sync what) override {
    return toll_.changes().sync(file, what);
  }
  Result<void> close(FileHandle file) override {
    return (readers_.erase(file.fd) > 0 ? inner_ : toll_.reads()).close(file);
  }
  Result<void> link(const Path& from, const Path& to) override {
    remember(to);
    return toll_.changes().link(from, to);
  }
  Result<void> link_unnamed(FileHandle file, const Path& to) override {
    remember(to);
    return toll_.changes().link_unnamed(file, to);
  }
  Result<void> unlink(const Path& file) override { return toll_.changes().unlink(file); }
  Result<void> make_directory(const Path& directory) override {
    return toll_.changes().make_directory(directory);
  }
  Result<void> remove_directory(const Path& directory) override {
    return toll_.changes().remove_directory(directory);
  }
  Result<void> rename(const Path& from, const Path& to, Replace replace) override {
    return toll_.changes().rename(from, to, replace);
  }
  Result<void> sync_directory(const Path& directory) override {
    return toll_.changes().sync_directory(directory);
  }
  Result<std::vector<std::string>> list(const Path& directory) override {
    return toll_.reads().list(directory);
  }
  Result<FileStatus> status(const Path& path) override { return toll_.reads().status(path); }
  Result<std::uint64_t> filesystem(const Path& path) override {
    return toll_.reads().filesystem(path);
  }
  std::uint64_t filesystem_id(const Path& p) override { return inner_.filesystem_id(p); }
  MountTables mount_tables() override { return inner_.mount_tables(); }
  std::uint64_t mount_changes() override { return inner_.mount_changes(); }
  Path resolved(const Path& path) override { return inner_.resolved(path); }
  void protect(const Path& root, Root kind) override { inner_.protect(root, kind); }
  void keep(const Path& root) override { inner_.keep(root); }
  Result<void> protect_opened(const Path& root, Descriptor opened) override {
    return inner_.protect_opened(root, std::move(opened));
  }
  Result<bool> try_lock(FileHandle file) override { return toll_.reads().try_lock(file); }
  Result<void> unlock(FileHandle file) override { return toll_.reads().unlock(file); }

 private:
  // The disk that is asked, after the request is counted.
  struct Toll {
    Disk& disk;
    Counts counts = {};
    Disk& reads() {
      ++counts.requests;
      return disk;
    }
    Disk& changes() {
      ++counts.modifying;
      return reads();
    }
  };
  enum class Content : std::uint8_t { asked_for, known };
  static constexpr std::size_t kRemembered = 64;
  void remember(const Path& file) {
    known_.push_back(file);
    if (known_.size() > kRemembered) known_.pop_front();
  }
  Disk& inner_;
  Toll toll_{inner_};
  std::deque<Path> known_;          // files whose content this client has
  std::map<int, Content> readers_;  // by descriptor
};

}  // namespace torc::store
