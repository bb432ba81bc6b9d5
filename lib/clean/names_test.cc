#include "lib/clean/names.h"

#include <gtest/gtest.h>

namespace torc::clean {
namespace {

TEST(CleanNames, of_attempts_are_those_that_workers_give) {
  for (const char* name : {"1017.2.out", "1017.2.err", "1017.2.recovery", "1017.2.node3.out"}) {
    const auto found = attempt_name("000001", name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->job, JobId{1017}) << name;
    EXPECT_EQ(found->attempt, 2U) << name;
    EXPECT_EQ(found->part, Part::output) << name;
  }
  const auto directory = attempt_name("000001", "1017.2.d");
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->part, Part::directory);
}

TEST(CleanNames, that_only_look_like_those_of_attempts_are_none) {
  for (const char* name : {"",
                           ".",
                           "1017",
                           "1017.2",
                           "1017.2.",
                           "1017.2.out~",
                           "1017.2.out.bak",
                           "01017.2.out",
                           "1017.02.out",
                           "1017.0.out",
                           "0.1.out",
                           "1017.2.node0.out",
                           "1017.2.node3.d",
                           "1017.2.node3.recovery",
                           "1017.2.node03.out",
                           "17.2.out",
                           "-1017.2.out",
                           "1017.-2.out",
                           "1017.2.OUT",
                           "99999999999999999999.1.out",
                           "1017.2.out/"})
    EXPECT_FALSE(attempt_name("000001", name)) << name;
  for (const char* folder : {"", "1", "00001", "0000001", "000002", ".", "packed"})
    EXPECT_FALSE(attempt_name(folder, "1017.2.out")) << folder;
}

TEST(CleanNames, of_packed_output_tell_the_worker) {
  for (const char* name : {"7.index", "7.data", "7.slot0.out", "7.slot12.err", "7.job17.1.out",
                           "7.job17.1.node2.err"}) {
    const auto found = packed_name(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->worker, 7U) << name;
    EXPECT_EQ(found->is_index, std::string_view(name) == "7.index") << name;
    EXPECT_EQ(found->job.has_value(), std::string_view(name).find("job") != std::string_view::npos)
        << name;
  }
  for (const char* name : {"", "index", "07.index", "7.data.old", "7.slot.out", "7.slot01.out",
                           "7.job17.out", "7.job17.1.node0.out", "7.job17.1.txt"})
    EXPECT_FALSE(packed_name(name)) << name;
}

TEST(CleanNames, of_logs_tell_the_allocation) {
  const auto batch = log_name("slurm-17.out");
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->allocation, "17");
  EXPECT_EQ(batch->node, "");
  const auto step = log_name("slurm-17.n1.cluster.out");
  ASSERT_TRUE(step);
  EXPECT_EQ(step->allocation, "17");
  EXPECT_EQ(step->node, "n1.cluster");
  const auto other = log_name("gridengine-17.out");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->allocation, "17");
  for (const char* name : {"slurm-.out", "slurm-17", "slurm-17.err", "slurm-a.out", "slurm-17..out",
                           "notes-17.out", "README", "gridengine-.out", "gridengine-1/2.out"})
    EXPECT_FALSE(log_name(name)) << name;
}

TEST(CleanNames, of_stores_of_torc_exec_are_moments) {
  EXPECT_TRUE(is_exec_store("20260501-120000"));
  EXPECT_TRUE(is_exec_store("20260501-120000-12"));
  for (const char* name :
       {"", "20260501", "20260501-12000", "20260501-1200000", "20260501_120000", "20260501-120000-",
        "20260501-120000-02", "20260501-120000.making", "2026050a-120000", "20260501-120000-2x"})
    EXPECT_FALSE(is_exec_store(name)) << name;
}

}  // namespace
}  // namespace torc::clean
