#include "lib/worker/machine/share_use.h"

#include <gtest/gtest.h>

namespace torc::worker {
namespace {

class Share : public testing::Test {
 protected:
  Share() {
    exec::NodeHolding all;
    all.own_cpus = 8;
    all.own_memory = mebibytes(100);
    all.gpus = 0x3f;
    all.sums = {10'000};
    use_ = ShareUse(all,
                    {{"0", "1", "2"},
                     {"gpus/a100", "gpus", "gpus/a100"},
                     {{"port", "8000"}, {"port", "8001"}, {"fpga/x", "f"}}},
                    {{"scratch", 10'000}});
  }
  static claim::Requirement needs(const Amounts& named, std::uint32_t gpus = 0) {
    claim::Requirement r;
    r.gpus = gpus;
    r.named = named;
    return r;
  }
  std::vector<std::string> gpus_of(const claim::Requirement& need) {
    EXPECT_TRUE(use_.fits(need));
    return use_.gpus_in(use_.take(need));
  }
  std::string named_of(const claim::Requirement& need) {
    std::string text;
    for (const auto& [name, what] : use_.named_in(need, use_.take(need)))
      text += name + "=" + what + ";";
    return text;
  }

  ShareUse use_;
};

TEST_F(Share, jobs_with_a_part_of_a_gpu_see_the_same_one_and_nobody_else_does) {
  const claim::Requirement half = needs({{"gpus", 500}});
  EXPECT_EQ(gpus_of(half), std::vector<std::string>{"1"});
  EXPECT_EQ(gpus_of(half), std::vector<std::string>{"1"});
  EXPECT_EQ(gpus_of(half), std::vector<std::string>{"0"}) << "the first is full";
  EXPECT_EQ(gpus_of(needs({}, 1)), std::vector<std::string>{"2"});
  EXPECT_FALSE(use_.fits(needs({}, 1))) << "one is shared by parts";
  EXPECT_TRUE(use_.fits(half));
}

TEST_F(Share, a_gpu_is_whole_again_when_its_last_part_is_put_back) {
  const claim::Requirement half = needs({{"gpus", 500}});
  const auto a = use_.take(half);
  const auto b = use_.take(half);
  use_.put_back(half, a);
  EXPECT_EQ(use_.free().gpus, 2U);
  EXPECT_EQ(use_.in_use().gpus, 2U) << "it must be kept";
  use_.put_back(half, b);
  EXPECT_EQ(use_.free().gpus, 3U);
  EXPECT_EQ(use_.in_use().gpus, 0U);
}

TEST_F(Share, a_job_sees_its_pieces_and_how_much_it_has) {
  EXPECT_EQ(named_of(needs({{"port", 1000}, {"scratch", 2500}})), "port=8000;scratch=2.5;");
  EXPECT_EQ(named_of(needs({{"fpga", 1000}, {"port", 1000}})), "fpga=f;port=8001;");
  EXPECT_FALSE(use_.fits(needs({{"port", 1000}})));
  EXPECT_FALSE(use_.fits(needs({{"scratch", 8000}})));
  EXPECT_TRUE(use_.fits(needs({{"scratch", 7500}})));
}

TEST_F(Share, what_is_put_back_is_free_again) {
  const claim::Requirement all = needs({{"port", kAllThereIs}, {"scratch", kAllThereIs}});
  EXPECT_TRUE(use_.fits(all));
  const auto pieces = use_.take(all);
  EXPECT_EQ(pieces.size(), 2U);
  EXPECT_FALSE(use_.fits(needs({{"scratch", 1}})));
  EXPECT_EQ(use_.in_use().sums[0], 10'000U);
  use_.put_back(all, pieces);
  EXPECT_TRUE(use_.fits(all));
  EXPECT_EQ(use_.named_free(), use_.named_total());
}

TEST_F(Share, what_another_worker_has_is_not_free) {
  exec::NodeHolding part = use_.holding();
  part.gpus = 0x2f;  // not 8001
  part.sums = {4000};
  use_.now_has(part);
  EXPECT_FALSE(use_.fits(needs({{"port", 2000}})));
  EXPECT_FALSE(use_.fits(needs({{"port", kAllThereIs}}))) << "all is what the node has";
  EXPECT_FALSE(use_.fits(needs({{"scratch", 4001}})));
  EXPECT_EQ(named_of(needs({{"fpga/x", 1000}, {"port", 1000}})), "fpga/x=f;port=8000;");
}

TEST_F(Share, who_has_a_whole_node_picks_of_it_what_its_job_asked_for) {
  claim::Requirement node;
  const auto all = use_.take_all(node);
  EXPECT_EQ(all.size(), 6U);
  EXPECT_FALSE(use_.fits(needs({{"port", 1000}})));
  const claim::Requirement job = needs({{"gpus/a100", 2000}, {"port", 1000}});
  const auto picked = use_.pick(job, all);
  EXPECT_EQ(use_.gpus_in(picked), (std::vector<std::string>{"0", "2"}));
  use_.put_back(node, all);
  EXPECT_EQ(use_.in_use(), exec::NodeHolding{});
}

// Four GPUs that hang on two NUMA nodes.
ShareUse on_two_numa_nodes(std::uint64_t has = 0xf) {
  exec::NodeHolding all;
  all.own_cpus = 8;
  all.own_memory = mebibytes(100);
  all.gpus = has;
  return ShareUse(all, {{"0", "1", "2", "3"}, {}, {}, {1, 1, 2, 2}});
}

claim::Requirement strict_gpus(std::uint32_t gpus) {
  claim::Requirement r;
  r.gpus = gpus;
  r.locality = Locality::strict;
  return r;
}

TEST(ShareOfGroups, says_of_its_gpus_which_are_near_each_other_though_they_have_no_type) {
  const auto pieces = on_two_numa_nodes().pieces();
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[3], (claim::Piece{"gpus", kWhole, 2}));
}

TEST(ShareOfGroups, does_not_fit_a_strict_job_before_enough_of_one_group_are_free) {
  ShareUse use = on_two_numa_nodes();
  claim::Requirement one;
  one.gpus = 1;
  const auto first = use.take(one);
  const auto pair = use.take(strict_gpus(2));
  EXPECT_EQ(use.gpus_in(pair), (std::vector<std::string>{"2", "3"}));
  const auto second = use.take(one);
  use.put_back(strict_gpus(2), pair);
  EXPECT_EQ(use.gpus_in(use.take(one)), std::vector<std::string>{"2"});
  use.put_back(one, first);
  EXPECT_EQ(use.free().gpus, 2U);
  EXPECT_FALSE(use.fits(strict_gpus(2)));
  use.put_back(one, second);
  EXPECT_TRUE(use.fits(strict_gpus(2)));
}

TEST(ShareOfGroups, a_node_of_which_others_have_some_needs_as_few_groups_as_ever) {
  EXPECT_FALSE(on_two_numa_nodes(0b1001).fits(strict_gpus(2)));
  EXPECT_TRUE(on_two_numa_nodes(0b1100).fits(strict_gpus(2)));
  EXPECT_TRUE(on_two_numa_nodes(0b1110).fits(strict_gpus(3)));
}

TEST(ShareOfGroups, who_has_a_whole_node_gets_what_is_there_of_it) {
  ShareUse use = on_two_numa_nodes(0b1001);
  claim::Requirement node;
  const auto all = use.take_all(node);
  EXPECT_EQ(use.gpus_in(use.pick(strict_gpus(2), all)), (std::vector<std::string>{"0", "3"}));
}

}  // namespace
}  // namespace torc::worker
