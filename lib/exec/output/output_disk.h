// What output files ask of the filesystem, and the only way they ask: a test that passes another
// one can refuse or cut off any step. Calls block; descriptors are 3 or higher and closed in
// programs that are executed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "lib/base/file/beneath.h"
#include "lib/base/result.h"

namespace torc::exec {

enum class OpenAs : std::uint8_t {
  log,      // new; read, and written at places that the caller names
  scratch,  // new; read, and every write goes to its end
  output    // new, in place of what has the name
};

// What fails of an open file is told without its name: named().
class OutputDisk {
 public:
  virtual ~OutputDisk() = default;
  virtual Result<int> open(const std::filesystem::path& path, OpenAs as) = 0;
  virtual Result<std::uint64_t> size(int fd) = 0;
  virtual Result<void> write_at(int fd, std::string_view bytes, std::uint64_t at) = 0;
  // The first `length` bytes of `from` to `at` of `to`.
  virtual Result<void> copy(int from, std::uint64_t length, int to, std::uint64_t at) = 0;
  virtual Result<void> empty(int fd) = 0;  // to no bytes
  virtual Result<void> rename(const std::filesystem::path& from,
                              const std::filesystem::path& to) = 0;
  virtual Result<void> remove(const std::filesystem::path& path) = 0;
  virtual Result<void> sync(int fd) = 0;
};

// An operation on an open file does not know its path, a person wants it.
[[nodiscard]] Result<void> named(const std::filesystem::path& file, Result<void> result);

// Where output lies, and what permissions nothing new in it gets, beyond the umask: this process
// may have one for its store's group, which has no business elsewhere.
struct OutputRoot {
  explicit OutputRoot(std::filesystem::path directory, mode_t withhold = 0)
      : path(std::move(directory)), withheld(withhold) {}
  [[nodiscard]] mode_t file_mode() const { return 0666 & ~withheld; }
  [[nodiscard]] mode_t directory_mode() const { return 0777 & ~withheld; }

  std::filesystem::path path;
  mode_t withheld;
};

// Below `root` no symbolic link is followed, and nothing that somebody else put there is written to
// (lib/base/file/beneath.h). Paths that are not below it are refused.
class PosixOutputDisk final : public OutputDisk {
 public:
  explicit PosixOutputDisk(OutputRoot root) : root_(std::move(root)), at_(root_.path) {}
  explicit PosixOutputDisk(std::filesystem::path root)
      : PosixOutputDisk(OutputRoot(std::move(root))) {}
  Result<int> open(const std::filesystem::path& path, OpenAs as) override;
  Result<std::uint64_t> size(int fd) override;
  Result<void> write_at(int fd, std::string_view bytes, std::uint64_t at) override;
  Result<void> copy(int from, std::uint64_t length, int to, std::uint64_t at) override;
  Result<void> empty(int fd) override;
  Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  Result<void> remove(const std::filesystem::path& path) override;
  Result<void> sync(int fd) override;
  // With all above it that is below the root.
  Result<void> make_directories(const std::filesystem::path& directory);

 private:
  [[nodiscard]] Result<std::filesystem::path> name_of(const std::filesystem::path& path) const;

  OutputRoot root_;
  beneath::Root at_;  // of root_.path
};

}  // namespace torc::exec
