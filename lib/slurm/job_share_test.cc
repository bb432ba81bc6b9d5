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

}  // namespace
}  // namespace torc::slurm
