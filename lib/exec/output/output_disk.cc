#include "lib/exec/output/output_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

namespace torc::exec {
namespace {

constexpr int kLowest = 3;  // below are those that a program is given
// Up to here reading and writing is cheaper than asking the kernel to copy.
constexpr std::uint64_t kSmall = 256 << 10;

int flags_of(OpenAs as) {
  switch (as) {
    case OpenAs::log:
      return O_RDWR | O_CREAT | O_EXCL;
    case OpenAs::scratch:
      return O_RDWR | O_CREAT | O_EXCL | O_APPEND;
    case OpenAs::output:
      break;
  }
  return O_WRONLY;
}

Result<void> copy_by_hand(int from, std::uint64_t begin, std::uint64_t end, int to,
                          std::uint64_t at, OutputDisk& disk) {
  std::string buffer(std::min(end - begin, kSmall), '\0');
  for (std::uint64_t done = begin; done < end;) {
    const std::size_t want = std::min<std::uint64_t>(buffer.size(), end - done);
    const ssize_t n = pread(from, buffer.data(), want, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(errno, "cannot read the output of a job");
    if (n == 0) return Error{ErrorKind::io, "the output of a job became shorter meanwhile", ""};
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
    TORC_TRY(disk.write_at(to, bytes, at + done));
    done += bytes.size();
  }
  return {};
}

}  // namespace

Result<void> named(const std::filesystem::path& file, Result<void> result) {
  if (result.ok()) return result;
  Error error = std::move(result).error();
  error.what = file.string() + ": " + error.what;
  return error;
}

Result<std::filesystem::path> PosixOutputDisk::name_of(const std::filesystem::path& path) const {
  std::filesystem::path name = beneath::name_below(root_.path, path);
  if (!name.empty()) return name;
  return Error{ErrorKind::invalid, path.string() + " is not below " + root_.path.string(), ""};
}

Result<int> PosixOutputDisk::open(const std::filesystem::path& path, OpenAs as) {
  TORC_ASSIGN(const std::filesystem::path name, name_of(path));
  const int flags = flags_of(as);
  Result<Descriptor> opened = as == OpenAs::output
                                  ? beneath::open_fresh(at_, name, flags, root_.file_mode())
                                  : beneath::open_file(at_, name, flags, root_.file_mode());
  if (!opened.ok()) return std::move(opened).error();
  if (opened->get() >= kLowest) return opened->release();
  const int high = fcntl(opened->get(), F_DUPFD_CLOEXEC, kLowest);
  if (high < 0) return os_error(errno, "cannot duplicate a descriptor");
  return high;
}

Result<std::uint64_t> PosixOutputDisk::size(int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return os_error(errno, "cannot look at an output file");
  return static_cast<std::uint64_t>(about.st_size);
}

Result<void> PosixOutputDisk::write_at(int fd, std::string_view bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(errno, "cannot write an output file");
    bytes.remove_prefix(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<void> PosixOutputDisk::copy(int from, std::uint64_t length, int to, std::uint64_t at) {
  std::uint64_t done = 0;
  while (length > kSmall && done < length) {
    auto source = static_cast<off_t>(done);
    auto target = static_cast<off_t>(at + done);
    const ssize_t n = copy_file_range(from, &source, to, &target, length - done, 0);
    if (n < 0 && errno == EINTR) continue;
    // Not every kernel and filesystem can; and some say so by copying nothing.
    if (n <= 0) break;
    done += static_cast<std::uint64_t>(n);
  }
  return copy_by_hand(from, done, length, to, at, *this);
}

Result<void> PosixOutputDisk::empty(int fd) {
  if (ftruncate(fd, 0) != 0) return os_error(errno, "cannot empty an output file");
  return {};
}

Result<void> PosixOutputDisk::rename(const std::filesystem::path& from,
                                     const std::filesystem::path& to) {
  TORC_ASSIGN(const std::filesystem::path old_name, name_of(from));
  TORC_ASSIGN(const std::filesystem::path new_name, name_of(to));
  TORC_ASSIGN(const beneath::Entry source, beneath::entry(at_, old_name));
  // Nearly always in the same directory, which takes longer to find than to rename in.
  beneath::Entry other;
  if (new_name.parent_path() == old_name.parent_path()) {
    other.name = new_name.filename();
  } else {
    TORC_ASSIGN(other, beneath::entry(at_, new_name));
  }
  const Descriptor& target = other.directory ? other.directory : source.directory;
  if (::renameat(source.directory.get(), source.name.c_str(), target.get(), other.name.c_str()) !=
      0)
    return os_error(errno, "cannot rename " + from.string());
  return {};
}

Result<void> PosixOutputDisk::remove(const std::filesystem::path& path) {
  TORC_ASSIGN(const std::filesystem::path name, name_of(path));
  TORC_ASSIGN(const beneath::Entry at, beneath::entry(at_, name));
  if (::unlinkat(at.directory.get(), at.name.c_str(), 0) != 0)
    return os_error(errno, "cannot remove " + path.string());
  return {};
}

Result<void> PosixOutputDisk::make_directories(const std::filesystem::path& directory) {
  if (directory == root_.path) return {};
  TORC_ASSIGN(const std::filesystem::path name, name_of(directory));
  return beneath::make_directories(at_, name, root_.directory_mode());
}

Result<void> PosixOutputDisk::sync(int fd) {
  if (fdatasync(fd) != 0) return os_error(errno, "cannot write an output file");
  return {};
}

}  // namespace torc::exec
