// What a job of a real allocation sees of Slurm and of MPI, and that the launchers which it starts
// are not misled by what its worker was told.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

// The worker's own environment is that of a task of a step, with PMI (`srun_mpi`).
constexpr const char* kSpec = R"yaml(name: seen
execution_config: {mode: direct, srun_mpi: pmi2}
resource_requirements: [{name: two, num_cpus: 2, memory: 100m}]
slurm_schedulers:
  - {name: pair, nodes: 2, walltime: "00:10:00", mem: 400M, extra: -c 2}
  - {name: closed, nodes: 1, walltime: "00:10:00", mem: 400M, extra: -c 2}
jobs:
  - name: looks
    scheduler: pair
    command: env -0 > of_job; cat /proc/$PPID/environ > of_worker
  - {name: steps, scheduler: pair, resource_requirements: two, command: srun -n1 hostname > by_srun; hostname >> by_srun}
  - {name: overlaps, scheduler: pair, resource_requirements: two, command: srun --overlap -n1 hostname > by_overlap; hostname >> by_overlap}
  - {name: passes, scheduler: closed, resource_requirements: two, command: 'srun -n1 sh -c ''echo "$TORC_JOB_NAME"'' > passed'}
  - name: ranks
    scheduler: pair
    resource_requirements: two
    command: |
      command -v mpirun > /dev/null || { echo none > by_mpirun; exit 0; }
      mpirun --allow-run-as-root -n 2 sh -c 'echo "$OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $(hostname)" >> ranks' &&
        hostname > by_mpirun
)yaml";

std::map<std::string, std::string> environment(const std::string& bytes) {
  std::map<std::string, std::string> all;
  std::istringstream in(bytes);
  for (std::string entry; std::getline(in, entry, '\0');) {
    const auto equals = entry.find('=');
    if (equals != std::string::npos) all[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return all;
}

TEST_F(SlurmTest, a_job_sees_the_allocation_and_its_launchers_nothing_of_the_workers_step) {
  write_text(work_ / "seen.yaml", kSpec);
  const auto init = torc({"init", "seen.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const std::map<std::string, std::string> submitted_with = {
      {"TORC_WORKER_FLAGS", "--lease-ttl 10s"},
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"PMIX_MCA_gds", "hash"},
      {"OMPI_COMM_WORLD_RANK", "7"},
      {"OMPI_MCA_orte_hnp_uri", "1.0;tcp://127.0.0.1:1"}};
  const auto pair = login({"sbatch", "--parsable", "seen.torc/slurm/pair.sbatch"}, submitted_with);
  ASSERT_EQ(pair.exit_code, 0) << pair;
  const auto closed =
      login({"sbatch", "--parsable", "--export=NONE", "seen.torc/slurm/closed.sbatch"});
  ASSERT_EQ(closed.exit_code, 0) << closed;
  expect_end_of({split(pair.out).at(0), split(closed.out).at(0)});
  const auto status = parsed(torc({"status", "seen.torc", "--json"}));
  ASSERT_EQ(status.at("jobs_by_state").at("completed"), 5) << status;

  const auto worker = environment(read_text(work_ / "of_worker"));
  const auto job = environment(read_text(work_ / "of_job"));
  for (const char* of_step :
       {"SLURM_STEP_ID", "SLURM_STEP_NODELIST", "SLURM_LOCALID", "PMI_FD", "PMI_RANK",
        "SLURM_SRUN_COMM_PORT", "OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri"}) {
    EXPECT_TRUE(worker.contains(of_step)) << "nothing is shown without it: " << of_step;
    EXPECT_FALSE(job.contains(of_step)) << of_step;
  }
  for (const char* of_allocation :
       {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION", "SLURM_CONF",
        "SLURM_SUBMIT_DIR", "SLURM_JOB_UID", "SLURMD_NODENAME", "PMIX_MCA_gds",
        "OMPI_MCA_rmaps_base_oversubscribe"}) {
    ASSERT_TRUE(worker.contains(of_allocation)) << of_allocation;
    ASSERT_TRUE(job.contains(of_allocation)) << of_allocation;
    EXPECT_EQ(job.at(of_allocation), worker.at(of_allocation)) << of_allocation;
  }
  EXPECT_EQ(worker.at("SLURM_NTASKS"), "2");
  EXPECT_EQ(job.at("SLURM_NTASKS"), "1");
  EXPECT_EQ(job.at("SLURM_NNODES"), "1");
  EXPECT_EQ(job.at("SLURM_NODELIST"), job.at("SLURMD_NODENAME"));
  // Nothing else of a rank or a step came through.
  for (const auto& [name, value] : job) {
    for (const char* family : {"SLURM_STEP", "SRUN_", "PMI_", "OMPI_COMM_WORLD", "SLURM_PMI"}) {
      EXPECT_TRUE(!name.starts_with(family) || name == "SRUN_CPUS_PER_TASK") << name << value;
    }
  }

  for (const char* file : {"by_srun", "by_overlap"}) {
    const auto nodes = split(read_text(work_ / file));
    ASSERT_EQ(nodes.size(), 2U) << file;
    EXPECT_EQ(nodes[0], nodes[1]) << "on the job's own node: " << file;
  }
  EXPECT_EQ(read_text(work_ / "passed"), "passes\n");
  const auto node = split(read_text(work_ / "by_mpirun"));
  ASSERT_EQ(node.size(), 1U);
  if (node[0] == "none")
    GTEST_SKIP() << "there is no mpirun here; run scripts/install-deps.sh test";
  const auto ranks = lines_of(read_text(work_ / "ranks"));
  EXPECT_EQ(std::set<std::string>(ranks.begin(), ranks.end()),
            (std::set<std::string>{"0/2 " + node[0], "1/2 " + node[0]}));
}

}  // namespace
}  // namespace torc::itest
