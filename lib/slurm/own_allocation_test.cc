#include "lib/slurm/own_allocation.h"

#include <gtest/gtest.h>

#include <map>

namespace torc::slurm {
namespace {

using Words = std::vector<std::string>;

GetEnv environment(std::map<std::string, std::string, std::less<>> variables) {
  return [variables](std::string_view name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    if (it == variables.end()) return std::nullopt;
    return it->second;
  };
}

TEST(OwnAllocation, an_element_of_an_array_is_called_as_such) {
  EXPECT_EQ(own_allocation(environment({{"SLURM_JOB_ID", "12"}})), "12");
  EXPECT_EQ(
      own_allocation(environment(
          {{"SLURM_JOB_ID", "12"}, {"SLURM_ARRAY_JOB_ID", "12"}, {"SLURM_ARRAY_TASK_ID", "7"}})),
      "12_7")
      << "its number alone means the whole array";
  EXPECT_EQ(own_allocation(environment({})), std::nullopt);
  EXPECT_EQ(own_allocation(environment({{"SLURM_JOB_ID", "--all"}})), std::nullopt);
  EXPECT_EQ(own_allocation(environment({{"SLURM_JOB_ID", "12"}, {"SLURM_HET_SIZE", "2"}})),
            std::nullopt);
}

TEST(PartOfAnAllocation, is_the_one_that_has_the_node) {
  std::map<std::string, std::string, std::less<>> step{{"SLURM_HET_SIZE", "2"},
                                                       {"SLURM_JOB_ID", "7"},
                                                       {"SLURM_JOB_NODELIST", "n[1-3]"},
                                                       {"SLURM_NODEID", "2"},
                                                       {"SLURM_CPUS_ON_NODE", "1"},
                                                       {"SLURM_JOB_ID_HET_GROUP_0", "7"},
                                                       {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                                                       {"SLURM_MEM_PER_NODE_HET_GROUP_0", "100"},
                                                       {"SLURM_JOB_ID_HET_GROUP_1", "8"},
                                                       {"SLURM_JOB_NODELIST_HET_GROUP_1", "n[2-3]"},
                                                       {"SLURM_MEM_PER_NODE_HET_GROUP_1", "300"},
                                                       {"SLURMD_NODENAME", "n3"}};
  const auto third = env_of_part(environment(step));
  EXPECT_EQ(third("SLURM_JOB_ID"), "8");
  EXPECT_EQ(third("SLURM_JOB_NODELIST"), "n[2-3]");
  EXPECT_EQ(third("SLURM_MEM_PER_NODE"), "300");
  EXPECT_EQ(third("SLURM_MEM_PER_CPU"), std::nullopt);
  EXPECT_EQ(third("SLURM_NODEID"), "1") << "within its part";
  EXPECT_EQ(third("SLURM_CPUS_ON_NODE"), "1");
  step["SLURMD_NODENAME"] = "n1";
  EXPECT_EQ(env_of_part(environment(step))("SLURM_JOB_ID"), "7");
  EXPECT_EQ(env_of_part(environment(step))("SLURM_MEM_PER_NODE"), "100");
  step["SLURMD_NODENAME"] = "n4";
  EXPECT_EQ(env_of_part(environment(step))("SLURM_NODEID"), "2") << "in no part: as it was";
  EXPECT_EQ(env_of_part(environment(step))("SLURM_MEM_PER_NODE"), std::nullopt);
  step.erase("SLURM_HET_SIZE");
  step["SLURMD_NODENAME"] = "n3";
  EXPECT_EQ(env_of_part(environment(step))("SLURM_JOB_ID"), "7");
}

// A Slurm that answers what it is told to, by a word of the question.
class Asked : public testing::Test {
 protected:
  RunProgram run_ = [this](const Words& argv) -> Result<CommandOutput> {
    std::string line;
    for (const auto& word : argv) line += (line.empty() ? "" : " ") + word;
    asked_.push_back(line);
    for (const auto& [word, answer] : answers_) {
      if (line.find(word) != std::string::npos) return answer;
    }
    return CommandOutput{1, "", "no"};
  };
  std::map<std::string, CommandOutput> answers_;
  Words asked_;
};

TEST_F(Asked, steps_other_than_those_of_workers_are_seen) {
  answers_["-s -j 12"] = {0, "12.0 torc-workers\n12.batch batch\n12.extern extern\n", ""};
  const auto own = steps_of(run_, "12");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->size(), 3U);
  EXPECT_TRUE(are_of_workers(*own));
  answers_["-s -j 12"] = {0, "12.0 torc-workers\n12.1 bash\n12.batch batch\n", ""};
  const auto more = steps_of(run_, "12");
  ASSERT_TRUE(more);
  EXPECT_FALSE(are_of_workers(*more));
  EXPECT_EQ(more->at(1).name, "bash");
  EXPECT_FALSE(are_of_workers({})) << "nothing was seen";
  EXPECT_FALSE(are_of_workers({{"12.interactive", "interactive"}}));
}

TEST_F(Asked, what_is_not_said_is_not_known) {
  EXPECT_EQ(steps_of(run_, "12"), std::nullopt);
  EXPECT_EQ(nodes_of(run_, "12"), std::nullopt);
  EXPECT_FALSE(has_lost(run_, "12", "n2", {"n1"}));
  answers_["-s -j 12"] = {0, "something\n", ""};
  EXPECT_EQ(steps_of(run_, "12"), std::nullopt);
  answers_["%D"] = {0, "", ""};
  EXPECT_EQ(nodes_of(run_, "12"), std::nullopt);
  answers_["-s -j 12"] = {0, "12.0 torc-workers\n12.1 ba", ""};
  EXPECT_EQ(steps_of(run_, "12"), std::nullopt) << "there may be more";
  answers_["%D"] = {0, "3", ""};
  EXPECT_EQ(nodes_of(run_, "12"), std::nullopt) << "or 30";
  answers_["%D"] = {0, "3\n", ""};
  EXPECT_EQ(nodes_of(run_, "12"), 3U);
  EXPECT_FALSE(cancel(run_, "12"));
}

TEST_F(Asked, a_host_is_lost_when_the_allocation_is_not_on_it_and_is_on_this_one) {
  answers_["-w n2 "] = {0, "12 12_N/A\n", ""};
  answers_["-w n1 "] = {0, "", ""};
  answers_["-w n1,n3 "] = {0, "", ""};
  answers_["-w n4 "] = {0, "12 12_N/A\n", ""};
  EXPECT_TRUE(has_lost(run_, "12", "n2", {"n1"}));
  EXPECT_TRUE(has_lost(run_, "12", "n2", {"n1", "n3"}));
  EXPECT_FALSE(has_lost(run_, "12", "n2", {"n4"}));
  EXPECT_FALSE(has_lost(run_, "12", "n2", {"n2"}));
  EXPECT_FALSE(has_lost(run_, "12", "n2", {}));
  answers_["-w n2 "] = {0, "", ""};  // the nodes have other names than the hosts
  EXPECT_FALSE(has_lost(run_, "12", "n2", {"n1"}));
  answers_["-w n2 "] = {0, "12 12_N/A\n", ""};
  answers_["-w n1 "] = {1, "", "Invalid node name"};
  EXPECT_FALSE(has_lost(run_, "12", "n2", {"n1"}));
}

TEST_F(Asked, a_host_whose_name_is_a_list_of_Slurms_is_not_asked_about) {
  answers_["squeue"] = {0, "", ""};
  for (const char* name : {"n[1-3]", "n1,n2", "--help", "", "n 1"})
    EXPECT_FALSE(has_lost(run_, "12", "n2", {name})) << name;
  EXPECT_TRUE(asked_.empty());
}

TEST_F(Asked, the_batch_script_alone_is_signalled_in_the_own_cluster) {
  answers_["scancel"] = {0, "", ""};
  EXPECT_TRUE(signal_batch_script(run_, "12_7", "URG"));
  EXPECT_TRUE(signal_step(run_, "12.0", "TERM"));
  EXPECT_TRUE(cancel(run_, "12_7"));
  EXPECT_EQ(asked_, (Words{"env -u SLURM_CLUSTERS scancel --batch --signal=URG 12_7",
                           "env -u SLURM_CLUSTERS scancel --signal=TERM 12.0",
                           "env -u SLURM_CLUSTERS scancel 12_7"}));
}

TEST(WithNodes, counts_are_changed_where_they_are_options_of_srun) {
  EXPECT_EQ(with_nodes({"srun", "--nodes=4", "--ntasks=4", "--ntasks-per-node=1", "torc", "worker",
                        "--nodes=4"},
                       3),
            (Words{"srun", "--nodes=3", "--ntasks=3", "--ntasks-per-node=1", "torc", "worker",
                   "--nodes=4"}));
  EXPECT_EQ(with_nodes({"srun", "-N4", "torc"}, 3), (Words{"srun", "-N4", "torc"}));
}

}  // namespace
}  // namespace torc::slurm
