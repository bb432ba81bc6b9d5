// Jobs of several nodes in an allocation of a real Slurm: real Open MPI and MPICH, steps that torc
// makes, and what becomes of the ranks when something of it dies. TORC_GANG_ROUNDS=1: each of the
// deaths (`make test-gang`); else a few of them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/integration/mpi/launchers.h"
#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class SlurmGang : public SlurmTest {
 protected:
  void make(const std::string& jobs, int nodes = kNodes) const {
    write_text(
        work_ / "wf.yaml",
        fmt::format("name: wf\n{}resource_requirements:\n"
                    "  - {{name: four, num_cpus: 2, memory: 200m, num_nodes: 4}}\n"
                    "  - {{name: three, num_cpus: 2, memory: 200m, num_nodes: 3}}\n"
                    "  - {{name: two, num_cpus: 2, memory: 200m, num_nodes: 2}}\n"
                    "slurm_schedulers:\n"
                    "  - {{name: all, nodes: {}, walltime: '00:10:00', extra: --exclusive}}\n"
                    "jobs:\n{}",
                    kMpiEnvironment, nodes, jobs));
    const auto init = torc({"init", "wf.yaml", "--engine", "journal"});
    ASSERT_EQ(init.exit_code, 0) << init;
  }
  [[nodiscard]] std::map<std::string, std::string> node_links() const {
    std::map<std::string, std::string> nodes;
    for (int n = 1; n <= kNodes; ++n) {
      const std::string node = "n" + std::to_string(n);
      const std::string link = cluster({"exec", node, "readlink", "/proc/self/ns/uts"}).out;
      nodes[link.substr(0, link.find('\n'))] = node;
    }
    return nodes;
  }
  [[nodiscard]] static std::multiset<std::string> words_in(const std::filesystem::path& file) {
    const Words words = split(read_text(file));
    return {words.begin(), words.end()};
  }
};

TEST_F(SlurmGang, ranks_are_spread_over_all_nodes_by_launchers_and_by_steps_of_torc) {
  std::string jobs;
  const auto job = [&](const std::string& name, const char* nodes, const std::string& command,
                       const std::string& more = "") {
    jobs += fmt::format(
        "  - name: {}\n    scheduler: all\n    resource_requirements: {}\n{}    command: {}\n",
        name, nodes, more, command);
  };
  for (const Mpi& mpi : {kOpenMpi}) {
    // make and the programs of the nodes use no name with blanks.
    const std::string ring = make_ring(mpi, scratch_.path());
    for (const char* nodes : {"four", "two"}) {
      job(fmt::format("{}_{}", mpi.name, nodes), nodes,
          fmt::format("{} {} {}_{}.ranks", mpi.launcher, ring, mpi.name, nodes));
    }
  }
  job("step", "four", "hostname >> step");
  job("tasks", "two", "hostname >> tasks", "    ntasks_per_node: 2\n");
  job("head", "two", "hostname >> head", "    launch: head\n");
  job("own_four", "four", "srun hostname > own_four");
  job("own_two", "two", "srun -n2 -c1 hostname > own_two", "    launch: head\n");
  job("all", "four", "hostname >> all", "    launch: all\n");
  make(jobs);
  const Words ids = {submit("wf.torc/slurm/all.sbatch")};
  expect_end_of(ids);
  const auto listed = torc({"jobs", "wf.torc"});
  EXPECT_EQ(parsed(torc({"status", "wf.torc", "--json"})).at("state"), "completed") << listed;
  for (const Mpi& mpi : {kOpenMpi}) {
    SCOPED_TRACE(mpi.name);
    expect_ring(ranks_in(work_ / fmt::format("{}_four.ranks", mpi.name)), 4, 2, 2);
    expect_ring(ranks_in(work_ / fmt::format("{}_two.ranks", mpi.name)), 2, 2, 2);
  }
  const std::multiset<std::string> four = {"n1", "n2", "n3", "n4"};
  EXPECT_EQ(words_in(work_ / "step"), four);
  EXPECT_EQ(words_in(work_ / "all"), four);
  EXPECT_EQ(words_in(work_ / "head").size(), 1U);
  const auto tasks = words_in(work_ / "tasks");
  EXPECT_EQ(tasks.size(), 4U);
  for (const std::string& node : tasks) EXPECT_EQ(tasks.count(node), 2U) << node;
  EXPECT_EQ(words_in(work_ / "own_four").size(), 8U);
  const auto own = words_in(work_ / "own_two");
  EXPECT_EQ(std::set<std::string>(own.begin(), own.end()).size(), 2U);
  // The step is named as its logs are.
  EXPECT_EQ(torc({"verify", "wf.torc"}).exit_code, 0);
}

