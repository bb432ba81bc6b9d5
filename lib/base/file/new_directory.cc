#include "lib/base/file/new_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "lib/base/file/beneath.h"

namespace torc {
namespace {

constexpr const char* kRemedy = "name a new directory";

Error cannot_use(int os_errno, const Path& path) {
  return os_error(os_errno, fmt::format("cannot use {}", path.string()), kRemedy);
}

// No more than the first names are looked at, however many there are.
Result<bool> is_empty(const Descriptor& directory, const Path& path) {
  const int own = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return cannot_use(errno, path);
  const std::unique_ptr<DIR, int (*)(DIR*)> names(::fdopendir(own), ::closedir);
  if (!names) {
    const int why = errno;
    ::close(own);
    return cannot_use(why, path);
  }
  for (;;) {
    errno = 0;
    const dirent* const one = ::readdir(names.get());
    if (one == nullptr && errno != 0) return cannot_use(errno, path);
    if (one == nullptr) return true;
    const std::string_view name = one->d_name;
    if (name != "." && name != "..") return false;
  }
}

}  // namespace

Result<NewDirectory> NewDirectory::make(Path path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return cannot_use(error.value(), path);
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return cannot_use(errno, path);
  TORC_ASSIGN(const bool empty, is_empty(directory, path));
  if (!empty) return invalid(fmt::format("{} is not empty", path.string()), kRemedy);
  return NewDirectory(std::move(path), std::move(directory));
}

Result<Descriptor> NewDirectory::create(const std::string& name) const {
  Descriptor file(beneath::open_fresh_at(directory_.get(), name.c_str(), O_WRONLY, 0666));
  if (!file) return beneath::open_error(errno, "write", path_ / name);
  return file;
}

Result<void> write_at(const Descriptor& file, std::string_view bytes, std::uint64_t at,
                      const Path& shown) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(errno, fmt::format("cannot write {}", shown.string()));
    bytes.remove_prefix(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
  return {};
}

}  // namespace torc
