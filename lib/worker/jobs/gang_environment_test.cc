#include "lib/worker/jobs/gang_environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lib/slurm/short_host_list.h"

namespace torc::worker {
namespace {

namespace fs = std::filesystem;

claim::GangPart part(std::uint32_t nodes, std::uint32_t rank = 0) {
  claim::GangPart made;
  made.gang.token = {JobId{7}, 2, 1034};
  made.gang.port = 4711;
  made.rank = rank;
  for (std::uint32_t n = 1; n <= nodes; ++n) {
    claim::GangMember member;
    member.worker = claim::WorkerEpoch{n};
    member.node = "n" + std::to_string(n);
    made.gang.members.push_back(member);
  }
  return made;
}

GangTerms terms(const std::string& directory = "/s/7.2.d") {
  GangTerms made;
  made.cpus = 4;
  made.workflow_id = "abc";
  made.directory = directory;
  return made;
}

std::string value(const std::vector<std::string>& env, const std::string& name) {
  for (const std::string& entry : env) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "none";
}

std::string text(const std::vector<GangFile>& files, const std::string& path) {
  const auto found = std::ranges::find(files, path, &GangFile::path);
  return found == files.end() ? "none" : found->text;
}

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A directory of its own, and the program `name` in it, which prints its words, a line each.
class GangFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "torc-gang-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { fs::remove_all(directory_); }

  void put_program(const std::string& name, const std::string& body) const {
    const fs::path file = directory_ / name;
    std::ofstream(file) << "#!/bin/sh\n" << body;
    fs::permissions(file, fs::perms::owner_all);
  }
  [[nodiscard]] std::string output_of(const std::string& line) const {
    const fs::path out = directory_ / "out";
    const std::string whole =
        "PATH=" + directory_.string() + ":$PATH; { " + line + "; } > " + out.string() + " 2>&1";
    EXPECT_EQ(std::system(whole.c_str()), 0) << content(out);  // NOLINT: a test
    return content(out);
  }

