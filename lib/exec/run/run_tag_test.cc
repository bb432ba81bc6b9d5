#include "lib/exec/run/run_tag.h"

#include <gtest/gtest.h>

namespace torc::exec {
namespace {

std::string value_of(const RunTag& tag, const char* outer, RunKey key) {
  std::string entry = "what was there before";
  tag.write(entry, outer, key);
  const std::string name = std::string(RunTag::kVariable) + "=";
  EXPECT_TRUE(entry.starts_with(name)) << entry;
  return entry.substr(name.size());
}

TEST(RunTagTest, what_it_writes_it_reads) {
  const RunTag tag("10-20-30");
  EXPECT_EQ(tag.key_in(value_of(tag, nullptr, 7)), 7U);
}

TEST(RunTagTest, a_torc_within_a_job_of_another_one_leaves_the_outer_part_to_that) {
  const RunTag outer("10-20-30");
  const RunTag inner("11-21-31");
  const std::string value = value_of(inner, value_of(outer, nullptr, 7).c_str(), 8);
  EXPECT_EQ(outer.key_in(value), 7U);
  EXPECT_EQ(inner.key_in(value), 8U);
}

TEST(RunTagTest, an_identity_that_only_ends_alike_is_another_one) {
  const RunTag shorter("0-20-30");
  const RunTag longer("10-20-30");
  EXPECT_FALSE(shorter.key_in(value_of(longer, nullptr, 7)));
  EXPECT_FALSE(shorter.key_in("7"));
  EXPECT_FALSE(shorter.key_in(""));
}

TEST(RunTagTest, what_a_process_made_of_it_is_no_runs) {
  EXPECT_EQ(RunTag("10-20-30").key_in("10-20-30.other"), 0U);
}

TEST(RunTagTest, two_hosts_of_one_process_differ) {
  const RunTag first = RunTag::of_this_process(BootTime(1));
  EXPECT_FALSE(first.key_in(value_of(RunTag::of_this_process(BootTime(2)), nullptr, 7)));
}

}  // namespace
}  // namespace torc::exec
