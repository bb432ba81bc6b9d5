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
    EXPECT_NE(refused(wrong).find("is neither an amount nor a list of pieces"), std::string::npos)
        << refused(wrong);
  EXPECT_NE(refused("fpga=[[a,b]").find("cannot be the name of a piece"), std::string::npos);
  EXPECT_EQ(refused("fpga=[a],[a]"), "--resource fpga=[a],[a]: 'a' is there twice");
}

TEST(ToldResources, of_groups_may_have_blanks_and_as_many_lists_as_pieces) {
  const exec::Machine m = told({"fpga= [ a , b ] , [c ]"});
  ASSERT_EQ(m.pieces.size(), 3U);
  EXPECT_EQ(m.pieces[1].id, "b");
  EXPECT_EQ(m.pieces[2].group, 2U);
  std::string lists = "[p0]";
  for (int i = 1; i < 61; ++i) lists += ",[p" + std::to_string(i) + "]";
  const exec::Machine most = told({"fpga=" + lists});
  ASSERT_EQ(most.pieces.size(), 61U) << "beside three GPUs";
  EXPECT_EQ(most.pieces.back().group, 61U);
  EXPECT_NE(refused("fpga=" + lists + ",[q]").find("more than 64 pieces"), std::string::npos);
}

TEST(ToldResources, in_lists_without_a_name_or_an_end_are_refused) {
  for (const char* wrong : {"fpga=[", "fpga=]", "fpga=[a", "fpga=a]", "fpga=[a],[b]x",
                            "fpga=[a] [b]", "fpga=[a],,[b]", "fpga=,[a]"})
    EXPECT_NE(refused(wrong), "") << wrong;
  for (const char* wrong : {"fpga=[]", "fpga=[a],[]", "fpga=[,a]", "fpga=[a b]", "fpga=[a/b]",
                            "fpga=[a\nb]", "fpga=[\xc3\xa4]"})
    EXPECT_NE(refused(wrong).find("cannot be the name of a piece"), std::string::npos)
        << refused(wrong);
  EXPECT_NE(refused("fpga=[" + std::string(33, 'a') + "]").find("cannot be the name"),
            std::string::npos);
  EXPECT_EQ(refused("fpga=[" + std::string(32, 'a') + "]"), "");
}

TEST(ToldResources, in_giant_lists_are_refused_at_once_and_in_few_words) {
  std::string list;
  for (int i = 0; i < 200'000; ++i) list += (i == 0 ? "" : ",") + std::to_string(i);
  EXPECT_NE(refused("fpga=[" + list + "]").find("more than 64 pieces"), std::string::npos);
  std::string lists;
  for (int i = 0; i < 50'000; ++i) lists += (i == 0 ? "[p" : ",[p") + std::to_string(i) + "]";
  EXPECT_NE(refused("fpga=" + lists).find("more than 64 pieces"), std::string::npos);
  EXPECT_NE(refused("port=0-4294967295").find("more than 64 pieces"), std::string::npos);
  EXPECT_NE(refused("port=0-4294967296").find("is neither an amount"), std::string::npos);
  EXPECT_NE(refused("port=9-8").find("is neither an amount"), std::string::npos);
}

TEST(ToldResources, of_a_type_of_gpu_that_is_misspelt_are_told_with_what_was_meant) {
  exec::Machine machine = told({});
  const auto added = add_told_resources({"gpu/a100=2"}, machine);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().remedy, "did you mean gpus/a100?");
}

TEST(ToldResources, that_make_no_sense_are_refused_by_name) {
  EXPECT_EQ(refused("port"), "--resource port: there is no '='");
  EXPECT_EQ(refused("a b=1"), "--resource a b=1: that is not the name of a resource");
  EXPECT_EQ(refused("cpus=4"), "--resource cpus=4: 'cpus' has a flag of its own");
  EXPECT_EQ(refused("gpus=4"), "--resource gpus=4: 'gpus' has a flag of its own");
  EXPECT_EQ(refused("x=0"), "--resource x=0: '0' is neither an amount nor a list of pieces");
  EXPECT_EQ(refused("port=1-65"), "--resource port=1-65: more than 64 pieces, GPUs included");
  EXPECT_EQ(refused("port=[a,a]"), "--resource port=[a,a]: 'a' is there twice");
  EXPECT_EQ(refused("port=[a,]"), "--resource port=[a,]: '' cannot be the name of a piece");
  EXPECT_EQ(refused("port=3", {"port=1-2"}), "--resource port=3: 'port' is told twice");
  EXPECT_EQ(refused("gpus/a100=4"),
            "--resource gpus/a100=4: 3 GPUs without another type found here (this node)");
}

}  // namespace
}  // namespace torc::worker
