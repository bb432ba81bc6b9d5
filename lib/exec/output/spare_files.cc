#include "lib/exec/output/spare_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace torc::exec {
namespace {

// Not more than a worker with one job a core needs: each is a descriptor.
constexpr std::size_t kMostSpares = 256;

// Another file has its name, or it has none any more.
bool is_unlinked(int fd) {
  struct stat open_file {};
  return fstat(fd, &open_file) != 0 || open_file.st_nlink != 1;
}

// The job may have moved it away, or put another one in its place.
bool is_at(int fd, const std::filesystem::path& path) {
  struct stat open_file {};
  struct stat named {};
  return fstat(fd, &open_file) == 0 && lstat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev &&
         open_file.st_nlink == 1;
}

}  // namespace

SpareFiles::~SpareFiles() {
  for (const Spare& spare : spares_) close(spare.fd);
}

Result<int> SpareFiles::open(const std::filesystem::path& path) {
  // One that has this name already, of a job that was not begun: another one that took it would
  // leave it without a name, and what is renamed later by that name would be the other one.
  const auto same = std::find_if(spares_.begin(), spares_.end(),
                                 [&](const Spare& spare) { return spare.path == path; });
  if (same != spares_.end()) std::swap(*same, spares_.back());
  while (!spares_.empty()) {
    const Spare spare = std::move(spares_.back());
    spares_.pop_back();
    if (is_unlinked(spare.fd) || (spare.path != path && !disk_.rename(spare.path, path))) {
      close(spare.fd);
      continue;
    }
    // A job shares these with its worker, and may have changed them.
    fcntl(spare.fd, F_SETFL, 0);
    lseek(spare.fd, 0, SEEK_SET);
    return spare.fd;
  }
  return disk_.open(path, OpenAs::output);
}

void SpareFiles::give_back(int fd, std::filesystem::path path) {
  const auto size = disk_.size(fd);
  if (!size || *size > 0 || !is_at(fd, path)) {
    close(fd);
  } else if (spares_.size() < kMostSpares) {
    spares_.push_back({fd, std::move(path)});
  } else {
    (void)disk_.remove(path);
    close(fd);
  }
}

void SpareFiles::remove_all() {
  for (const Spare& spare : spares_) {
    if (is_at(spare.fd, spare.path)) (void)disk_.remove(spare.path);
    close(spare.fd);
  }
  spares_.clear();
}

}  // namespace torc::exec
