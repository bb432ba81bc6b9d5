// Jobs of several nodes on hosts that reach each other by ssh, with real Open MPI and MPICH: who
// runs where, and what becomes of the ranks when something of it dies. TORC_GANG_ROUNDS=N: each of
// the deaths N times (`make test-gang`); else a few of them, once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/integration/mpi/launchers.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kHosts = 5;    // one more than the jobs have
constexpr int kCannot = 77;  // hosts.sh: this machine cannot do it

class SshGang : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TORC_TEST_SKIP_NAMESPACES") != nullptr)
      GTEST_SKIP() << "TORC_TEST_SKIP_NAMESPACES is set";
    fs::create_directory(shared_);
    const Ended start = hosts({"start", std::to_string(kHosts), shared_, std::to_string(getpid())});
    started_ = start.exit_code != kCannot;
    ASSERT_TRUE(started_) << start << "To go without set TORC_TEST_SKIP_NAMESPACES=1.";
    ASSERT_EQ(start.exit_code, 0) << start;
    for (int n = 1; n <= kHosts; ++n) {
      const std::string host = "h" + std::to_string(n);
      std::string link = hosts({"exec", host, "readlink", "/proc/self/ns/uts"}).out;
      nodes_[link.substr(0, link.find('\n'))] = host;
    }
  }
  void TearDown() override {
    if (!started_) return;
    if (HasFailure()) {
      for (const auto& [host, worker] : workers_)
        std::cerr << "---- " << host << '\n' << worker->out() << worker->err();
    }
    workers_.clear();
    const Ended stop = hosts({"stop"});
    EXPECT_EQ(stop.exit_code, 0) << stop;
  }

  [[nodiscard]] Launch hosts_command(std::vector<std::string> words) const {
    Launch launch{{std::string(TORC_SOURCE_DIR) + "/tests/integration/ssh/hosts.sh",
                   (scratch_.path() / "hosts").string()},
                  {},
                  shared_,
                  {},
                  {}};
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    return launch;
  }
  [[nodiscard]] Ended hosts(std::vector<std::string> words) const {
    return run(hosts_command(std::move(words)));
  }
  // From this machine, which sees the files as they are.
  [[nodiscard]] Ended torc(std::vector<std::string> words) const {
    Launch launch{{TORC_PROGRAM}, {{"TMPDIR", scratch_.path().string()}}, shared_, {}, {}};
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    return run(launch);
  }
  [[nodiscard]] json asked(std::vector<std::string> words) const {
    words.emplace_back("--json");
    const Ended ended = torc(words);
    json value = json::parse(ended.out, nullptr, false);
    EXPECT_FALSE(value.is_discarded()) << ended;
    return value;
  }

  void make(const std::string& jobs) const {
    write_text(shared_ / "wf.yaml",
               std::string("name: wf\n") + kMpiEnvironment +
                   "resource_requirements:\n  - {name: wide, num_cpus: 2, num_nodes: 4}\njobs:\n" +
                   jobs);
    const Ended made = torc({"init", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  void start_workers() {
    for (const auto& [uts, host] : nodes_) {
      workers_[host] = std::make_unique<Process>(hosts_command(
          {"ssh", host,
           "cd '" + shared_.string() +
               "' && TMPDIR=/dev/shm exec " TORC_PROGRAM
               " worker wf.torc --num-cpus 2 --group lab --lease-ttl 10s --idle-timeout 1h"}));
    }
  }
  [[nodiscard]] std::vector<Source*> all_workers() const {
    std::vector<Source*> sources;
    for (const auto& [host, worker] : workers_) sources.push_back(worker.get());
    return sources;
  }
  // The worker of that host says it, by now or within a minute.
  [[nodiscard]] std::string host_that_says(const std::string& text) const {
    std::string found;
    (void)wait_until(all_workers(), [&] {
      for (const auto& [host, worker] : workers_) {
        if (worker->out().find(text) != std::string::npos) found = host;
      }
      return !found.empty();
    });
    return found;
  }
  // So many ranks have joined the ring. Files are written on other hosts, which tells nobody here.
  [[nodiscard]] bool ring_is_whole(const std::string& log, std::size_t ranks) const {
    const auto end = Clock::now() + 60s;
    while (Clock::now() < end && ranks_in(shared_ / log).size() < ranks) {
      Timer look(50ms);
      (void)wait_until({&look}, [&] { return look.passed(); });
    }
    return ranks_in(shared_ / log).size() >= ranks;
  }
  [[nodiscard]] std::vector<Seen> of_attempt(int attempt) const {
    return processes_with(gang_tag_of(attempt), nodes_);
  }

  Scratch scratch_;
  const fs::path shared_ = scratch_.path() / "shared";
  std::map<std::string, std::string> nodes_;  // by UTS namespace
  std::map<std::string, std::unique_ptr<Process>> workers_;
  bool started_ = false;
};

// Ranks of MPICH 4.0.2 do not come out of MPI_Finalize() where hosts are namespaces of one kernel:
// its ring is counted by the tests of deaths.
TEST_F(SshGang, ranks_of_open_mpi_are_spread_over_all_nodes) {
  std::string jobs;
  for (const Mpi& mpi : {kOpenMpi}) {
    const std::string ring = make_ring(mpi, shared_);
    jobs += fmt::format(
        "  - {{name: {0}, resource_requirements: wide, command: {1} {2} {0}.ranks}}\n"
        "  - {{name: {0}_one, resource_requirements: wide, ntasks_per_node: 1, command: {1} {2} "
        "{0}_one.ranks}}\n",
        mpi.name, mpi.launcher, ring);
  }
  make(jobs);
  start_workers();
  for (const auto& [host, worker] : workers_) EXPECT_EQ(worker->wait().exit_code, 0) << host;
  EXPECT_EQ(asked({"status", "wf.torc"})["state"], "completed");
  for (const Mpi& mpi : {kOpenMpi}) {
    SCOPED_TRACE(mpi.name);
    expect_ring(ranks_in(shared_ / (std::string(mpi.name) + ".ranks")), 4, 2, 2);
    expect_ring(ranks_in(shared_ / (std::string(mpi.name) + "_one.ranks")), 4, 1, 2);
  }
}

enum class Death : std::uint8_t { rank, launcher, daemon, head_worker, head, member, cut };
struct Case {
  const char* name;
  Death death;
  Mpi mpi;
  bool in_short_run;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

void expect_done(const Ended& ended) {
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

class SshGangDeath : public SshGang, public testing::WithParamInterface<Case> {
 protected:
  // Ends it, and says of which host nothing can be asked then; empty: of none.
  std::string strike(Death death, const std::string& head) {
    const auto seen = of_attempt(1);
    const auto one = [&](const char* program, bool on_head) -> pid_t {
      for (const Seen& s : seen) {
        const bool there = s.node == head;
        if (there == on_head && s.program.starts_with(program)) return s.pid;
      }
      ADD_FAILURE() << "no process " << program;
      return 0;
    };
    const auto end = [](pid_t pid) {
      if (pid > 0) ::kill(pid, SIGKILL);
    };
    std::string member;
    for (const Seen& s : seen) {
      if (s.node != head && s.program.starts_with("ring-")) member = s.node;
    }
    switch (death) {
      case Death::rank:
        end(one("ring-", false));
        return "";
      case Death::launcher:
        end(one("mpi", true));
        return "";
      case Death::daemon:
        end(one(GetParam().mpi.name == kMpich.name ? "hydra" : "orted", false));
        return "";
      case Death::head_worker:
        for (const Seen& s : processes_with("worker wf.torc", nodes_)) {
          if (s.node == head && s.program == "torc") end(s.pid);
        }
        return "";
      case Death::head:
        expect_done(hosts({"crash", head}));
        return head;
      case Death::member:
        expect_done(hosts({"crash", member}));
        return member;
      case Death::cut:
        expect_done(hosts({"cut", member}));
        return member;
    }
    return "";
  }
};

constexpr Case kCases[] = {{"openmpi_rank", Death::rank, kOpenMpi, false},
                           {"openmpi_launcher", Death::launcher, kOpenMpi, false},
                           {"openmpi_daemon", Death::daemon, kOpenMpi, false},
                           {"openmpi_head_worker", Death::head_worker, kOpenMpi, true},
                           {"openmpi_head", Death::head, kOpenMpi, false},
                           {"openmpi_member", Death::member, kOpenMpi, false},
                           {"openmpi_cut", Death::cut, kOpenMpi, true},
                           {"mpich_rank", Death::rank, kMpich, true},
                           {"mpich_launcher", Death::launcher, kMpich, false},
                           {"mpich_daemon", Death::daemon, kMpich, false},
                           {"mpich_head_worker", Death::head_worker, kMpich, false},
                           {"mpich_head", Death::head, kMpich, false},
                           {"mpich_member", Death::member, kMpich, false},
                           {"mpich_cut", Death::cut, kMpich, false}};
INSTANTIATE_TEST_SUITE_P(Each, SshGangDeath, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(SshGangDeath, leaves_no_rank_and_the_job_is_where_it_belongs) {
  if (std::getenv("TORC_GANG_ROUNDS") == nullptr && !GetParam().in_short_run)
    GTEST_SKIP() << "only with TORC_GANG_ROUNDS=1";
  const Mpi& mpi = GetParam().mpi;
  const std::string ring = make_ring(mpi, shared_);
  make(
      fmt::format("  - name: gang\n    resource_requirements: wide\n    command: {} {} "
                  "ranks.$TORC_ATTEMPT_ID $(test $TORC_ATTEMPT_ID != 1 || echo wait)\n",
                  mpi.launcher, ring));
  start_workers();
  const std::string head = host_that_says("this one first");
  ASSERT_TRUE(ring_is_whole("ranks.1", 8));
  expect_ring(ranks_in(shared_ / "ranks.1"), 4, 2, 2);
  const auto before = of_attempt(1);
  const double struck = wall_seconds();
  const std::string dead = strike(GetParam().death, head);
  const bool is_cut = GetParam().death == Death::cut;
  // MPICH's launcher takes no notice of the death of a proxy, and goes on; so does the job.
  const bool unnoticed = GetParam().death == Death::daemon && mpi.name == kMpich.name;
  if (unnoticed) {
    Timer while_it_goes_on(10s);
    (void)wait_until({&while_it_goes_on}, [&] { return while_it_goes_on.passed(); });
    EXPECT_EQ(asked({"job", "wf.torc", "gang"})["state"], "running");
    EXPECT_EQ(torc({"cancel", "wf.torc", "gang"}).exit_code, 0);
  }

  // A host that is cut off is alive: its own worker ends what runs there.
  std::vector<std::unique_ptr<Witness>> left;
  std::vector<Source*> sources;
  for (const Seen& s : before) {
    if ((s.node == dead && !is_cut) || !fs::exists(fmt::format("/proc/{}", s.pid))) continue;
    sources.push_back(left.emplace_back(std::make_unique<Witness>(s.pid)).get());
  }
  const auto all_gone = [&] {
    return std::ranges::all_of(left, [](const auto& one) { return one->gone(); });
  };
  EXPECT_TRUE(wait_until(sources, all_gone)) << "ranks live on";
  const double gone = wall_seconds();
  const bool own_end = GetParam().death == Death::rank || GetParam().death == Death::launcher ||
                       GetParam().death == Death::daemon;
  // MPICH's ranks may not come out of MPI_Finalize() here: that they have joined is enough.
  const bool stays = !own_end && mpi.name == kMpich.name;
  if (stays) {
    EXPECT_TRUE(ring_is_whole("ranks.2", 8));
    (void)torc({"cancel", "wf.torc", "gang"});
  }
  for (const auto& [host, worker] : workers_) {
    if (host == dead || (GetParam().death == Death::head_worker && host == head)) continue;
    EXPECT_FALSE(worker->wait().timed_out) << host;
  }
  if (!is_cut) {
    for (const Seen& s : of_attempt(1))
      ADD_FAILURE() << s.program << " (" << s.pid << ") is left on " << s.node;
  }

  const json job = asked({"job", "wf.torc", "gang"});
  const json events = asked({"history", "wf.torc", "--job", "gang"})["events"];
  const Timeline line = timeline_of(events, struck, gone);
  std::cout << row_of(GetParam().name, job, line) << events.dump() << '\n';
  EXPECT_LE(line.gone, line.over + 10) << "ranks outlive their attempt";
  const std::set<std::string> right = unnoticed ? std::set<std::string>{"canceled"}
                                      : own_end ? std::set<std::string>{"failed"}
                                      : stays   ? std::set<std::string>{"canceled", "completed"}
                                                : std::set<std::string>{"completed"};
  EXPECT_TRUE(right.contains(job["state"].get<std::string>())) << job;
  EXPECT_EQ(job["attempt"], own_end ? 1 : 2) << job;
  if (!own_end) expect_ring(ranks_in(shared_ / "ranks.2"), 4, 2, 2);
  const Ended verified = torc({"verify", "wf.torc"});
  EXPECT_EQ(verified.exit_code, 0) << verified;
}

}  // namespace
}  // namespace torc::itest
