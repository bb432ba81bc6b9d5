// The disk of a command, which says what it waits for. A filesystem that hangs keeps the thread
// that asked it in the kernel; another thread tells the person on standard error, and the signals
// that end a command end it where the kernel lets them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "bin/app.h"
#include "lib/base/dead_mount.h"
#include "lib/store/disk/disk.h"

namespace torc::cli {

class WaitingDisk final : public store::PosixDisk {
 public:
  // With so much patience until it says something.
  explicit WaitingDisk(std::FILE* err,
                       std::chrono::milliseconds patience = std::chrono::seconds(3));
  ~WaitingDisk() override;
  WaitingDisk(const WaitingDisk&) = delete;
  WaitingDisk& operator=(const WaitingDisk&) = delete;

  // Starts the thread, which blocks all signals. A process that forks does so before.
  void watch();

  // `path` is asked for until the end of this object: for what goes past a Disk.
  class Asking {
   public:
    Asking(WaitingDisk& disk, const Path& path) : disk_(disk) { disk_.begin(path); }
    ~Asking() { disk_.end(); }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    WaitingDisk& disk_;
  };

  // What was asked for by its path last of all that was answered as by a mount that is dead
  // (ENOTCONN, EIO, …).
  [[nodiscard]] std::optional<Path> dead() const;

  Result<store::FileHandle> open_read(const Path& file) override {
    return ask_open(file, [&] { return PosixDisk::open_read(file); });
  }
  Result<store::FileHandle> open_update(const Path& file) override {
    return ask_open(file, [&] { return PosixDisk::open_update(file); });
  }
  Result<store::FileHandle> create(const Path& file) override {
    return ask_open(file, [&] { return PosixDisk::create(file); });
  }
  Result<store::FileHandle> create_unnamed(const Path& directory) override {
    return ask_open(directory, [&] { return PosixDisk::create_unnamed(directory); });
  }
  Result<std::string> read(store::FileHandle file, std::uint64_t offset,
                           std::size_t size) override {
    return ask(path_of(file), [&] { return PosixDisk::read(file, offset, size); });
  }
  Result<void> write(store::FileHandle file, std::uint64_t offset,
                     std::string_view bytes) override {
    return ask(path_of(file), [&] { return PosixDisk::write(file, offset, bytes); });
  }
  Result<void> sync(store::FileHandle file, store::Sync what) override {
    return ask(path_of(file), [&] { return PosixDisk::sync(file, what); });
  }
  Result<void> close(store::FileHandle file) override {
    const Path path = path_of(file);
    if (watched_) {
      const std::lock_guard lock(mutex_);
      open_.erase(file.fd);  // the number may be another's at once
    }
    return ask(path, [&] { return PosixDisk::close(file); });
  }
  Result<void> link(const Path& from, const Path& to) override {
    return ask(to, [&] { return PosixDisk::link(from, to); });
  }
  Result<void> link_unnamed(store::FileHandle file, const Path& to) override {
    return ask(to, [&] { return PosixDisk::link_unnamed(file, to); });
  }
  Result<void> unlink(const Path& file) override {
    return ask(file, [&] { return PosixDisk::unlink(file); });
  }
  Result<void> make_directory(const Path& directory) override {
    return ask(directory, [&] { return PosixDisk::make_directory(directory); });
  }
  Result<void> remove_directory(const Path& directory) override {
    return ask(directory, [&] { return PosixDisk::remove_directory(directory); });
  }
  Result<void> rename(const Path& from, const Path& to, store::Replace replace) override {
    return ask(to, [&] { return PosixDisk::rename(from, to, replace); });
  }
  Result<void> sync_directory(const Path& directory) override {
    return ask(directory, [&] { return PosixDisk::sync_directory(directory); });
  }
  Result<std::vector<std::string>> list(const Path& directory) override {
    return ask(directory, [&] { return PosixDisk::list(directory); });
  }
  Result<store::FileStatus> status(const Path& path) override {
    return ask(path, [&] { return PosixDisk::status(path); });
  }
  Result<std::uint64_t> filesystem(const Path& path) override {
    return ask(path, [&] { return PosixDisk::filesystem(path); });
  }

 private:
  using Steady = std::chrono::steady_clock;

  void begin(const Path& path);
  void end();
  void serve();
  template <class Call>
  auto ask(const Path& path, const Call& call) -> decltype(call()) {
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
  auto ask_open(const Path& path, const Call& call) -> decltype(call()) {
    auto handle = ask(path, call);
    if (handle && watched_) {
      const std::lock_guard lock(mutex_);
      open_[handle->fd] = path;
    }
    return handle;
  }

  [[nodiscard]] Path path_of(store::FileHandle file) const;

  bool watched_ = false;  // set before other threads use it
  std::FILE* err_;
  std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;  // guards the rest
  std::condition_variable wake_;
  std::map<int, Path> open_;
  std::optional<Path> asked_;  // now
  Steady::time_point since_;
  bool told_ = false;  // of this one
  std::optional<Path> dead_;
  bool leaving_ = false;
  std::thread thread_;
};

// The disk of the command's world; null: another one, as in tests.
[[nodiscard]] WaitingDisk* waiting_disk(const App& app);

// What is to be said of a path that did not answer: which mount it is on and what helps.
// `mountinfo` as in /proc/self.
[[nodiscard]] std::string advice_on_mount(std::string_view mountinfo, const Path& path);

}  // namespace torc::cli