class SlurmGangMemory : public SlurmGang {
 protected:
  [[nodiscard]] std::map<std::string, std::string> with() const override {
    return {{"SLURM_CGROUPS", "1"}};
  }
};

// srun alone says so, among what the job wrote: its exit code is the shell's.
TEST_F(SlurmGangMemory, that_ran_out_in_a_step_of_several_nodes_is_the_cause_of_its_end) {
  make(
      "  - name: eats\n    scheduler: all\n    resource_requirements: two\n"
      "    command: python3 -c \"x = bytearray(600 << 20)\" || exit 1\n");
  expect_end_of({submit("wf.torc/slurm/all.sbatch")});
  const json job = parsed(torc({"job", "wf.torc", "eats", "--json"}));
  EXPECT_EQ(job.at("state"), "failed") << job;
  EXPECT_EQ(job.at("cause"), "out_of_memory") << job;
}

// `frozen`: every process of a member's node stands still, as of one that is cut off.
enum class Death : std::uint8_t { rank, launcher, daemon, head_worker, head, member, frozen };
struct Case {
  const char* name;
  Death death;
  const char* compiler_of;  // of the ring
  std::string command;      // before the ring
  bool in_short_run;
};
void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

class SlurmGangDeath : public SlurmGang, public testing::WithParamInterface<Case> {};

const Case kCases[] = {
    {"openmpi_rank", Death::rank, "openmpi", "mpirun.openmpi", false},
    {"openmpi_launcher", Death::launcher, "openmpi", "mpirun.openmpi", false},
    {"openmpi_daemon", Death::daemon, "openmpi", "mpirun.openmpi", false},
    {"openmpi_head_worker", Death::head_worker, "openmpi", "mpirun.openmpi", false},
    {"openmpi_head", Death::head, "openmpi", "mpirun.openmpi", false},
    {"openmpi_member", Death::member, "openmpi", "mpirun.openmpi", true},
    {"openmpi_frozen", Death::frozen, "openmpi", "mpirun.openmpi", false},
    {"mpich_rank", Death::rank, "mpich", "mpiexec.hydra", false},
    {"mpich_launcher", Death::launcher, "mpich", "mpiexec.hydra", false},
    {"mpich_daemon", Death::daemon, "mpich", "mpiexec.hydra", false},
    {"mpich_head_worker", Death::head_worker, "mpich", "mpiexec.hydra", false},
    {"mpich_head", Death::head, "mpich", "mpiexec.hydra", false},
    {"mpich_member", Death::member, "mpich", "mpiexec.hydra", false},
    {"mpich_frozen", Death::frozen, "mpich", "mpiexec.hydra", false},
    {"step_rank", Death::rank, "mpich", "", false},
    {"step_head_worker", Death::head_worker, "mpich", "", false},
    {"step_member", Death::member, "mpich", "", false}};
