#include "lib/base/labels.h"

#include <gtest/gtest.h>

namespace torc {
namespace {

TEST(Labels, are_written_once_and_in_order) {
  EXPECT_EQ(join_labels({"ssd", "gpu", "ssd"}), "gpu,ssd");
  EXPECT_EQ(*parse_labels(" ssd , gpu"), "gpu,ssd");
  EXPECT_EQ(*parse_labels(""), "");
  EXPECT_FALSE(parse_labels("gpu,").ok());
  EXPECT_FALSE(parse_labels(",gpu").ok());
  EXPECT_FALSE(parse_labels(" ").ok());
}

TEST(Labels, who_has_all_of_them_covers_them) {
  EXPECT_TRUE(covers_labels("gpu,ssd", "ssd"));
  EXPECT_TRUE(covers_labels("ssd,gpu", "gpu,ssd"));
  EXPECT_TRUE(covers_labels("", ""));
  EXPECT_FALSE(covers_labels("gpu", "gpu,ssd"));
  EXPECT_FALSE(covers_labels("gpus", "gpu"));
  EXPECT_FALSE(covers_labels("", "gpu"));
}

TEST(Labels, are_said_as_people_say_them) {
  EXPECT_EQ(say_labels("gpu"), "label 'gpu'");
  EXPECT_EQ(say_labels("gpu,ssd"), "labels 'gpu', 'ssd'");
  EXPECT_EQ(say_labels(""), "no label");
}

}  // namespace
}  // namespace torc
