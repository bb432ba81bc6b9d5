// A filesystem that hangs or dies, for tests as root that have mounts of their own (own_mounts()).
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {

// Readable when something is mounted or unmounted.
class MountChanges final : public Source {
 public:
  MountChanges()
      : mounts_(open("/proc/self/mounts", O_RDONLY | O_CLOEXEC)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLPRI;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, mounts_, &event);
  }
  ~MountChanges() override {
    close(epoll_);
    close(mounts_);
  }
  MountChanges(const MountChanges&) = delete;
  MountChanges& operator=(const MountChanges&) = delete;
  void pump() override {
    epoll_event event{};
    (void)epoll_wait(epoll_, &event, 1, 0);
  }
  [[nodiscard]] std::vector<int> fds() const override { return {epoll_}; }

 private:
  int mounts_;
  int epoll_;
};

// A filesystem in the hands of a process, which can be stopped.
class Fuse {
 public:
  Fuse(const Path& backing, const Path& mounted) : mounted_(mounted) {
    std::filesystem::create_directories(backing);
    std::filesystem::create_directories(mounted);
    Launch launch;
    launch.argv = {"/usr/bin/bindfs", "-f", backing, mounted};
    MountChanges changes;
    daemon_ = std::make_unique<Process>(launch);
    (void)wait_until({daemon_.get(), &changes},
                     [&] { return is_mounted() || !daemon_->running(); });
  }
  ~Fuse() {
    thaw();
    umount2(mounted_.c_str(), MNT_DETACH);
    (void)daemon_->wait();
  }
  Fuse(const Fuse&) = delete;
  Fuse& operator=(const Fuse&) = delete;
  [[nodiscard]] bool is_mounted() const {
    const std::string mounts = read_text("/proc/self/mounts");
    return mounts.find(" " + mounted_.string() + " fuse") != std::string::npos;
  }
  [[nodiscard]] const std::string& complaint() const { return daemon_->err(); }
  // Until it has stopped with all its threads: a request that one of them still took could not be
  // given up by whoever waits for it.
  void freeze() const {
    ::kill(daemon_->pid(), SIGSTOP);
    (void)waitpid(daemon_->pid(), nullptr, WUNTRACED);
  }
  void thaw() const { ::kill(daemon_->pid(), SIGCONT); }
  // From then on everything there is answered with ENOTCONN.
  void kill() const {
    daemon_->kill(SIGKILL);
    (void)daemon_->wait();
  }

 private:
  Path mounted_;
  std::unique_ptr<Process> daemon_;
};

}  // namespace torc::itest
