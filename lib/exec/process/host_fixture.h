// For the tests of ProcessHost: a host, a directory, and a FIFO that tells what is going on without
// a clock. A command that opens it (exec 9>fifo) speaks through it; it is at its end when the last
// process that inherited it has gone.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lib/exec/run/process_host.h"

namespace torc::exec {

class HostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    make_directory();
    open_host(system_clock_);
  }

  void TearDown() override {
    host_.reset();
    if (fifo_ >= 0) close(fifo_);
    std::filesystem::remove_all(directory_);
  }

  void make_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "torc-exec-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    ASSERT_EQ(mkfifo((directory_ / "fifo").c_str(), 0600), 0);
    fifo_ = open((directory_ / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(fifo_, 0);
  }

  void open_host(Clock& clock, WatchedLease* lease = nullptr) {
    host_.reset();
    reported_.clear();
    knows_leaders_ = &clock != &system_clock_;
    auto host = ProcessHost::create(clock, lease);
    ASSERT_TRUE(host.ok()) << host.error().text();
    host_ = *std::move(host);
  }

  [[nodiscard]] Command command(const std::string& line) const {
    Command made;
    made.line = line;
    made.env = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    made.directory = directory_;
    made.stdout_path = directory_ / "out";
    made.stderr_path = directory_ / "err";
    return made;
  }

  RunId start(const Command& what) {
#ifdef TORC_TEST_QUEUED  // all tests of hosts once more, with what can be queued
    if (const auto queued = host_->queue(what)) return begin(*queued, what);
#endif
    auto id = host_->start(what);
    EXPECT_TRUE(id.ok()) << id.error().text();
    return id.ok() ? *id : RunId{};
  }
  RunId start(const std::string& line) {
    return start(command(line));
  }
  // What is queued is begun by another thread. Tests that move the clock mean what is known to run.
  RunId begin(RunId id, const Command& what) {
    host_->let_run(100);
    for (bool begun = false; !begun;) {
      auto wakeup = host_->wait(std::nullopt);
      if (!wakeup.ok()) break;
      remember(*wakeup);
      for (const ProcessHost::Begun& b : wakeup->begun) begun = begun || b.id == id;
      for (const ProcessHost::Declined& d : wakeup->declined) {
        if (d.id != id) continue;
        (void)host_->take_back();
        auto started = host_->start(what);
        EXPECT_TRUE(started.ok()) << started.error().text();
        return started.ok() ? *started : RunId{};
      }
    }
    const bool plain = what.time_limit.count() == 0 && what.memory_limit.value == 0 &&
                       what.sample_every.count() == 0;
    if (!plain || knows_leaders_) (void)host_->leader(id);
    return id;
  }

  Ended end_of(RunId id) {
    for (;;) {
      const auto it = std::find_if(reported_.begin(), reported_.end(),
                                   [&](const Ended& ended) { return ended.id == id; });
      if (it != reported_.end()) return *it;
      auto wakeup = host_->wait(std::nullopt);
      if (!wakeup.ok()) {
        ADD_FAILURE() << wakeup.error().text();
        return {};
      }
      remember(*wakeup);
    }
  }
  // For tests that call wait() themselves: the ends that it reported.
  void remember(const ProcessHost::Wakeup& wakeup) {
    reported_.insert(reported_.end(), wakeup.ended.begin(), wakeup.ended.end());
  }
  Ended run(const std::string& line) {
    return end_of(start(line));
  }

  // Sleeps until commands have written `text` into the FIFO since the last call.
  void wait_for(const std::string& text) {
    ASSERT_TRUE(host_->watch(fifo_).ok());
    while (said_.find(text) == std::string::npos) {
      auto wakeup = host_->wait(std::nullopt);
      ASSERT_TRUE(wakeup.ok());
      ASSERT_TRUE(wakeup->ended.empty()) << "ended before it said " << text;
      listen();
    }
    said_.erase(0, said_.find(text) + text.size());
    host_->unwatch(fifo_);
  }

  // False when no process holds the FIFO open for writing any more.
  [[nodiscard]] bool anybody_left() {
    return listen();
  }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream in(directory_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void write_file(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
    chmod((directory_ / name).c_str(), mode);
  }

  SystemClock system_clock_;
  bool knows_leaders_ = false;
  std::unique_ptr<ProcessHost> host_;
  std::filesystem::path directory_;

 private:
  bool listen() {
    char buffer[4096];
    for (;;) {
      const ssize_t n = read(fifo_, buffer, sizeof buffer);
      if (n <= 0) return n < 0 && errno == EAGAIN;
      said_.append(buffer, static_cast<std::size_t>(n));
    }
  }

  int fifo_ = -1;
  std::string said_;
  std::vector<Ended> reported_;
};

}  // namespace torc::exec