  fs::path directory_;
};

TEST(GangEnvironment, says_who_the_nodes_are_in_order_of_rank) {
  const auto env = gang_variables(part(3, 1), terms()).own;
  EXPECT_EQ(value(env, "TORC_NODELIST"), "n1,n2,n3");
  EXPECT_EQ(value(env, "TORC_NUM_NODES"), "3");
  EXPECT_EQ(value(env, "TORC_HEAD_NODE"), "n1");
  EXPECT_EQ(value(env, "TORC_NODE_RANK"), "1");
  EXPECT_EQ(value(env, "TORC_HOSTFILE"), "/s/7.2.d/hosts.1");
  EXPECT_EQ(value(env, "TORC_HOSTFILE_OPENMPI"), "/s/7.2.d/hosts.openmpi.1");
  EXPECT_EQ(value(env, "TORC_HOSTFILE_MPICH"), "/s/7.2.d/hosts.mpich.1");
  EXPECT_EQ(value(env, "TORC_GANG"), "7.2.1034");
}

TEST(GangEnvironment, hosts_have_as_many_slots_as_the_job_has_cpus_there_or_as_it_says) {
  auto files = gang_files(part(2), terms());
  EXPECT_EQ(text(files, "/s/7.2.d/hosts"), "n1\nn2\n");
  EXPECT_EQ(text(files, "/s/7.2.d/hosts.openmpi"), "n1 slots=4\nn2 slots=4\n");
  EXPECT_EQ(text(files, "/s/7.2.d/hosts.mpich"), "n1:4\nn2:4\n");
  GangTerms two = terms();
  two.launch.tasks_per_node = 2;
  files = gang_files(part(2), two);
  EXPECT_EQ(text(files, "/s/7.2.d/hosts.openmpi"), "n1 slots=2\nn2 slots=2\n");
  EXPECT_EQ(text(files, "/s/7.2.d/hosts.mpich"), "n1:2\nn2:2\n");
}

TEST(GangEnvironment, launchers_find_the_hosts_and_bind_no_rank) {
  const auto env = gang_variables(part(2), terms()).unless_set;
  for (const char* file : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"})
    EXPECT_EQ(value(env, file), "/s/7.2.d/hosts.openmpi") << file;
  EXPECT_EQ(value(env, "HYDRA_HOST_FILE"), "/s/7.2.d/hosts.mpich");
  for (const char* binding : {"OMPI_MCA_hwloc_base_binding_policy",
                              "PRTE_MCA_hwloc_default_binding_policy", "HYDRA_BINDING"})
    EXPECT_EQ(value(env, binding), "none") << binding;
  for (const char* mapping :
       {"OMPI_MCA_rmaps_base_mapping_policy", "PRTE_MCA_rmaps_default_mapping_policy"})
    EXPECT_EQ(value(env, mapping), "node") << mapping;
  for (const char* agent :
       {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC"})
    EXPECT_EQ(value(env, agent), "/s/7.2.d/agent") << agent;
}

TEST(GangEnvironment, open_mpi_is_told_of_no_agent_whose_path_has_a_blank) {
  const auto env = gang_variables(part(2), terms("/a b/7.2.d")).unless_set;
  EXPECT_EQ(value(env, "OMPI_MCA_plm_rsh_agent"), "none");
  EXPECT_EQ(value(env, "HYDRA_LAUNCHER_EXEC"), "/a b/7.2.d/agent");
}

TEST(GangEnvironment, what_runs_on_every_node_knows_where_to_meet) {
  GangTerms all = terms();
  EXPECT_EQ(value(gang_variables(part(2), all).unless_set, "MASTER_ADDR"), "none");
  all.launch.on = spec::LaunchOn::all;
  const auto env = gang_variables(part(2, 1), all).unless_set;
  EXPECT_EQ(value(env, "MASTER_ADDR"), "n1");
  EXPECT_EQ(value(env, "MASTER_PORT"), "4711");
}

TEST(GangEnvironment, below_slurm_the_allocation_is_the_nodes_of_the_gang) {
  GangTerms in_slurm = terms();
  EXPECT_TRUE(gang_variables(part(2), in_slurm).slurm.empty());
  in_slurm.in_slurm = true;
  in_slurm.allocation_nodes = 2;
  auto env = gang_variables(part(2), in_slurm).slurm;
  EXPECT_EQ(value(env, "SLURM_JOB_NODELIST"), "n1,n2");
  EXPECT_EQ(value(env, "SLURM_NNODES"), "2");
  EXPECT_EQ(value(env, "SLURM_TASKS_PER_NODE"), "4(x2)");
  EXPECT_EQ(value(env, "SLURM_HOSTFILE"), "none");
  EXPECT_EQ(value(gang_variables(part(2), in_slurm).unless_set, "HYDRA_LAUNCHER_EXEC"), "none");
  // srun knows the allocation's nodes; of a part of them it must be told.
  in_slurm.allocation_nodes = 4;
  in_slurm.launch.tasks_per_node = 2;
  env = gang_variables(part(2), in_slurm).slurm;
  EXPECT_EQ(value(env, "SLURM_HOSTFILE"), "/s/7.2.d/hosts.slurm");
  EXPECT_EQ(text(gang_files(part(2), in_slurm), "/s/7.2.d/hosts.slurm"), "n1\nn2\nn1\nn2\n");
}

TEST(GangEnvironment, below_slurm_a_command_that_is_no_launcher_is_a_step) {
  using spec::ExecutionMode;
  const spec::Launch usual;
  EXPECT_TRUE(is_step("./solve x", usual, ExecutionMode::automatic, true));
  EXPECT_FALSE(is_step("./solve x", usual, ExecutionMode::automatic, false));
  EXPECT_FALSE(is_step("./solve x", usual, ExecutionMode::direct, true));
  for (const char* launcher : {"mpirun ./solve", "A=1 exec mpiexec.hydra -n 4 ./solve",
                               "/opt/mpi/bin/mpirun x", "srun -n 4 x", "prterun x", "orterun x"})
    EXPECT_FALSE(is_step(launcher, usual, ExecutionMode::automatic, true)) << launcher;
  for (const auto on : {spec::LaunchOn::head, spec::LaunchOn::all}) {
    EXPECT_FALSE(is_step("./solve x", {.on = on}, ExecutionMode::automatic, true));
  }
}

TEST(GangEnvironment, a_step_has_the_nodes_of_the_gang_and_a_task_on_each) {
  GangTerms in_slurm = terms();
  in_slurm.memory = ByteCount{std::uint64_t{2} << 30};
  EXPECT_EQ(step_line("echo 'a b' | wc", part(2), in_slurm, "7.2", "pmix", false),
            "exec srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --nodelist=n1,n2 "
            "--cpus-per-task=4 --overlap --mem=2048M --job-name=7.2 --kill-on-bad-exit=1 --wait=0 "
            "--input=none --export=ALL --cpu-bind=none --mpi=pmix /bin/sh -c "
            "'echo '\\''a b'\\'' | wc'");
  in_slurm.launch.tasks_per_node = 2;
  in_slurm.memory = {};
  const std::string line = step_line("x", part(3), in_slurm, "7.2", "", true);
  EXPECT_NE(line.find("--ntasks=6 --ntasks-per-node=2 "), std::string::npos) << line;
  EXPECT_NE(line.find("--cpus-per-task=2 --overlap --mem=0 "), std::string::npos) << line;
  EXPECT_EQ(line.find("--mpi"), std::string::npos) << line;
  EXPECT_EQ(line.find("--cpu-bind"), std::string::npos) << line;
}

TEST_F(GangFiles, are_written_below_the_output_and_again_for_another_start) {
  const GangTerms here = terms((directory_ / "000000/7.2.d").string());
  const exec::OutputRoot root(directory_, 022);
  for (int i = 0; i < 2; ++i) {
    const auto wrote = write_gang_files(gang_files(part(2), here), root);
    ASSERT_TRUE(wrote.ok()) << wrote.error().what;
  }
  EXPECT_EQ(content(directory_ / "000000/7.2.d/hosts"), "n1\nn2\n");
  struct stat about {};
  ASSERT_EQ(stat((directory_ / "000000/7.2.d/agent").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0755U & ~022U);
}

TEST_F(GangFiles, that_cannot_be_written_are_told) {
  std::ofstream(directory_ / "file") << "no directory";
  const GangTerms here = terms((directory_ / "file/7.2.d").string());
  EXPECT_FALSE(write_gang_files(gang_files(part(2), here), exec::OutputRoot(directory_)).ok());
}

// What ssh does with its words: it hands them on as one line to a shell of the other side.
TEST_F(GangFiles, the_agent_runs_a_launchers_line_with_the_tags_of_the_gang) {
  const GangTerms here = terms((directory_ / "d").string());
  ASSERT_TRUE(write_gang_files(gang_files(part(2), here), exec::OutputRoot(directory_)).ok());
  put_program("ssh",
              "echo \"$1 $2 $3 $4\"\nshift 4\nexec env -i PATH=\"$PATH\" /bin/sh -c \"$*\"\n");
  const std::string agent = (directory_ / "d/agent").string();
  const std::string told =
      " echo \"$TORC_GANG $TORC_WORKFLOW_ID\"; printf \"%s\\n\" \"it'\"'\"'s\"";
  EXPECT_EQ(output_of(agent + " -x n2 '" + told + "'"),
            "-x -o BatchMode=yes n2\n7.2.1034 abc\nit's\n");
  EXPECT_EQ(output_of(agent + " n2 echo a b"), "-x -o BatchMode=yes n2\na b\n");
}

TEST_F(GangFiles, below_slurm_the_agent_makes_a_step_of_one_task) {
  GangTerms here = terms((directory_ / "d").string());
  here.in_slurm = true;
  ASSERT_TRUE(write_gang_files(gang_files(part(2), here), exec::OutputRoot(directory_)).ok());
  put_program("srun", "for w; do echo \"[$w]\"; done; echo \"hosts $SLURM_HOSTFILE\"\n");
  const std::string out =
      output_of("SLURM_HOSTFILE=x " + (directory_ / "d/agent").string() + " n2 'a; b'");
  EXPECT_NE(out.find("[--nodelist=n2]\n"), std::string::npos) << out;
  EXPECT_NE(out.find("[/bin/sh]\n[-c]\n[a; b]\nhosts \n"), std::string::npos) << out;
}

// Whether the kernel takes this environment and these words.
bool starts(const std::vector<std::string>& env, std::vector<std::string> words) {
  const auto pointers = [](const std::vector<std::string>& all) {
    std::vector<char*> found;
    for (const std::string& one : all) found.push_back(const_cast<char*>(one.c_str()));  // NOLINT
    found.push_back(nullptr);
    return found;
  };
  const auto argv = pointers(words);
  const auto envp = pointers(env);
  pid_t pid = 0;
  if (posix_spawn(&pid, words.front().c_str(), nullptr, nullptr, argv.data(), envp.data()) != 0)
    return false;
  int status = 1;
  return waitpid(pid, &status, 0) == pid && status == 0;
}

claim::GangPart part_of_thousands() {
  claim::GangPart made = part(claim::kMostGangNodes);
  for (std::size_t n = 0; n < made.gang.members.size(); ++n)
    made.gang.members[n].node = fmt::format("node-of-a-rather-large-machine-{:05}", n);
  return made;
}

TEST(GangEnvironment, of_thousands_of_nodes_with_long_names_lets_a_command_start) {
  GangTerms in_slurm = terms();
  in_slurm.in_slurm = true;
  const claim::GangPart many = part_of_thousands();
  const GangVariables all = gang_variables(many, in_slurm);
  EXPECT_EQ(value(all.own, "TORC_NODELIST"), "none");
  EXPECT_EQ(value(all.own, "TORC_NUM_NODES"), "4096");
  EXPECT_EQ(value(all.slurm, "SLURM_JOB_NODELIST"), "node-of-a-rather-large-machine-[00000-04095]");
  std::vector<std::string> env = all.own;
  env.insert(env.end(), all.slurm.begin(), all.slurm.end());
  env.insert(env.end(), all.unless_set.begin(), all.unless_set.end());
  const std::string line = step_line("x", many, in_slurm, "7.2", "", false);
  EXPECT_NE(line.find(" --nodelist=/s/7.2.d/hosts "), std::string::npos) << line.substr(0, 200);
  EXPECT_TRUE(starts(env, {"/bin/sh", "-c", ": " + line}));
  env.push_back("TORC_NODELIST=" + std::string(slurm::kLongestWord, 'n'));
  EXPECT_FALSE(starts(env, {"/bin/sh", "-c", ":"})) << "or there is no need for all of this";
}

TEST(GangEnvironment, a_port_is_free) {
  EXPECT_NE(free_port(), 0);
}

}  // namespace
}  // namespace torc::worker
