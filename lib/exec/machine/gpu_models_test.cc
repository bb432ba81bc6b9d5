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

}  // namespace
}  // namespace torc::exec
