#include "bin/waiting_disk.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>

#include <system_error>

#include "lib/store/mount/mount.h"

namespace torc::cli {

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
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error&) {
    // Without it nobody is told what the command waits for.
  }
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

Path WaitingDisk::path_of(store::FileHandle file) const {
  if (!watched_) return {};
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(file.fd);
  return found == open_.end() ? Path("the store") : found->second;
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
