// Bells between nodes: workers that share nothing but the store, each with a copy and a ledger of
// its own as on another node. What one hears of the other it hears by its bell, or by looking now
// and then. How often it was rung it says itself, asked by SIGUSR1; how soon that was is for the
// benchmarks.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr int kHops = 12;

// Jobs that follow each other on a worker `a` and a worker `b` in turn. The first and the last wait
// at a gate.
std::string chain(int length) {
  std::string spec = "name: wf\njobs:\n";
  for (int i = 0; i <= length; ++i) {
    const char* command = i == 0 ? "read x < begin" : i == length ? "read x < end" : "true";
    spec += fmt::format("  - {{name: j{}, command: \"{}\", label: {}{}}}\n", i, command,
                        i % 2 == 0 ? "a" : "b",
                        i == 0 ? "" : fmt::format(", depends_on: [j{}]", i - 1));
  }
  return spec;
}

// What a worker says of bells.
struct Account {
  std::uint64_t heard = 0;
  std::uint64_t looks = 0;
  std::uint64_t found = 0;
};

Account account_in(const std::string& text) {
  Account account;
  const auto number_after = [&](std::string_view words) -> std::uint64_t {
    const auto at = text.find(words);
    return at == std::string::npos ? 0
                                   : std::strtoull(text.c_str() + at + words.size(), nullptr, 10);
  };
  account.heard = number_after("heard ");
  account.looks = number_after("looked ");
  account.found = number_after("found jobs ");
  return account;
}

// Where nobody else can be, nobody else is spoken of.
class OnLoopbackAlone : public ::testing::Test {};

TEST_F(OnLoopbackAlone, a_worker_says_nothing_of_its_bell) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs:\n  - {name: a, command: \"true\"}\n");
  ASSERT_EQ(here.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  Launch launch = here.torc({"worker", "wf.torc"});
  launch.argv.insert(launch.argv.begin(), {"/usr/bin/unshare", "-r", "-n"});
  const Ended ended = run(launch);
  if (ended.says("unshare:") && std::getenv("TORC_TEST_SKIP_NAMESPACES") != nullptr)
    GTEST_SKIP() << ended;
  ASSERT_EQ(ended.exit_code, 0) << ended;
  EXPECT_FALSE(ended.says("cannot ring it")) << ended;
}

class Bell : public ::testing::Test {
 protected:
  void make(const std::string& spec) const {
    here.write("wf.yaml", spec);
    const Ended made = here.run({"init", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }

  [[nodiscard]] std::unique_ptr<Process> start(const std::string& node,
                                               const std::vector<std::string>& flags) const {
    // It stays while jobs are left that only the other one can run.
    std::vector<std::string> words{"worker", "wf.torc", "--idle-timeout", "1h"};
    words.insert(words.end(), flags.begin(), flags.end());
    Launch launch = here.torc(words);
    launch.env["TMPDIR"] = launch.env["TORC_NODE_DIR"] = here.new_tmpdir(node).string();
    if (geteuid() == 0) launch.hostname = node;
    return std::make_unique<Process>(launch);
  }

  // Asks it until `enough` holds of its answer; nullopt: that took too long.
  static std::optional<Account> ask(
      Process& worker,
      const std::function<bool(const Account&)>& enough = [](const Account&) { return true; }) {
    const auto end = std::chrono::steady_clock::now() + kLongEnough;
    while (std::chrono::steady_clock::now() < end) {
      const std::size_t from = worker.err().size();
      const std::size_t out_from = worker.out().size();
      const auto said = [&] { return worker.out().substr(out_from) + worker.err().substr(from); };
      // All that it says, from the first line on.
      const auto is_whole = [&] {
        const std::string text = said();
        const auto begin = text.find("waiting here");
        return begin != std::string::npos && text.find("not renewed", begin) != std::string::npos;
      };
      worker.kill(SIGUSR1);
      // One that comes soon after another is taken for its echo.
      if (!wait_until({&worker}, is_whole, 1s)) {
        if (!worker.running()) return std::nullopt;
        continue;
      }
      if (const Account account = account_in(said()); enough(account)) return account;
    }
    return std::nullopt;
  }

  void expect_all_completed() const {
    EXPECT_EQ(here.json({"status", "wf.torc"})["state"], "completed");
    EXPECT_EQ(here.run({"verify", "wf.torc"}).exit_code, 0);
  }

  [[nodiscard]] bool both_registered() const {
    NewNames commits(here.journal("wf.torc"));
    return wait_until({&commits}, [&] {
      return here.json({"status", "wf.torc"})["workers"].size() == 2;
    });
  }

  const Workplace here;
  const std::vector<std::string> rung{"--bell-interface", "127.0.0.1"};
};

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_F(Bell, tells_the_worker_of_another_node_that_its_job_is_ready) {
  make(chain(kHops));
  Fifo begin(here.path() / "begin");
  Fifo end(here.path() / "end");
  const auto a = start("node1", with({"--num-cpus", "1", "--label", "a"}, rung));
  const auto b = start("node2", with({"--num-cpus", "1", "--label", "b"}, rung));
  ASSERT_TRUE(both_registered()) << a->err() << b->err();
  begin.open_gate(1);
  ASSERT_TRUE(here.wait_for_state("wf.torc", fmt::format("j{}", kHops), "running"));
  // Six jobs each. Now and then a poll comes first.
  for (Process* worker : {a.get(), b.get()}) {
    const auto account = ask(*worker);
    ASSERT_TRUE(account.has_value()) << worker->out() << worker->err();
    EXPECT_GE(account->found, 1U) << worker->out() << worker->err();
  }
  end.open_gate(1);
  EXPECT_EQ(a->wait().exit_code, 0);
  EXPECT_EQ(b->wait().exit_code, 0);
  expect_all_completed();
}

TEST_F(Bell, is_neither_rung_nor_heard_by_who_has_none_and_the_work_is_done_all_the_same) {
  make(chain(4));
  Fifo begin(here.path() / "begin");
  Fifo end(here.path() / "end");
  const auto a = start("node1", with({"--num-cpus", "1", "--label", "a"}, rung));
  const auto b = start("node2", with({"--num-cpus", "1", "--label", "b", "--no-bell"}, rung));
  ASSERT_TRUE(both_registered()) << a->err() << b->err();
  begin.open_gate(1);
  ASSERT_TRUE(here.wait_for_state("wf.torc", "j4", "running"));
  for (Process* worker : {a.get(), b.get()}) {
    const auto account = ask(*worker);
    ASSERT_TRUE(account.has_value()) << worker->out() << worker->err();
    EXPECT_EQ(account->heard, 0U) << worker->out() << worker->err();
  }
  end.open_gate(1);
  EXPECT_EQ(a->wait().exit_code, 0);
  EXPECT_EQ(b->wait().exit_code, 0);
  expect_all_completed();
}

// The UDP ports on 127.0.0.1 of a process.
std::vector<std::uint16_t> ports_of(pid_t pid) {
  std::vector<std::string> sockets;
  std::error_code error;
  for (const auto& fd : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), error))
    sockets.push_back(std::filesystem::read_symlink(fd.path(), error).string());
  std::vector<std::uint16_t> ports;
  std::ifstream table(fmt::format("/proc/{}/net/udp", pid));
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string slot, local, remote, state, queues, timer, retransmits, user, timeout, inode;
    words >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> user >>
        timeout >> inode;
    const std::string name = "socket:[" + inode + "]";
    if (local.starts_with("0100007F:") &&
        std::find(sockets.begin(), sockets.end(), name) != sockets.end())
      ports.push_back(static_cast<std::uint16_t>(std::strtoul(local.c_str() + 9, nullptr, 16)));
  }
  return ports;
}

