// A filesystem of one directory with one file in it, for readers that ask a Disk.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/store/disk/disk.h"
#include "lib/store/format/journal.h"

namespace torc::fuzz {

class OneFileDisk final : public store::PosixDisk {
 public:
  OneFileDisk(std::string name, std::string_view bytes) : name_(std::move(name)), bytes_(bytes) {}

  Result<store::FileHandle> open_read(const Path& file) override {
    if (file.filename() != name_) return os_error(ENOENT, file.string());
    return store::FileHandle{1 << 20};
  }
  Result<std::string> read(store::FileHandle, std::uint64_t offset, std::size_t size) override {
    return std::string(bytes_.substr(std::min<std::size_t>(offset, bytes_.size()), size));
  }
  Result<void> close(store::FileHandle) override { return {}; }
  Result<std::vector<std::string>> list(const Path&) override {
    return std::vector<std::string>{name_};
  }

 private:
  std::string name_;
  std::string_view bytes_;
};

// A journal that has nothing but this file.
struct OneFileJournal {
  OneFileJournal(const store::StoreId& id, std::string name, std::string_view bytes)
      : disk(std::move(name), bytes),
        journal(disk, "/store", id, store::Publisher(disk, entropy, {}, store::Durable::no)) {}

  OneFileDisk disk;
  SeededEntropy entropy{1};
  store::Journal journal;
};

}  // namespace torc::fuzz
