#include "lib/exec/run/order.h"

#include <gtest/gtest.h>

#include <memory>

namespace torc::exec {
namespace {

std::vector<std::string> texts(char* const* pointers) {
  std::vector<std::string> found;
  for (; *pointers != nullptr; ++pointers) found.emplace_back(*pointers);
  return found;
}

class OrderTest : public ::testing::Test {
 protected:
  void prepare_it() { prepare(order_, tag_, nullptr, nullptr); }
  void has_in_common(const std::vector<std::string>& entries) {
    order_.command.common_env = std::make_shared<const std::vector<std::string>>(entries);
  }

  RunTag tag_{"10-20-30"};
  Order order_;
};

TEST_F(OrderTest, the_words_of_a_program_begin_behind_the_shell) {
  order_.command.line = "sort -n file";
  prepare_it();
  EXPECT_EQ(texts(order_.plan.words), (std::vector<std::string>{"/bin/sh", "sort", "-n", "file"}));
}

TEST_F(OrderTest, what_a_command_sets_hides_what_commands_have_in_common) {
  order_.key = 7;
  order_.command.line = "true";
  order_.command.env = {"A=own"};
  has_in_common({"A=common", "AB=common", "B=common"});
  prepare_it();
  EXPECT_EQ(texts(order_.plan.environment),
            (std::vector<std::string>{"A=own", "AB=common", "B=common", "TORC_RUN_ID=10-20-30.7"}));
  EXPECT_STREQ(variable_of(order_.command, "A"), "own");
  EXPECT_STREQ(variable_of(order_.command, "B"), "common");
  EXPECT_EQ(variable_of(order_.command, "C"), nullptr);
}

TEST_F(OrderTest, there_is_one_run_tag_behind_that_of_an_outer_torc) {
  order_.key = 7;
  order_.command.line = "true";
  has_in_common({"TORC_RUN_ID=1-2-3.4"});
  prepare_it();
  EXPECT_EQ(texts(order_.plan.environment),
            std::vector<std::string>{"TORC_RUN_ID=1-2-3.4/10-20-30.7"});
  order_.command.common_env = nullptr;
  order_.command.env = {"TORC_RUN_ID=1-2-3.4"};
  prepare_it();
  EXPECT_EQ(texts(order_.plan.environment),
            std::vector<std::string>{"TORC_RUN_ID=1-2-3.4/10-20-30.7"});
}

TEST_F(OrderTest, both_streams_to_one_file_are_joined_unless_one_is_open) {
  order_.command.line = "true";
  order_.command.stdout_path = order_.command.stderr_path = "/tmp/out";
  prepare_it();
  EXPECT_TRUE(order_.plan.join_stderr);
  EXPECT_STREQ(order_.plan.stdout_path, "/tmp/out");
  EXPECT_EQ(order_.plan.stderr_path, nullptr);
  order_.command.stderr_fd = 5;
  prepare_it();
  EXPECT_FALSE(order_.plan.join_stderr);
  EXPECT_EQ(order_.plan.stderr_fd, 5);
}

TEST_F(OrderTest, an_order_that_was_anothers_keeps_nothing_of_that) {
  order_.command.line = "sort file";
  order_.command.cpus = {0, 65};
  prepare_it();
  ASSERT_NE(order_.plan.cpus, nullptr);
  EXPECT_EQ(order_.cpus, (std::vector<unsigned long>{1, 2}));
  order_.command = {};
  order_.command.line = "true";
  prepare_it();
  EXPECT_EQ(texts(order_.plan.words), (std::vector<std::string>{"/bin/sh", "true"}));
  EXPECT_EQ(order_.plan.cpus, nullptr);
  EXPECT_EQ(order_.plan.cpus_size, 0U);
}

}  // namespace
}  // namespace torc::exec