// What every bell for this copy of the store has in it, as its META tells everybody.
std::string instance_of(const Path& store) {
  std::string bytes;
  for (const std::string& line : lines_of(read_text(store / "META"))) {
    if (!line.starts_with("instance: ")) continue;
    for (std::size_t at = 10; at + 1 < line.size(); at += 2)
      bytes += static_cast<char>(std::strtoul(line.substr(at, 2).c_str(), nullptr, 16));
  }
  return bytes;
}

// Sends bells for the store with a wrong code, and what is none, to ports of this host as long as
// it lives.
class Flood {
 public:
  Flood(std::vector<std::uint16_t> ports, std::string instance)
      : ports_(std::move(ports)),
        instance_(std::move(instance)),
        fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    thread_ = std::thread([this] { send_all(); });
  }
  ~Flood() {
    over_ = true;
    thread_.join();
    close(fd_);
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

 private:
  void send_all() {
    std::string forged = std::string("torc bell\x01", 10) + instance_;
    forged.resize(54, '\0');
    const std::string long_one(2000, 'y');
    for (std::uint64_t commit = 1; !over_; ++commit) {
      // Far ahead of all that was committed, and another one each time.
      for (std::size_t i = 0; i < 8; ++i)
        forged[26 + i] = static_cast<char>((commit << 20U) >> (56 - 8 * i));
      for (const std::uint16_t port : ports_) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(port);
        for (const std::string& bytes : {forged, std::string(), long_one})
          (void)!sendto(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT,
                        reinterpret_cast<const sockaddr*>(&to), sizeof to);
      }
      // So that two cores are left with something for the workers.
      if (commit % 100 == 0) (void)poll(nullptr, 0, 1);
    }
  }

  std::vector<std::uint16_t> ports_;
  std::string instance_;
  int fd_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST_F(Bell, forged_ones_make_nobody_look_and_hold_up_nothing) {
  constexpr int kJobs = 6;
  make(chain(kJobs));
  Fifo begin(here.path() / "begin");
  Fifo end(here.path() / "end");
  const auto a = start("node1", with({"--num-cpus", "1", "--label", "a"}, rung));
  const auto b = start("node2", with({"--num-cpus", "1", "--label", "b"}, rung));
  ASSERT_TRUE(both_registered()) << a->err() << b->err();
  std::vector<std::uint16_t> ports = ports_of(a->worker());
  for (const std::uint16_t port : ports_of(b->worker())) ports.push_back(port);
  ASSERT_EQ(ports.size(), 2U) << "one each";
  const std::string instance = instance_of(here.path() / "wf.torc");
  ASSERT_EQ(instance.size(), 16U);
  const Flood flood(ports, instance);
  begin.open_gate(1);
  ASSERT_TRUE(here.wait_for_state("wf.torc", fmt::format("j{}", kJobs), "running"));
  // Of the true ones some are lost in the flood.
  const std::uint64_t commits = here.json({"verify", "wf.torc"})["last_commit"];
  for (Process* worker : {a.get(), b.get()}) {
    const auto account = ask(*worker);
    ASSERT_TRUE(account.has_value()) << worker->out() << worker->err();
    EXPECT_LE(account->heard, commits) << worker->out() << worker->err();
    EXPECT_LE(account->looks, account->heard) << worker->out() << worker->err();
  }
  end.open_gate(1);
  EXPECT_EQ(a->wait().exit_code, 0);
  EXPECT_EQ(b->wait().exit_code, 0);
  expect_all_completed();
}

