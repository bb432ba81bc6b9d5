#include <gtest/gtest.h>

#include <map>
#include <string>

#include "lib/worker/setup/worker_setup.h"

namespace torc::worker {
namespace {

class Group : public ::testing::Test {
 protected:
  [[nodiscard]] GroupPlace place() {
    const auto found = place_in_group(
        options_,
        [this](std::string_view name) -> std::optional<std::string> {
          const auto value = env_.find(std::string(name));
          return value == env_.end() ? std::nullopt : std::optional(value->second);
        },
        allocation_, slurm_node_, "host1");
    EXPECT_TRUE(found.ok()) << found.error().text();
    return found.ok() ? *found : GroupPlace{};
  }
  [[nodiscard]] std::string error() {
    const auto found = place_in_group(
        options_, [](std::string_view) { return std::optional<std::string>(); }, allocation_,
        slurm_node_, "host1");
    return found.ok() ? "" : found.error().text();
  }
  WorkerOptions options_;
  std::map<std::string, std::string> env_;
  std::string allocation_;
  std::string slurm_node_;
};

TEST_F(Group, a_worker_by_itself_is_of_none) {
  EXPECT_EQ(place().group, "");
  EXPECT_EQ(place().node_name, "host1");
}

TEST_F(Group, what_a_person_says_stands) {
  options_.group = "lab";
  options_.node_name = "left_1";
  allocation_ = "12";
  slurm_node_ = "node7";
  env_ = {{"SLURM_JOB_NUM_NODES", "4"}};
  EXPECT_EQ(place().group, "lab");
  EXPECT_EQ(place().most_nodes, 0U) << "anybody may join it";
  EXPECT_EQ(place().node_name, "left_1");
}

TEST_F(Group, the_workers_of_one_run_of_an_allocation_are_of_one) {
  allocation_ = "12";
  slurm_node_ = "node7";
  env_ = {{"SLURM_CLUSTER_NAME", "c"}, {"SLURM_JOB_START_TIME", "1000"}};
  const std::string first = place().group;
  EXPECT_NE(first, "");
  EXPECT_EQ(place().most_nodes, 0U) << "nobody says how many";
  env_["SLURM_JOB_NUM_NODES"] = "4";
  EXPECT_EQ(place().most_nodes, 4U);
  EXPECT_EQ(place().node_name, "node7");
  slurm_node_ = "node8";
  EXPECT_EQ(place().group, first);
  allocation_ = "12_3";  // an element of an array, or another part of a heterogeneous job
  EXPECT_NE(place().group, first);
  allocation_ = "12";
  env_["SLURM_RESTART_COUNT"] = "1";
  EXPECT_NE(place().group, first);
  env_.erase("SLURM_RESTART_COUNT");
  env_["SLURM_JOB_START_TIME"] = "2000";
  EXPECT_NE(place().group, first);
}

TEST_F(Group, a_name_that_a_file_of_hosts_cannot_have_is_refused) {
  for (const char* bad : {"a b", "a:2", "-a", ".", "a/b", "a,b", "\xc3\xa4"}) {
    options_.group = bad;
    EXPECT_NE(error().find("--group"), std::string::npos) << bad;
    options_.group.clear();
    options_.node_name = bad;
    EXPECT_NE(error().find("--node-name"), std::string::npos) << bad;
    options_.node_name.clear();
  }
}

}  // namespace
}  // namespace torc::worker
