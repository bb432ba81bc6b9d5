// Counts what a store asks of a filesystem: the requests that a network filesystem would see at
// least, and those of them that change something.
#pragma once

#include <cstdint>

#include "lib/store/disk.h"

namespace torc::store {

class CountingDisk final : public Disk {
 public:
  struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t modifying = 0;  // of these
  };

  explicit CountingDisk(Disk& inner) : inner_(inner) {}
  [[nodiscard]] const Counts& counts() const { return counts_; }

  Result<FileHandle> open_read(const Path& file) override { return reads().open_read(file); }
  Result<FileHandle> open_update(const Path& file) override { return reads().open_update(file); }
  Result<FileHandle> create(const Path& file) override { return changes().create(file); }
  Result<FileHandle> create_unnamed(const Path& directory) override {
    return changes().create_unnamed(directory);
  }
  Result<std::string> read(FileHandle file, std::uint64_t offset, std::size_t size) override {
    return reads().read(file, offset, size);
  }
  Result<void> write(FileHandle file, std::uint64_t offset, std::string_view bytes) override {
    return changes().write(file, offset, bytes);
  }
  Result<void> sync(FileHandle file, Sync what) override { return changes().sync(file, what); }
  Result<void> close(FileHandle file) override { return reads().close(file); }
  Result<void> link(const Path& from, const Path& to) override { return changes().link(from, to); }
  Result<void> link_unnamed(FileHandle file, const Path& to) override {
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
  Result<bool> try_lock(FileHandle file) override { return reads().try_lock(file); }
  Result<void> unlock(FileHandle file) override { return reads().unlock(file); }

 private:
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
};

}  // namespace torc::store
