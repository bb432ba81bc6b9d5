#include <gtest/gtest.h>

#include "lib/worker/setup/worker_setup.h"

namespace torc::worker {
namespace {

exec::Machine told(const std::vector<std::string>& words) {
  exec::Machine machine;
  machine.gpus = {"0", "1", "2"};
  machine.gpus_from = "this node";
  const auto added = add_told_resources(words, machine);
  EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().text());
  return machine;
}

std::string refused(const std::string& word, const std::vector<std::string>& before = {}) {
  exec::Machine machine = told(before);
  const auto added = add_told_resources({word}, machine);
  return added.ok() ? "" : added.error().what;
}

TEST(ToldResources, are_amounts_pieces_or_types_of_gpus) {
  const exec::Machine m =
      told({"Scratch_GB=500", "licence=0.5", "port=8000-8002", "fpga/x=[a, b]", "gpus/a100=2"});
  EXPECT_EQ(m.sums, (Amounts{{"licence", 500}, {"scratch_gb", 500'000}}));
  ASSERT_EQ(m.pieces.size(), 5U);
  EXPECT_EQ(m.pieces[2].id, "8002");
  EXPECT_EQ(m.pieces[4].kind, "fpga/x");
  EXPECT_EQ(m.pieces[4].id, "b");
  EXPECT_EQ(m.gpu_kinds, (std::vector<std::string>{"gpus/a100", "gpus/a100", "gpus"}));
  EXPECT_EQ(exec::named_of(m), (Amounts{{"fpga/x", 2000, true},
                                        {"gpus/a100", 2000, true},
                                        {"licence", 500},
                                        {"port", 3000, true},
                                        {"scratch_gb", 500'000}}));
}

TEST(ToldResources, lie_in_groups_where_there_are_several_lists) {
  const exec::Machine m = told({"fpga=[a,b], [c]", "port=[x,y]"});
  ASSERT_EQ(m.pieces.size(), 5U);
  for (const auto& [at, group] : {std::pair{0, 1U}, {1, 1U}, {2, 2U}, {3, 0U}, {4, 0U}})
    EXPECT_EQ(m.pieces[static_cast<std::size_t>(at)].group, group) << at;
  EXPECT_EQ(m.pieces[2].id, "c");
  for (const char* wrong :
       {"fpga=[a][b]", "fpga=[a],b", "fpga=[a],", "fpga=[a],[b", "fpga=[a]x[b]", "fpga=[[a],[b]]"})
    EXPECT_NE(refused(wrong).find("is no amount, and no list of pieces"), std::string::npos)
        << refused(wrong);
  EXPECT_NE(refused("fpga=[[a,b]").find("cannot be the name of a piece"), std::string::npos);
  EXPECT_EQ(refused("fpga=[a],[a]"), "--resource fpga=[a],[a]: 'a' is there twice");
}

TEST(ToldResources, that_make_no_sense_are_refused_by_name) {
  EXPECT_EQ(refused("port"), "--resource port: there is no '='");
  EXPECT_EQ(refused("a b=1"), "--resource a b=1: that is no name of a resource");
  EXPECT_EQ(refused("cpus=4"), "--resource cpus=4: 'cpus' has a flag of its own");
  EXPECT_EQ(refused("gpus=4"), "--resource gpus=4: 'gpus' has a flag of its own");
  EXPECT_EQ(refused("x=0"), "--resource x=0: '0' is no amount, and no list of pieces");
  EXPECT_EQ(refused("port=1-65"), "--resource port=1-65: more than 64 pieces, GPUs included");
  EXPECT_EQ(refused("port=[a,a]"), "--resource port=[a,a]: 'a' is there twice");
  EXPECT_EQ(refused("port=[a,]"), "--resource port=[a,]: '' cannot be the name of a piece");
  EXPECT_EQ(refused("port=3", {"port=1-2"}), "--resource port=3: 'port' is told twice");
  EXPECT_EQ(refused("gpus/a100=4"),
            "--resource gpus/a100=4: 3 GPU(s) without another type found here (this node)");
}

}  // namespace
}  // namespace torc::worker
