#include "lib/slurm/short_host_list.h"

#include <gtest/gtest.h>

#include "lib/slurm/host_list.h"

namespace torc::slurm {
namespace {

TEST(ShortHostList, has_what_follows_each_other_once) {
  EXPECT_EQ(short_host_list({}), "");
  EXPECT_EQ(short_host_list({"n1"}), "n1");
  EXPECT_EQ(short_host_list({"n1", "n2", "n3"}), "n[1-3]");
  EXPECT_EQ(short_host_list({"n1", "n2", "n5", "n7", "n8"}), "n[1-2,5,7-8]");
  EXPECT_EQ(short_host_list({"n1", "n4", "n6"}), "n[1,4,6]");
}

TEST(ShortHostList, keeps_the_order) {
  EXPECT_EQ(short_host_list({"n3", "n1", "n2"}), "n[3,1-2]");
  EXPECT_EQ(short_host_list({"n1", "m1", "n2"}), "n1,m1,n2");
}

TEST(ShortHostList, takes_numbers_of_other_widths_and_names_without_one_for_others) {
  EXPECT_EQ(short_host_list({"n09", "n10", "n011"}), "n[09-10],n011");
  EXPECT_EQ(short_host_list({"n9", "n10", "n11"}), "n9,n[10-11]");
  EXPECT_EQ(short_host_list({"login", "n1.site", "n2.site"}), "login,n1.site,n2.site");
  EXPECT_EQ(short_host_list({"7", "8"}), "[7-8]");
}

TEST(ShortHostList, is_read_back_as_it_was) {
  const std::vector<std::string> nodes{"a7", "a8", "b08", "b09", "b10",
                                       "c",  "10", "11",  "d3",  "d1"};
  const auto again = expand_host_list(short_host_list(nodes));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(*again, nodes);
}

TEST(ShortHostList, of_thousands_of_nodes_fits_into_one_word) {
  std::vector<std::string> nodes;
  for (int i = 10'000; i < 14'096; ++i)
    nodes.push_back("a-long-name-of-a-node-of-a-large-machine-" + std::to_string(i));
  EXPECT_EQ(short_host_list(nodes), "a-long-name-of-a-node-of-a-large-machine-[10000-14095]");
}

}  // namespace
}  // namespace torc::slurm
