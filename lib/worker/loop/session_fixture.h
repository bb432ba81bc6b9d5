// For the tests of a worker's loop: a real store, jobs that end when the test says so, and a clock
// that jumps to the next moment at which the worker wants to wake, as soon as nothing is left to
// happen before.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/claim/queries/queries.h"
#include "lib/store/disk/disk.h"
#include "lib/worker/loop/session.h"
#include "lib/workflow/plan/make_store.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::worker {

// Two threads read it; only the host below moves it.
class JumpingClock final : public Clock {
 public:
  [[nodiscard]] BootTime boot_now() const override {
    ++looks_;
    return BootTime(now_.load());
  }
  // How often it was read, by anybody.
  [[nodiscard]] std::uint64_t looks() const { return looks_; }
  [[nodiscard]] WallTime wall_now() const override {
    return std::chrono::duration_cast<WallTime>(boot_now()) + std::chrono::hours(24 * 365 * 50);
  }
  void sleep_for(std::chrono::nanoseconds duration) override {
    now_ += duration.count();
    // Who gives another process time to settle gives it really.
    if (duration <= std::chrono::milliseconds(5)) std::this_thread::sleep_for(duration);
  }
  void jump_to(BootTime at) { now_ = std::max(now_.load(), at.count()); }

 private:
  std::atomic<std::int64_t> now_{std::chrono::nanoseconds(std::chrono::hours(1)).count()};
  mutable std::atomic<std::uint64_t> looks_{0};
};

// On which nothing can be written while it is full.
class FillingDisk final : public store::PosixDisk {
 public:
  std::atomic<bool> full{false};

  Result<void> write(store::FileHandle file, std::uint64_t offset, std::string_view b) override {
    return full ? no_space() : PosixDisk::write(file, offset, b);
  }
  Result<void> link(const Path& from, const Path& to) override {
    return full ? no_space() : PosixDisk::link(from, to);
  }
  Result<void> link_unnamed(store::FileHandle file, const Path& to) override {
    return full ? no_space() : PosixDisk::link_unnamed(file, to);
  }

 private:
  static Error no_space() { return {ErrorKind::no_space, "the disk is full", "make room"}; }
};

class ScriptedHost final : public exec::ProcessHost {
 public:
  explicit ScriptedHost(JumpingClock& clock) : clock_(clock) {}

  // Asked whenever nothing is left to happen now; false: let the clock jump to `deadline`.
  std::function<bool(BootTime deadline)> meanwhile = [](BootTime) { return false; };
  // How a job ends at once; nullopt: it runs until it is ended.
  std::function<std::optional<exec::Ended>()> outcome = [] {
    return std::optional(ended_by_itself(0));
  };
  // Whether nothing can be started now.
  std::function<bool()> refuses = [] { return false; };
  // Whether it has a lane, and whether a slot begins what is next there.
  bool has_lane = false;
  std::function<bool()> begins = [] { return true; };
  std::deque<std::pair<exec::RunId, exec::Command>> lane;
  // Whether a slot makes the process of what is next and does not come to an end of that: only
  // after kill_all() it has failed.
  std::function<bool()> stalls = [] { return false; };
  std::vector<exec::RunId> stalled;
  std::optional<BootTime> all_killed_at;
  std::vector<exec::RunId> lane_now;
  std::map<exec::RunId, std::string> line_of;  // of all that was begun
  std::size_t width = 0;
  int began_in_lane = 0;
  std::size_t most_at_once = 0;
  std::function<bool()> awaits_store;
  // Time in which this process did not run, to be told with the next wake-up.
  std::chrono::nanoseconds stood_still{};
  // A watched descriptor became readable, and nobody has been told yet.
  std::function<void(int fd)> readable = [](int) {};

  std::vector<exec::RunId> running_now;
  std::vector<std::chrono::nanoseconds> stops;  // leads
  std::vector<exec::Command> commands;          // all that were started
  int kills = 0;
  int started = 0;

  static exec::Ended ended_by_itself(int code) {
    exec::Ended ended;
    ended.exit_code = code;
    return ended;
  }
  static exec::Ended ended_by(int signal) {
    exec::Ended ended;
    ended.how = exec::Ending::signaled;
    ended.signal = signal;
    return ended;
  }
  void end(exec::RunId id, exec::Ended ended) {
    std::erase(running_now, id);
    std::erase(lane_now, id);
    ended.id = id;
    ended.started_at = ended.ended_at = clock_.wall_now();
    ended_.push_back(ended);
  }

