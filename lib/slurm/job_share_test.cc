#include "lib/slurm/job_share.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace torc::slurm {
namespace {

bool has(const std::vector<std::string>& variables, const std::string& entry) {
  return std::ranges::find(variables, entry) != variables.end();
}

TEST(JobShare, what_launchers_told_the_worker_itself_is_of_its_step) {
  for (const char* entry :
       {"SLURM_STEP_ID=0", "PMI_RANK=0", "PMIX_RANK=0", "OMPI_COMM_WORLD_RANK=0",
        "OMPI_UNIVERSE_SIZE=4", "OMPI_MCA_ess_base_jobid=1", "OMPI_MCA_orte_ess_num_procs=4",
        "OMPI_MCA_orte_precondition_transports=a-b", "PRTE_MCA_ess_base_vpid=0",
        "HYDI_CONTROL_FD=5"}) {
    EXPECT_TRUE(is_of_step(entry)) << entry;
  }
  for (const char* entry :
       {"OMPI_MCA_btl=tcp,self", "OMPI_MCA_orte_default_hostfile=h", "HYDRA_IFACE=ib0",
        "SLURM_JOB_ID=7", "PRTE_MCA_rmaps_default_mapping_policy=slot", "PATH=/bin"}) {
    EXPECT_FALSE(is_of_step(entry)) << entry;
  }
}

TEST(JobShare, of_several_nodes_says_these_in_place_of_the_allocation) {
  auto all = gang_variables({{"n2", "n4"}, 3, 8, ByteCount{std::uint64_t{3} << 30}, ""});
  for (const char* entry : {"SLURM_JOB_NUM_NODES=2", "SLURM_JOB_NODELIST=n2,n4", "SLURM_NTASKS=6",
                            "SLURM_TASKS_PER_NODE=3(x2)", "SLURM_JOB_CPUS_PER_NODE=8(x2)",
                            "SLURM_MEM_PER_NODE=3072", "SLURM_OVERLAP=1"}) {
    EXPECT_TRUE(has(all, entry)) << entry;
  }
  all = gang_variables({{"n2", "n4"}, 3, 8, {}, "/hosts"});
  EXPECT_TRUE(has(all, "SLURM_HOSTFILE=/hosts"));
  EXPECT_TRUE(has(all, "SLURM_MEM_PER_NODE=0"));
}

TEST(JobShare, is_without_what_the_workers_own_step_and_rank_are_told) {
  for (const char* entry : {"SLURM_STEP_ID=0",
                            "SLURM_STEPID=0",
                            "SLURM_PROCID=1",
                            "SLURM_NTASKS=4",
                            "SLURM_LOCALID=0",
                            "SLURM_CPU_BIND=quiet",
                            "SRUN_DEBUG=3",
                            "SLURM_SRUN_COMM_PORT=1",
                            "SLURM_MEM_PER_CPU=9",
                            "PMI_RANK=1",
                            "PMI_FD=8",
                            "PMIX_RANK=1",
                            "PMIX_NAMESPACE=slurm.pmix.1.0",
                            "SLURM_PMIX_MAPPING_SERV=(vector,(0,2,1))",
                            "SLURM_PMI2_PROC_MAPPING=",
                            "SLURM_MPI_TYPE=pmix",
                            "OMPI_COMM_WORLD_RANK=1",
                            "OMPI_UNIVERSE_SIZE=4",
                            "OMPI_MCA_ess=pmi",
                            "OMPI_MCA_orte_ess_jobid=7",
                            "OMPI_MCA_orte_hnp_uri=7",
                            "OMPI_MCA_orte_precondition_transports=1-2",
                            "SLURM_EXPORT_ENV=NONE"})
    EXPECT_TRUE(is_of_step(entry)) << entry;
}

TEST(JobShare, has_what_is_said_of_the_allocation_and_what_users_set) {
  for (const char* entry :
       {"SLURM_JOB_ID=7", "SLURM_JOBID=7", "SLURM_CLUSTER_NAME=a", "SLURM_JOB_PARTITION=all",
        "SLURM_SUBMIT_DIR=/home", "SLURM_CONF=/etc/slurm.conf", "SLURM_JOB_END_TIME=9",
        "SLURM_ARRAY_TASK_ID=3", "SLURMD_NODENAME=n1", "SLURM_JOB_GPUS=0,1",
        "SLURM_RESTART_COUNT=1", "OMPI_MCA_btl=self,tcp", "OMPI_MCA_orte_base_help_aggregate=0",
        "OMPI_ALLOW_RUN_AS_ROOT=1", "PMIX_MCA_gds=hash", "PATH=/bin", "PMI=1"})
    EXPECT_FALSE(is_of_step(entry)) << entry;
}

}  // namespace
}  // namespace torc::slurm
