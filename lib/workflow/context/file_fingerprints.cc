#include "lib/workflow/context/file_fingerprints.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/base/file/descriptor.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/hash.h"
#include "lib/store/mount/mount.h"

namespace torc::workflow {
namespace {

claim::FileFingerprint fingerprint_of(const struct stat& s) {
  claim::FileFingerprint fingerprint;
  fingerprint.exists = true;
  fingerprint.size = S_ISREG(s.st_mode) ? static_cast<std::uint64_t>(s.st_size) : 0;
  constexpr std::int64_t kMostSeconds = 9'000'000'000;  // some filesystems have later times
  const std::int64_t seconds =
      std::clamp<std::int64_t>(s.st_mtim.tv_sec, -kMostSeconds, kMostSeconds);
  fingerprint.mtime = seconds * 1'000'000'000 + s.st_mtim.tv_nsec;
  return fingerprint;
}

// 0: it cannot be read to its end, or is longer than `size` by now. What the kernel makes up
// (/proc) says that it is empty, and may have no end.
std::uint64_t sum_of(int fd, std::uint64_t size) {
  store::Hasher hasher(store::StoreId{});
  std::vector<char> buffer(std::size_t{256} << 10U);
  while (true) {
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || static_cast<std::uint64_t>(n) > size) return 0;
    if (n == 0) break;
    size -= static_cast<std::uint64_t>(n);
    hasher.add({buffer.data(), static_cast<std::size_t>(n)});
  }
  const store::Hash128 hash = hasher.finish();
  std::uint64_t sum = 0;
  std::memcpy(&sum, hash.data(), sizeof sum);
  return sum == 0 ? 1 : sum;
}

Error cannot_look(int os_errno, const Path& path) {
  Error error = os_error(os_errno, "cannot look at " + path.string(),
                         "nothing is known of it; try again when it can be looked at");
  error.kind = ErrorKind::io;  // not even that it is missing
  return error;
}

// A network filesystem asks its server how a file is when the file is opened, and else believes
// what it knew some seconds ago. What cannot be opened is looked at as well as may be. To open
// something else than a file may do something: who writes to a fifo takes it for the reader.
Result<claim::FileFingerprint> fingerprint_file(const Path& path, Sums sums, std::uint64_t& left) {
  struct stat s {};
  if (stat(path.c_str(), &s) == 0 && !S_ISREG(s.st_mode)) return fingerprint_of(s);
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    if (stat(path.c_str(), &s) == 0) return fingerprint_of(s);
    if (names_nothing(errno)) return claim::FileFingerprint{};
    return cannot_look(errno, path);
  }
  if (fstat(fd.get(), &s) != 0) return cannot_look(errno, path);
  claim::FileFingerprint fingerprint = fingerprint_of(s);
  if (sums == Sums::yes && S_ISREG(s.st_mode) && fingerprint.size <= left) {
    left -= fingerprint.size;
    const std::uint64_t sum = sum_of(fd.get(), fingerprint.size);
    if (fstat(fd.get(), &s) == 0 && fingerprint_of(s) == fingerprint) fingerprint.sum = sum;
  }
  return fingerprint;
}

// A name that is not there while a filesystem that should be mounted above it is not.
Result<void> check_mounts(const Path& path) {
  store::PosixDisk disk;
  const auto point = store::missing_mount(disk.mount_tables(), disk.resolved(path));
  if (!point) return {};
  Error error = cannot_look(ENODEV, path);
  error.what =
      fmt::format("cannot look at {}: nothing is mounted at {}", path.string(), point->string());
  return error;
}

}  // namespace

bool names_nothing(int os_errno) {
  return os_errno == ENOENT || os_errno == ENOTDIR || os_errno == ELOOP || os_errno == ENAMETOOLONG;
}

Result<std::vector<claim::FileFingerprint>> fingerprints_of(const Path& directory,
                                                            const std::vector<std::string>& paths,
                                                            Sums sums) {
  std::vector<claim::FileFingerprint> fingerprints;
  fingerprints.reserve(paths.size());
  std::uint64_t left = kMostSummed;
  bool all = true;
  for (const std::string& path : paths) {
    TORC_ASSIGN(const claim::FileFingerprint fingerprint,
                fingerprint_file(directory / path, sums, left));
    if (!fingerprint.exists) TORC_TRY(check_mounts(directory / path));
    all = all && fingerprint.exists;
    fingerprints.push_back(fingerprint);
  }
  struct stat s {};
  if (!all && stat(directory.c_str(), &s) != 0) return cannot_look(errno, directory);
  return fingerprints;
}

}  // namespace torc::workflow
