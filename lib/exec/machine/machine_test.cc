#include "lib/exec/machine/machine.h"

#include "lib/exec/machine/gpus.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "lib/exec/machine/cgroup.h"

namespace torc::exec {
namespace {

// A node with 16 CPUs and 64 GiB, and nothing granted.
class MachineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "torc-root-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    file("sys/devices/system/cpu/online", "0-15\n");
    file("proc/self/status", "Name:\ttorc\nCpus_allowed:\tffff\nCpus_allowed_list:\t0-15\n");
    file("proc/meminfo", "MemTotal:       67108864 kB\nMemFree:        1 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] Machine machine() const {
    return detect(
        [this](std::string_view name) -> std::optional<std::string> {
          const auto it = variables_.find(std::string(name));
          if (it == variables_.end()) return std::nullopt;
          return it->second;
        },
        root_.string());
  }

  using Ids = std::vector<std::string>;
  std::filesystem::path root_;
  std::map<std::string, std::string> variables_;
};

TEST_F(MachineTest, a_node_of_ones_own_is_used_whole) {
  const Machine found = machine();
  EXPECT_FALSE(found.host.empty());
  EXPECT_EQ(found.cpus, 16u);
  EXPECT_EQ(found.memory, mebibytes(64 << 10));
  EXPECT_TRUE(found.gpus.empty());
  EXPECT_EQ(found.gpu_variable, "");
  EXPECT_EQ(found.cpus_from, "this node");
  EXPECT_EQ(found.memory_from, "this node");
}

TEST_F(MachineTest, the_affinity_limits_the_cpus) {
  file("proc/self/status", "Cpus_allowed_list:\t0-3,8,10-11\n");
  EXPECT_EQ(machine().cpus, 7u);
  EXPECT_EQ(machine().cpus_from, "the CPU affinity");
}

TEST_F(MachineTest, without_sys_the_affinity_is_all_that_is_known) {
  std::filesystem::remove_all(root_ / "sys");
  EXPECT_EQ(machine().cpus, 16u);
  std::filesystem::remove_all(root_ / "proc");
  EXPECT_EQ(machine().cpus, 1u);
}

TEST_F(MachineTest, what_slurm_granted_wins_over_what_the_node_has) {
  variables_ = {
      {"SLURM_CPUS_ON_NODE", "8"}, {"SLURM_CPUS_PER_TASK", "2"}, {"SLURM_MEM_PER_NODE", "4096"}};
  EXPECT_EQ(machine().cpus, 8u);
  EXPECT_EQ(machine().cpus_from, "SLURM_CPUS_ON_NODE");
  EXPECT_EQ(machine().memory, mebibytes(4096));
  EXPECT_EQ(machine().memory_from, "SLURM_MEM_PER_NODE");
}

TEST_F(MachineTest, the_smaller_of_grant_and_affinity_counts) {
  variables_ = {{"SLURM_CPUS_ON_NODE", "8"}};
  file("proc/self/status", "Cpus_allowed_list:\t5\n");
  EXPECT_EQ(machine().cpus, 1u);
}

TEST_F(MachineTest, memory_by_cpu_is_multiplied) {
  variables_ = {{"SLURM_CPUS_ON_NODE", "4"}, {"SLURM_MEM_PER_CPU", "1000"}};
  EXPECT_EQ(machine().memory, mebibytes(4000));
  variables_["SLURM_MEM_PER_NODE"] = "0";
  EXPECT_EQ(machine().memory, mebibytes(4000)) << "0 says nothing";
}

TEST_F(MachineTest, the_cpus_of_this_node_are_found_in_the_list_of_the_job) {
  variables_ = {{"SLURM_JOB_CPUS_PER_NODE", "4(x2),2,12(x3)"}};
  EXPECT_EQ(machine().cpus, 2u) << "the least, when this node's number is not known";
  for (const auto& [node, cpus] :
       std::map<std::string, unsigned>{{"0", 4}, {"1", 4}, {"2", 2}, {"5", 12}}) {
    variables_["SLURM_NODEID"] = node;
    EXPECT_EQ(machine().cpus, cpus) << node;
  }
  variables_["SLURM_JOB_CPUS_PER_NODE"] = "rubbish";
  EXPECT_EQ(machine().cpus, 16u);
}

TEST_F(MachineTest, cgroup_version_2_limits_hold_from_the_own_group_upwards) {
  file("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
  file("proc/self/mountinfo",
       "24 30 0:22 / /sys rw shared:7 - sysfs sysfs rw\n"
       "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  file("sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
  file("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
  file("sys/fs/cgroup/slurm/job_7/cpu.max", "350000 100000\n");
  file("sys/fs/cgroup/slurm/job_7/memory.max", "1073741824\n");
  file("sys/fs/cgroup/slurm/memory.max", "2147483648\n");
  EXPECT_EQ(machine().cpus, 3u);
  EXPECT_EQ(machine().cpus_from, "the cgroup's CPU quota");
  EXPECT_EQ(machine().memory, mebibytes(1024));
  EXPECT_EQ(machine().memory_from, "the cgroup's memory limit");
}

TEST_F(MachineTest, each_kill_for_lack_of_memory_in_the_own_group_explains_one_end) {
  file("proc/self/cgroup", "0::/job\n");
  file("proc/self/mountinfo",
       "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  file("sys/fs/cgroup/job/memory.events", "low 0\noom 7\noom_kill 3\noom_group_kill 0\n");
  constexpr BootTime now = std::chrono::seconds(100);
  OomKills kills(root_.string());
  EXPECT_FALSE(kills.take_one(now)) << "those before are not ours";
  file("sys/fs/cgroup/job/memory.events", "low 0\noom 9\noom_kill 5\noom_group_kill 0\n");
  EXPECT_TRUE(kills.take_one(now));
  EXPECT_TRUE(kills.take_one(now));
  EXPECT_FALSE(kills.take_one(now));
  std::filesystem::remove_all(root_ / "sys/fs");
  EXPECT_FALSE(kills.take_one(now));
}

TEST_F(MachineTest, a_kill_that_nobody_ended_of_does_not_explain_a_later_end) {
  using namespace std::chrono_literals;
  file("proc/self/cgroup", "0::/job\n");
  file("proc/self/mountinfo",
       "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  const auto killed = [&](int times) {
    file("sys/fs/cgroup/job/memory.events", "oom_kill " + std::to_string(times) + "\n");
  };
  killed(0);
  OomKills kills(root_.string());
  killed(1);
  kills.look(100s);
  EXPECT_TRUE(kills.take_one(101s));
  killed(2);
  kills.look(110s);
  EXPECT_FALSE(kills.take_one(113s)) << "seen three seconds ago";
  // Told by a group below before this one counts it.
  kills.take(1, 120s);
  killed(3);
  EXPECT_FALSE(kills.take_one(120s));
  killed(4);
  EXPECT_TRUE(kills.take_one(120s));
}

TEST_F(MachineTest, version_1_keeps_that_count_elsewhere) {
  file("proc/self/cgroup", "9:memory:/a\n0::/\n");
  file("proc/self/mountinfo",
       "41 24 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
       "42 24 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  file("sys/fs/cgroup/memory/a/memory.oom_control",
       "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  constexpr BootTime now = std::chrono::seconds(100);
  OomKills kills(root_.string());
  file("sys/fs/cgroup/memory/a/memory.oom_control",
       "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  EXPECT_TRUE(kills.take_one(now));
  EXPECT_FALSE(kills.take_one(now));
}

TEST_F(MachineTest, cgroup_version_1_limits_hold_beside_an_empty_version_2) {
  file("proc/self/cgroup", "9:memory:/a\n5:cpu,cpuacct:/a/b\n1:name=systemd:/a\n0::/\n");
  file("proc/self/mountinfo",
       "40 24 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
       "41 24 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
       "42 24 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  file("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  file("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  file("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "50000\n");
  file("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  file("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  EXPECT_EQ(machine().cpus, 1u) << "half a CPU is one";
  EXPECT_EQ(machine().memory, mebibytes(512));
}

TEST_F(MachineTest, a_container_sees_its_own_group_at_the_mount) {
  file("proc/self/cgroup", "0::/docker/abc\n");
  file("proc/self/mountinfo", "35 24 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  file("sys/fs/cgroup/memory.max", "1048576\n");
  EXPECT_EQ(machine().memory, mebibytes(1));
}

TEST_F(MachineTest, a_visible_devices_variable_says_all) {
  file("dev/nvidia0", "");
  file("dev/nvidia1", "");
  file("dev/nvidiactl", "");
  EXPECT_EQ(machine().gpus, (Ids{"0", "1"}));
  EXPECT_EQ(machine().gpu_variable, "CUDA_VISIBLE_DEVICES");
  variables_["CUDA_VISIBLE_DEVICES"] = "1";
  EXPECT_EQ(machine().gpus, Ids{"1"});
  variables_["CUDA_VISIBLE_DEVICES"] = "GPU-8f3a,GPU-77,-1,3";
  EXPECT_EQ(machine().gpus, (Ids{"GPU-8f3a", "GPU-77"}));
  for (const char* none : {"", "NoDevFiles", "-1"}) {
    variables_["CUDA_VISIBLE_DEVICES"] = none;
    EXPECT_TRUE(machine().gpus.empty()) << none;
    EXPECT_EQ(machine().gpu_variable, "");
  }
}

TEST_F(MachineTest, of_all_the_variables_that_slurm_sets_the_one_of_the_hardware_counts) {
  variables_ = {{"CUDA_VISIBLE_DEVICES", "0,1"},
                {"ROCR_VISIBLE_DEVICES", "0,1"},
                {"ZE_AFFINITY_MASK", "0,1"}};
  EXPECT_EQ(machine().gpu_variable, "CUDA_VISIBLE_DEVICES");
  file("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
  file("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "28851\n");
  EXPECT_EQ(machine().gpu_variable, "ROCR_VISIBLE_DEVICES");
  EXPECT_EQ(machine().gpus, (Ids{"0", "1"}));
}

TEST_F(MachineTest, an_empty_mask_says_nothing_to_intels_driver_and_nothing_here) {
  file("sys/class/drm/card1/device/vendor", "0x8086\n");
  file("sys/class/drm/card1/device/class", "0x038000\n");
  variables_["ZE_AFFINITY_MASK"] = "";
  EXPECT_EQ(machine().gpus, Ids{"0"});
  variables_["ZE_AFFINITY_MASK"] = visible_gpus("ZE_AFFINITY_MASK", {});
  EXPECT_TRUE(machine().gpus.empty()) << "what a job without GPUs is told";
  EXPECT_NE(variables_["ZE_AFFINITY_MASK"], "");
  EXPECT_EQ(visible_gpus("CUDA_VISIBLE_DEVICES", {}), "");
  EXPECT_EQ(visible_gpus("ZE_AFFINITY_MASK", {"0.1", "1"}), "0.1,1");
}

TEST_F(MachineTest, a_gpu_that_is_named_twice_is_one) {
  variables_["CUDA_VISIBLE_DEVICES"] = "0,GPU-8f,0,GPU-8f,1";
  EXPECT_EQ(machine().gpus, (Ids{"0", "GPU-8f", "1"}));
}

TEST_F(MachineTest, hip_counts_within_what_rocr_leaves) {
  file("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "28851\n");
  file("sys/class/kfd/kfd/topology/nodes/2/gpu_id", "28852\n");
  variables_["HIP_VISIBLE_DEVICES"] = "1";
  EXPECT_EQ(machine().gpus, Ids{"1"}) << "a grant of its own";
  EXPECT_EQ(machine().gpus_from, "HIP_VISIBLE_DEVICES");
  EXPECT_EQ(machine().gpu_variable, "ROCR_VISIBLE_DEVICES");
  variables_["ROCR_VISIBLE_DEVICES"] = "4,6";
  EXPECT_EQ(machine().gpus, Ids{"6"});
  variables_["HIP_VISIBLE_DEVICES"] = "4,6";
  EXPECT_EQ(machine().gpus, (Ids{"4", "6"})) << "numbers of the whole node";
  variables_["HIP_VISIBLE_DEVICES"] = "-1";
  EXPECT_TRUE(machine().gpus.empty());
  variables_["HIP_VISIBLE_DEVICES"] = "";
  EXPECT_EQ(machine().gpus, (Ids{"4", "6"}));
}

TEST_F(MachineTest, inside_slurm_only_granted_gpus_are_used) {
  file("proc/driver/nvidia/gpus/0000:1b:00.0/information", "");
  file("proc/driver/nvidia/gpus/0000:1c:00.0/information", "");
  EXPECT_EQ(machine().gpus.size(), 2u);
  variables_["SLURM_JOB_ID"] = "42";
  EXPECT_TRUE(machine().gpus.empty());
  variables_["SLURM_JOB_GPUS"] = "1";
  EXPECT_EQ(machine().gpus, Ids{"1"});
  EXPECT_EQ(machine().gpus_from, "SLURM_JOB_GPUS");
}

TEST_F(MachineTest, the_graphics_of_a_desktop_are_no_gpu_but_a_compute_card_is) {
  file("sys/class/drm/card0/device/vendor", "0x8086\n");
  file("sys/class/drm/card0/device/class", "0x030000\n");
  EXPECT_TRUE(machine().gpus.empty());
  file("sys/class/drm/card1/device/vendor", "0x8086\n");
  file("sys/class/drm/card1/device/class", "0x038000\n");
  EXPECT_EQ(machine().gpus, Ids{"0"});
  EXPECT_EQ(machine().gpu_variable, "ZE_AFFINITY_MASK");
}

TEST(Detect, finds_something_on_the_real_machine) {
  const Machine found = detect([](std::string_view) { return std::nullopt; });
  EXPECT_GE(found.cpus, 1u);
  EXPECT_GT(found.memory, mebibytes(16));
}

}  // namespace
}  // namespace torc::exec