// A command of a person, from a host where no worker is, and what follows from it.
struct Step {
  std::vector<std::string> words;
  const char* job;    // of the worker
  const char* state;  // that it comes to
};

TEST_F(Bell, is_rung_once_by_each_command_that_lets_a_job_run_and_by_jobs_that_add_some) {
  make(R"(name: wf
compute_node_wait_for_new_jobs_seconds: 3600
dynamic_jobs: {max_iterations: 3}
jobs:
  - {name: good, command: "true"}
  - {name: bad, command: "false"}
  - {name: held, command: "true"}
  - {name: other, command: "true", label: elsewhere}
)");
  here.write("more.yaml", "jobs: [{name: added, command: \"true\"}]\n");
  here.write("inside.yaml", "jobs: [{name: from_a_job, command: \"true\"}]\n");
  const std::string torc = here.torc({}).argv[0];
  here.write("adder.yaml",
             fmt::format("jobs: [{{name: adder, command: \"{} add inside.yaml\"}}]\n", torc));
  here.write("spawner.yaml",
             fmt::format("jobs: [{{name: spawner, command: \"{} spawn --now --name spawned "
                         "--command true\"}}]\n",
                         torc));
  ASSERT_EQ(here.run({"hold", "wf.torc", "held"}).exit_code, 0);
  const auto worker = start("node2", with({"--num-cpus", "2"}, rung));
  ASSERT_TRUE(here.wait_for_state("wf.torc", "good", "completed"));
  ASSERT_TRUE(here.wait_for_state("wf.torc", "bad", "failed"));

  std::uint64_t rings = 0;
  const auto expect_rings = [&](const std::string& after) {
    const auto account = ask(*worker, [&](const Account& a) { return a.heard >= rings; });
    ASSERT_TRUE(account.has_value()) << "not rung by " << after << worker->out() << worker->err();
    EXPECT_EQ(account->heard, rings) << after;
  };
  // They change nothing, or nothing for this worker.
  ASSERT_EQ(here.run({"release", "wf.torc", "held", "--dry-run"}).exit_code, 0);
  ASSERT_EQ(here.run({"hold", "wf.torc", "held"}).exit_code, 0);
  ASSERT_EQ(here.run({"set", "wf.torc", "other", "priority=2"}).exit_code, 0);
  expect_rings("what concerns it not");
  for (const Step& step : std::vector<Step>{
           {{"release", "wf.torc", "held"}, "held", "completed"},
           {{"retry", "wf.torc", "bad"}, "bad", "failed"},
           {{"add", "wf.torc", "more.yaml"}, "added", "completed"},
           {{"reset", "wf.torc", "good", "--yes"}, "good", "completed"},
           {{"set", "wf.torc", "other", "label="}, "other", "completed"},
       }) {
    const Ended done = here.run(step.words);
    ASSERT_EQ(done.exit_code, 0) << done;
    ++rings;
    expect_rings(step.words[0]);
    ASSERT_TRUE(here.wait_for_state("wf.torc", step.job, step.state)) << step.words[0];
  }
  // Once by the person, once by the job.
  for (const auto& [file, job] :
       {std::pair("adder.yaml", "from_a_job"), std::pair("spawner.yaml", "spawned")}) {
    ASSERT_EQ(here.run({"add", "wf.torc", file}).exit_code, 0);
    rings += 2;
    expect_rings(file);
    ASSERT_TRUE(here.wait_for_state("wf.torc", job, "completed")) << file;
  }
  // The end of the workflow is for whoever waits, whatever it could run.
  here.write("last.yaml", "jobs: [{name: last, command: \"true\", label: elsewhere}]\n");
  ASSERT_EQ(here.run({"add", "wf.torc", "last.yaml"}).exit_code, 0);
  ASSERT_EQ(here.run({"cancel", "wf.torc", "last"}).exit_code, 0);
  ++rings;
  expect_rings("cancel");
  EXPECT_EQ(here.run({"verify", "wf.torc"}).exit_code, 0);
}

}  // namespace
}  // namespace torc::itest
