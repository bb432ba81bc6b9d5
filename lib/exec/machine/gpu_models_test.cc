#include "lib/exec/machine/gpu_models.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace torc::exec {
namespace {

TEST(TypeOfModel, is_the_short_name_that_people_use) {
  const std::pair<const char*, const char*> kModels[] = {{"NVIDIA A100-SXM4-40GB", "a100"},
                                                         {"Tesla V100-SXM2-32GB", "v100"},
                                                         {"NVIDIA H100 80GB HBM3", "h100"},
                                                         {"Tesla T4", "t4"},
                                                         {"NVIDIA GeForce RTX 3090", "rtx3090"},
                                                         {"NVIDIA RTX A6000", "a6000"},
                                                         {"NVIDIA GH200 480GB", "gh200"},
                                                         {"AMD Instinct MI250X", "mi250x"},
                                                         {"NVIDIA TITAN RTX", "titan_rtx"},
                                                         {"NVIDIA L40S", "l40s"},
                                                         {"", ""},
                                                         {"???", ""}};
  for (const auto& [model, type] : kModels) EXPECT_EQ(type_of_model(model), type) << model;
}

// A node that is made up.
class GpuKinds : public ::testing::Test {
 protected:
  using Kinds = std::vector<std::string>;
  void SetUp() override {
    std::string name = testing::TempDir() + "torc-root-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void nvidia(int bus, const std::string& model, const std::string& uuid) const {
    file("proc/driver/nvidia/gpus/0000:0" + std::to_string(bus) + ":00.0/information",
         "Model: \t\t " + model + "\nIRQ:   \t\t 90\nGPU UUID: \t " + uuid + "\n");
  }
  Kinds kinds(const std::vector<std::string>& ids) const {
    return kinds_of(
        {ids, variable_, "test"},
        [this](std::string_view name) -> std::optional<std::string> {
          const auto it = env_.find(std::string(name));
          if (it == env_.end()) return std::nullopt;
          return it->second;
        },
        root_.string());
  }
  std::filesystem::path root_;
  std::string variable_ = "CUDA_VISIBLE_DEVICES";
  std::map<std::string, std::string> env_;
};

TEST_F(GpuKinds, are_known_where_all_of_the_node_are_alike) {
  for (int bus = 1; bus <= 4; ++bus)
    nvidia(bus, "NVIDIA A100-SXM4-40GB", "GPU-" + std::to_string(bus));
  EXPECT_EQ(kinds({"0", "GPU-unknown"}), (Kinds{"gpus/a100", "gpus/a100"}));
}

TEST_F(GpuKinds, of_several_models_only_what_is_certain_is_told) {
  nvidia(1, "Tesla T4", "GPU-t4");
  nvidia(2, "NVIDIA A100-SXM4-40GB", "GPU-a100");
  EXPECT_EQ(kinds({"0", "1"}), Kinds{}) << "the fastest may come first";
  EXPECT_EQ(kinds({"GPU-a100", "1"}), (Kinds{"gpus/a100", "gpus"}));
  env_["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  EXPECT_EQ(kinds({"0", "1", "2"}), (Kinds{"gpus/t4", "gpus/a100", "gpus"}));
  env_["SLURM_JOB_ID"] = "7";
  EXPECT_EQ(kinds({"0", "1"}), Kinds{}) << "numbers count within what the job sees";
}

TEST_F(GpuKinds, of_amd_are_told_by_its_cards) {
  variable_ = "ROCR_VISIBLE_DEVICES";
  for (const char* card : {"card0", "card1"}) {
    file(std::string("sys/class/drm/") + card + "/device/vendor", "0x1002\n");
    file(std::string("sys/class/drm/") + card + "/device/product_name", "AMD Instinct MI250X\n");
  }
  file("sys/class/drm/card0-DP-1/device/vendor", "0x1002\n");
  file("sys/class/drm/card9/device/vendor", "0x1a03\n");
  EXPECT_EQ(kinds({"0", "1"}), (Kinds{"gpus/mi250x", "gpus/mi250x"}));
}

TEST_F(GpuKinds, without_a_driver_that_tells_are_none) {
  EXPECT_EQ(kinds({"0"}), Kinds{});
  nvidia(1, "", "GPU-1");
  EXPECT_EQ(kinds({"0"}), Kinds{});
}

TEST_F(GpuKinds, that_are_hidden_count_for_no_type) {
  nvidia(1, "NVIDIA A100-SXM4-40GB", "GPU-1");
  nvidia(2, "Tesla T4", "GPU-2");
  nvidia(3, "NVIDIA A100-SXM4-40GB", "GPU-3");
  for (const auto& [variable, value] :
       {std::pair{"CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2"}, {"SLURM_JOB_GPUS", "GPU-1,GPU-2"}}) {
    env_ = {{variable, value}};
    const auto get = [this](std::string_view name) -> std::optional<std::string> {
      const auto it = env_.find(std::string(name));
      if (it == env_.end()) return std::nullopt;
      return it->second;
    };
    const Machine machine = detect(get, root_.string());
    EXPECT_EQ(machine.gpu_kinds, (Kinds{"gpus/a100", "gpus/t4"})) << variable;
    EXPECT_EQ(named_of(machine), (Amounts{{"gpus/a100", 1000, true}, {"gpus/t4", 1000, true}}));
  }
}

class GpuGroups : public GpuKinds {
 protected:
  using Groups = std::vector<std::uint32_t>;
  // GPU-1 and GPU-2 on one node, GPU-3 and GPU-4 on the other.
  void SetUp() override {
    GpuKinds::SetUp();
    for (int bus = 1; bus <= 4; ++bus) {
      nvidia(bus, "NVIDIA A100-SXM4-40GB", "GPU-" + std::to_string(bus));
      numa(bus, bus <= 2 ? "0" : "1");
    }
  }
  void numa(int bus, const std::string& node) const {
    file("sys/bus/pci/devices/0000:0" + std::to_string(bus) + ":00.0/numa_node", node + "\n");
  }
  Groups groups(const std::vector<std::string>& ids) const {
    const auto get = [this](std::string_view name) -> std::optional<std::string> {
      const auto it = env_.find(std::string(name));
      if (it == env_.end()) return std::nullopt;
      return it->second;
    };
    return numa_groups_of({ids, variable_, "test"}, get, root_.string());
  }
};

TEST_F(GpuGroups, are_the_numa_nodes_that_gpus_hang_on) {
  EXPECT_EQ(groups({"0", "1", "2", "3"}), (Groups{1, 1, 2, 2}));
  EXPECT_EQ(groups({"GPU-4", "GPU-1"}), (Groups{2, 1}));
}

TEST_F(GpuGroups, are_none_where_it_is_not_sure_which_gpu_a_number_is) {
  EXPECT_EQ(groups({"0", "2"}), Groups{}) << "numbers of a part of them";
  env_["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  EXPECT_EQ(groups({"0", "2"}), (Groups{1, 2}));
  env_["SLURM_JOB_ID"] = "7";
  EXPECT_EQ(groups({"0", "2"}), Groups{});
  EXPECT_EQ(groups({"0", "1", "2", "3"}), Groups{}) << "Slurm may show others by these numbers";
}

TEST_F(GpuGroups, are_none_where_a_file_of_the_kernel_says_no_number) {
  for (const char* text : {"", "x", "0x1", "1 2", "-7", "70000", "99999999999999999999"}) {
    numa(4, text);
    EXPECT_EQ(groups({"0", "1", "2", "3"}), Groups{}) << text;
  }
  std::filesystem::remove(root_ / "sys/bus/pci/devices/0000:04:00.0/numa_node");
  EXPECT_EQ(groups({"0", "1", "2", "3"}), Groups{}) << "there is no such file";
  EXPECT_EQ(groups({"GPU-1", "GPU-3"}), (Groups{1, 2})) << "of these it is known";
  numa(4, " 65534");
  EXPECT_EQ(groups({"0", "1", "2", "3"}), (Groups{1, 1, 2, 65535}));
}

TEST_F(GpuGroups, are_none_of_one_gpu_of_an_unknown_one_and_of_another_make) {
  EXPECT_EQ(groups({"GPU-1"}), Groups{});
  EXPECT_EQ(groups({"GPU-1", "GPU-9"}), Groups{});
  EXPECT_EQ(groups({"0", "1", "2", "9"}), Groups{}) << "a number that none of them has";
  variable_ = "ZE_AFFINITY_MASK";
  EXPECT_EQ(groups({"0", "1", "2", "3"}), Groups{});
}

TEST_F(GpuGroups, of_amd_are_known_by_their_unique_names) {
  variable_ = "ROCR_VISIBLE_DEVICES";
  for (int card = 0; card < 2; ++card) {
    const std::string device = "sys/class/drm/card" + std::to_string(card) + "/device/";
    file(device + "vendor", "0x1002\n");
    file(device + "product_name", "AMD Instinct MI250X\n");
    file(device + "unique_id", "ab" + std::to_string(card) + "\n");
    file(device + "numa_node", std::to_string(card) + "\n");
  }
  EXPECT_EQ(groups({"GPU-ab1", "GPU-ab0"}), (Groups{2, 1}));
  EXPECT_EQ(groups({"0", "1"}), Groups{}) << "by number nobody knows which is which";
}

TEST_F(GpuGroups, of_a_node_whose_models_differ_are_known_in_the_order_of_the_bus_alone) {
  nvidia(4, "Tesla T4", "GPU-4");
  EXPECT_EQ(groups({"0", "1", "2", "3"}), Groups{});
  env_["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  EXPECT_EQ(groups({"0", "1", "2", "3"}), (Groups{1, 1, 2, 2}));
}

TEST_F(GpuGroups, are_none_where_the_kernel_knows_none_or_there_is_only_one) {
  EXPECT_EQ(groups({"GPU-1", "GPU-2"}), Groups{});
  numa(3, "-1");
  EXPECT_EQ(groups({"0", "1", "2", "3"}), Groups{});
}

}  // namespace
}  // namespace torc::exec