INSTANTIATE_TEST_SUITE_P(Each, SlurmGangDeath, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(SlurmGangDeath, leaves_no_rank_and_the_job_is_where_it_belongs) {
  if (std::getenv("TORC_GANG_ROUNDS") == nullptr && !GetParam().in_short_run)
    GTEST_SKIP() << "only with TORC_GANG_ROUNDS=1";
  const bool step = GetParam().command.empty();
  const Mpi mpi = GetParam().compiler_of == std::string("mpich") ? kMpich : kOpenMpi;
  const std::string ring = make_ring(mpi, scratch_.path());
  make(
      fmt::format("  - name: gang\n    scheduler: all\n    resource_requirements: three\n"
                  "    ntasks_per_node: 2\n    command: {} {} ranks.$TORC_ATTEMPT_ID $(test "
                  "$TORC_ATTEMPT_ID != 1 || echo wait)\n",
                  GetParam().command, ring));
  const auto nodes = node_links();
  const Words ids = {submit("wf.torc/slurm/all.sbatch")};
  // A step of torc's has no process manager of MPICH's here: each task is a ring of its own.
  const auto whole = [&](const char* log) { return ranks_in(work_ / log).size() >= 6; };
  NewNames names(work_);
  for (const auto end = Clock::now() + 60s; Clock::now() < end && !whole("ranks.1");) {
    Timer look(50ms);
    (void)wait_until({&look}, [&] { return look.passed(); });
  }
  ASSERT_TRUE(whole("ranks.1"));
  const auto before = processes_with(gang_tag_of(1), nodes);
  const std::string launcher = step ? "srun" : "mpi";
  std::string head, member;
  for (const Seen& s : before) {
    if (s.program.starts_with(launcher) && s.command.find("wait") != std::string::npos &&
        head.empty())
      head = s.node;
  }
  for (const Seen& s : before) {
    if (s.node != head && s.program.starts_with("ring-")) member = s.node;
  }
  ASSERT_FALSE(head.empty() || member.empty());
  const double struck = wall_seconds();
  std::string dead;
  const auto end_one = [&](const std::string& node, const std::string& program) {
    for (const Seen& s : before) {
      if (s.node != node || !s.program.starts_with(program)) continue;
      ::kill(s.pid, SIGKILL);
      return;
    }
    ADD_FAILURE() << program << " is not on " << node;
  };
  switch (GetParam().death) {
    case Death::rank:
      end_one(member, "ring-");
      break;
    case Death::launcher:
      end_one(head, launcher);
      break;
    case Death::daemon:
      end_one(member, mpi.name == kMpich.name ? "hydra_pmi" : "orted");
      break;
    case Death::head_worker:
      for (const Seen& s : processes_with(" worker ", nodes)) {
        if (s.node == head && s.program == "torc" &&
            s.command.find(" supervise ") == std::string::npos)
          ::kill(s.pid, SIGKILL);
      }
      break;
    case Death::frozen:
      dead = member;
      EXPECT_EQ(cluster({"exec", dead, "sh", "-c", "kill -STOP -1"}).exit_code, 0);
      break;
    case Death::head:
    case Death::member:
      dead = GetParam().death == Death::head ? head : member;
      EXPECT_EQ(cluster({"crash", dead}).exit_code, 0);
      EXPECT_EQ(
          login({"scontrol", "update", "NodeName=" + dead, "State=DOWN", "Reason=x"}).exit_code, 0);
      break;
  }
  std::vector<std::unique_ptr<Witness>> left;
  std::vector<Source*> sources;
  for (const Seen& s : before) {
    if (s.node == dead || !std::filesystem::exists(fmt::format("/proc/{}", s.pid))) continue;
    sources.push_back(left.emplace_back(std::make_unique<Witness>(s.pid)).get());
  }
  EXPECT_TRUE(wait_until(sources, [&] {
    return std::ranges::all_of(left, [](const auto& one) { return one->gone(); });
  })) << "ranks live on";
  const double gone = wall_seconds();
  const bool own_end = GetParam().death == Death::rank || GetParam().death == Death::launcher ||
                       GetParam().death == Death::daemon;
  if (GetParam().death == Death::head) {
    // The batch script may have been there: then Slurm has ended the allocation, or begins it anew.
    (void)login({"scancel", ids[0]});
    (void)login({"scontrol", "update", "NodeName=" + dead, "State=RESUME"});
    EXPECT_EQ(cluster({"boot", dead}).exit_code, 0);
    (void)submit("wf.torc/slurm/all.sbatch");
  }
  const auto patience = Clock::now() + 80s;
  json job;
  do {
    Timer look(200ms);
    (void)wait_until({&look}, [&] { return look.passed(); });
    job = parsed(torc({"job", "wf.torc", "gang", "--json"}));
  } while (job.at("state") != "completed" && job.at("state") != "failed" &&
           Clock::now() < patience);
  const json events = parsed(torc({"history", "wf.torc", "--job", "gang", "--json"})).at("events");
  const Timeline line = timeline_of(events, struck, gone);
  std::cout << row_of(GetParam().name, job, line) << events.dump() << '\n';
  EXPECT_LE(line.gone, line.over + 10) << "ranks outlive their attempt";
  EXPECT_EQ(job["state"], own_end ? "failed" : "completed") << job;
  EXPECT_EQ(job["attempt"], own_end ? 1 : 2) << job;
  EXPECT_EQ(torc({"verify", "wf.torc"}).exit_code, 0);
}

}  // namespace
}  // namespace torc::itest