  Result<exec::RunId> start(const exec::Command& command) override {
    if (refuses()) return Error{ErrorKind::busy, "no more processes", ""};
    commands.push_back(command);
    const exec::RunId id{static_cast<std::uint64_t>(++started)};
    running_now.push_back(id);
    line_of[id] = command.line;
    most_at_once = std::max(most_at_once, running_now.size());
    if (const auto at_once = outcome()) end(id, *at_once);
    return id;
  }
  Result<exec::RunId> queue(const exec::Command& command) override {
    if (!has_lane) return ProcessHost::queue(command);
    const exec::RunId id{static_cast<std::uint64_t>(++started)};
    lane.emplace_back(id, command);
    return id;
  }
  void let_run(std::size_t most) override { width = most; }
  std::vector<exec::RunId> take_back() override {
    std::vector<exec::RunId> ids;
    for (const auto& [id, command] : std::exchange(lane, {})) ids.push_back(id);
    return ids;
  }
  void begin_in_lane(Wakeup& wakeup) {
    while (!lane.empty() && lane_now.size() < width && begins()) {
      const auto [id, command] = std::move(lane.front());
      lane.pop_front();
      if (stalls()) {
        stalled.push_back(id);
        return;
      }
      if (refuses()) {
        wakeup.declined.push_back({id});
        return;
      }
      ++began_in_lane;
      lane_now.push_back(id);
      commands.push_back(command);
      running_now.push_back(id);
      line_of[id] = command.line;
      most_at_once = std::max(most_at_once, running_now.size());
      wakeup.begun.push_back({id, clock_.wall_now(), clock_.boot_now()});
      if (const auto at_once = outcome()) end(id, *at_once);
    }
  }
  [[nodiscard]] std::optional<exec::Ended> not_started(exec::RunId id) const override {
    if (ended_.empty() || ended_.back().id != id) return std::nullopt;
    if (ended_.back().how != exec::Ending::not_started) return std::nullopt;
    return ended_.back();
  }
  void forget(exec::RunId id) override {
    if (not_started(id)) ended_.pop_back();
  }
  Result<void> watch(int fd) override {
    fds_.push_back({fd, POLLIN, 0});
    return {};
  }
  void unwatch(int fd) override {
    std::erase_if(fds_, [&](const pollfd& p) { return p.fd == fd; });
  }
  Result<Wakeup> wait(std::optional<BootTime> deadline) override {
    Wakeup wakeup;
    begin_in_lane(wakeup);
    if (all_killed_at) {
      for (const exec::RunId id : std::exchange(stalled, {})) wakeup.declined.push_back({id});
    }
    const bool patient = ended_.empty() && wakeup.begun.empty() && awaits_store();
    if (poll(fds_.data(), fds_.size(), patient ? 60'000 : 0) == 0 && patient) {
      return Error{ErrorKind::io, "the store did not answer", ""};
    }
    for (const pollfd& p : fds_) {
      if (p.revents == 0) continue;
      readable(p.fd);
      wakeup.readable.push_back(p.fd);
    }
    wakeup.ended = std::exchange(ended_, {});
    wakeup.stood_still = std::exchange(stood_still, std::chrono::nanoseconds{});
    const bool lane_news = !wakeup.begun.empty() || !wakeup.declined.empty();
    if (lane_news || !wakeup.readable.empty() || !wakeup.ended.empty() || !deadline) return wakeup;
    if (!meanwhile(*deadline)) clock_.jump_to(*deadline);
    return wakeup;
  }
  void stop(exec::RunId, std::chrono::nanoseconds lead) override { stops.push_back(lead); }
  void kill(exec::RunId id) override {
    ++kills;
    exec::Ended ended = ended_by(9);
    ended.how = exec::Ending::stopped;
    end(id, ended);
  }
  void kill_all() override {
    all_killed_at = clock_.boot_now();
    for (const exec::RunId id : std::vector(running_now)) kill(id);
  }
  [[nodiscard]] std::size_t running() const override { return running_now.size(); }
  [[nodiscard]] pid_t leader(exec::RunId) override { return 1; }

 private:
  JumpingClock& clock_;
  std::vector<pollfd> fds_;
  std::vector<exec::Ended> ended_;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    block_worker_signals();
    std::string name = (std::filesystem::temp_directory_path() / "torc-session-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    context_.world.replica_roots = {directory_};
    context_.world2.replica_roots = {directory_};
    context_.directory = directory_;
    store_ = directory_ / "wf.torc";
    setup_.machine.host = "n1";
    setup_.machine.cpus = 1;
    setup_.machine.memory = mebibytes(1024);
    setup_.lease_ttl = std::chrono::hours(10'000);  // the clock jumps far
    setup_.output_dir = directory_ / "out";
    std::filesystem::create_directories(setup_.output_dir);  // as make_worker_setup() does
    events_.notice = [this](const std::string& line) { notices_.push_back(line); };
    events_.progress = [this](const claim::WorkflowState& w) { seen_.push_back(w); };
  }
  ~SessionTest() override { std::filesystem::remove_all(directory_); }

  void make(const std::string& jobs, store::Engine engine = store::Engine::lmdb) {
    std::FILE* file = std::fopen((directory_ / "wf.yaml").c_str(), "w");
    ASSERT_NE(file, nullptr);
    fmt::print(file, "name: wf\n{}", jobs);
    std::fclose(file);
    auto loaded = workflow::load_spec(context_, "wf.yaml");
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    ASSERT_TRUE(loaded->expansion);
    auto made = workflow::make_store(context_, *loaded, store_, engine, workflow::Existing::refuse);
    ASSERT_TRUE(made.ok()) << made.error().text();
  }
  std::unique_ptr<store::Store> open() {
    auto opened = store::Store::open(context_.world, store_, {});
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return *std::move(opened);
  }
  WorkerSummary run() {
    auto store = open();
    Session session(context_, setup_, events_, host_, nullptr);
    host_.awaits_store = [&] { return session.awaits_store() || expects_news(); };
    auto summary = session.run(std::move(store));
    EXPECT_TRUE(summary.ok()) << summary.error().text();
    return summary.ok() ? *std::move(summary) : WorkerSummary{};
  }
  claim::Job job(std::uint64_t id) {
    claim::Job found;
    const auto viewed =
        open()->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          found = claim::read_job(reader, JobId{id}).value_or(claim::Job{});
          return {};
        });
    EXPECT_TRUE(viewed.ok());
    return found;
  }
  [[nodiscard]] bool said(const std::string& text) const {
    return std::any_of(notices_.begin(), notices_.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }

  // True while something that no clock brings must wake the worker: it is waited for.
  std::function<bool()> expects_news = [] { return false; };

  Path directory_;
  Path store_;
  JumpingClock clock_;
  FillingDisk disk_;
  SeededEntropy entropy_{1};
  SeededEntropy entropy2_{2};
  workflow::Context context_{
      clock_, store::World{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}},
      store::World{disk_, clock_, entropy2_, "n1", "boot", "ns", geteuid(), {}},
      [](std::string_view) { return std::optional<std::string>(); }};
  WorkerSetup setup_;
  WorkerEvents events_;
  ScriptedHost host_{clock_};
  std::vector<std::string> notices_;
  std::vector<claim::WorkflowState> seen_;
};

// Its jobs run until the test ends them.
class SignaledSession : public SessionTest {
 protected:
  SignaledSession() {
    host_.outcome = [] { return std::nullopt; };
  }
  // Runs, with `steps` one after the other as soon as a job runs and nothing else is to happen.
  WorkerSummary run_with(std::vector<std::function<void()>> steps) {
    std::size_t next = 0;
    host_.meanwhile = [&, steps = std::move(steps)](BootTime) mutable {
      if (host_.running_now.empty() && next == 0) return false;
      if (next >= steps.size()) return false;
      steps[next++]();
      return true;
    };
    return run();
  }
  static exec::Ended stopped_by(int signal) {
    exec::Ended ended = ScriptedHost::ended_by(signal);
    ended.how = exec::Ending::stopped;
    return ended;
  }
  void end_it(exec::Ended ended) { host_.end(host_.running_now.front(), ended); }
  static void signal_to_worker(int number) { ::kill(getpid(), number); }
};

}  // namespace torc::worker
