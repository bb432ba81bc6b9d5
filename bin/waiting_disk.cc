#include "bin/waiting_disk.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include "lib/base/dead_mount.h"
#include "lib/store/mount/mount.h"

namespace torc::cli {

using store::FileHandle;

WaitingDisk::WaitingDisk(std::FILE* err, std::chrono::milliseconds patience)
    : err_(err), patience_(patience) {}

WaitingDisk::~WaitingDisk() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WaitingDisk::watch() {
  if (watched_) return;
  watched_ = true;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WaitingDisk::serve() {
  std::unique_lock lock(mutex_);
  while (!leaving_) {
    // No call wakes this thread, so that none costs more for it.
    wake_.wait_for(lock, patience_ / 4);
    if (leaving_ || !asked_ || told_ || Steady::now() - since_ < patience_) continue;
    told_ = true;
    const std::string path = asked_->string();
    lock.unlock();
    say(err_, "torc: {} does not answer; waiting (Ctrl-C ends this command)\n", path);
    std::fflush(err_);
    lock.lock();
  }
}

void WaitingDisk::begin(const Path& path) {
  if (!watched_) return;
  const std::lock_guard lock(mutex_);
  asked_ = path;
  since_ = Steady::now();
  told_ = false;
}

void WaitingDisk::end() {
  if (!watched_) return;
  const std::lock_guard lock(mutex_);
  asked_.reset();
}

std::optional<Path> WaitingDisk::dead() const {
  const std::lock_guard lock(mutex_);
  return dead_;
}

Path WaitingDisk::path_of(FileHandle file) const {
  if (!watched_) return {};
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(file.fd);
  return found == open_.end() ? Path("the store") : found->second;
}

template <class Call>
auto WaitingDisk::ask(const Path& path, const Call& call) -> decltype(call()) {
  begin(path);
  auto answer = call();
  end();
  if (!answer && !path.empty() && is_of_dead_mount(answer.error().os_errno)) {
    const std::lock_guard lock(mutex_);
    dead_ = path;
  }
  return answer;
}

template <class Call>
auto WaitingDisk::ask_open(const Path& path, const Call& call) -> decltype(call()) {
  auto handle = ask(path, call);
  if (handle && watched_) {
    const std::lock_guard lock(mutex_);
    open_[handle->fd] = path;
  }
  return handle;
}

Result<FileHandle> WaitingDisk::open_read(const Path& file) {
  return ask_open(file, [&] { return PosixDisk::open_read(file); });
}
Result<FileHandle> WaitingDisk::open_update(const Path& file) {
  return ask_open(file, [&] { return PosixDisk::open_update(file); });
}
Result<FileHandle> WaitingDisk::create(const Path& file) {
  return ask_open(file, [&] { return PosixDisk::create(file); });
}
Result<FileHandle> WaitingDisk::create_unnamed(const Path& directory) {
  return ask_open(directory, [&] { return PosixDisk::create_unnamed(directory); });
}
Result<std::string> WaitingDisk::read(FileHandle file, std::uint64_t offset, std::size_t size) {
  return ask(path_of(file), [&] { return PosixDisk::read(file, offset, size); });
}
Result<void> WaitingDisk::write(FileHandle file, std::uint64_t offset, std::string_view bytes) {
  return ask(path_of(file), [&] { return PosixDisk::write(file, offset, bytes); });
}
Result<void> WaitingDisk::sync(FileHandle file, store::Sync what) {
  return ask(path_of(file), [&] { return PosixDisk::sync(file, what); });
}
Result<void> WaitingDisk::close(FileHandle file) {
  const Path path = path_of(file);
  if (watched_) {
    const std::lock_guard lock(mutex_);
    open_.erase(file.fd);  // the number may be another's at once
  }
  return ask(path, [&] { return PosixDisk::close(file); });
}
Result<void> WaitingDisk::link(const Path& from, const Path& to) {
  return ask(to, [&] { return PosixDisk::link(from, to); });
}
Result<void> WaitingDisk::link_unnamed(FileHandle file, const Path& to) {
  return ask(to, [&] { return PosixDisk::link_unnamed(file, to); });
}
Result<void> WaitingDisk::unlink(const Path& file) {
  return ask(file, [&] { return PosixDisk::unlink(file); });
}
Result<void> WaitingDisk::make_directory(const Path& directory) {
  return ask(directory, [&] { return PosixDisk::make_directory(directory); });
}
Result<void> WaitingDisk::remove_directory(const Path& directory) {
  return ask(directory, [&] { return PosixDisk::remove_directory(directory); });
}
Result<void> WaitingDisk::rename(const Path& from, const Path& to, store::Replace replace) {
  return ask(to, [&] { return PosixDisk::rename(from, to, replace); });
}
Result<void> WaitingDisk::sync_directory(const Path& directory) {
  return ask(directory, [&] { return PosixDisk::sync_directory(directory); });
}
Result<std::vector<std::string>> WaitingDisk::list(const Path& directory) {
  return ask(directory, [&] { return PosixDisk::list(directory); });
}
Result<store::FileStatus> WaitingDisk::status(const Path& path) {
  return ask(path, [&] { return PosixDisk::status(path); });
}
Result<std::uint64_t> WaitingDisk::filesystem(const Path& path) {
  return ask(path, [&] { return PosixDisk::filesystem(path); });
}

WaitingDisk* waiting_disk(const App& app) {
  return dynamic_cast<WaitingDisk*>(&app.world.disk);
}

std::string advice_on_mount(std::string_view mountinfo, const Path& path) {
  const auto mount = store::mount_of(mountinfo, path);
  if (!mount) return "";
  return fmt::format(
      "the filesystem mounted at {} ({}, {}) does not answer as it should; nothing is known of "
      "what "
      "is on it. Look at its server and network, or mount it anew, then try again",
      mount->point.string(), mount->type, mount->source);
}

}  // namespace torc::cli
