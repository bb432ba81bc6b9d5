#include "lib/cluster/queue.h"

#include <gtest/gtest.h>

namespace torc::cluster {
namespace {

TEST(Queue, counts_what_waits_for_each_partition) {
  const auto queue = read_queue("standard|4\nstandard,gpu|1\n\ndebug|2\n");
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(queue->at("standard"), (Waiting{2, 5}));
  EXPECT_EQ(queue->at("gpu"), (Waiting{1, 1}));
  EXPECT_EQ(queue->at("debug"), (Waiting{1, 2}));
  EXPECT_TRUE(read_queue("")->empty());
}

TEST(Queue, that_is_cut_off_or_rubbish_is_not_an_empty_one) {
  EXPECT_FALSE(read_queue("standard|4\nstand").ok());
  EXPECT_FALSE(read_queue("standard\n").ok());
  EXPECT_FALSE(read_queue("standard|many\n").ok());
}

}  // namespace
}  // namespace torc::cluster
