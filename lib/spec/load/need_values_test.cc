#include "lib/spec/load/need_values.h"

#include <gtest/gtest.h>

namespace torc::spec {
namespace {

constexpr std::uint64_t kGiB = 1U << 30U;

NeedValues read_values(const std::string& text) {
  auto values = NeedValues::read(text, "wf.yaml");
  EXPECT_TRUE(values.ok()) << text;
  return values.ok() ? *std::move(values) : NeedValues();
}

constexpr const char* kFile = R"(name: wf   # the workflow
resource_requirements:
  # sets
  - {name: small, num_cpus: 2, memory: 4g, runtime: PT30M}  # shared
  - name: large
    memory: '64g'      # quoted
    cpus: 8
    time_limit: 2h
jobs:
  - {name: a, command: "echo memory: 4g", resource_requirements: small}
  - {name: b, command: x, resource_requirements: large, memory: 1g}
)";

TEST(NeedValues, are_those_of_the_job_or_else_of_its_set) {
  const NeedValues values = read_values(kFile);
  const NeedValue* a = values.find(0, "small", Need::memory);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->amount, 4 * kGiB);
  EXPECT_EQ(a->where, "small");
  EXPECT_EQ(a->line, 4U);
  const NeedValue* b = values.find(1, "large", Need::memory);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->where, "b");
  EXPECT_EQ(b->amount, kGiB);
  EXPECT_EQ(values.find(1, "large", Need::cpus)->amount, 8U);
  EXPECT_EQ(values.find(0, "small", Need::runtime)->amount, 1800U);
  EXPECT_EQ(values.find(0, "small", Need::time_limit), nullptr);
  EXPECT_EQ(values.find(0, "", Need::memory), nullptr);
}

TEST(NeedValues, are_replaced_in_their_places_and_nothing_else_is) {
  const NeedValues values = read_values(kFile);
  const std::map<std::size_t, std::uint64_t> amounts{
      {values.find(0, "small", Need::memory)->begin, 1536U << 20U},
      {values.find(0, "small", Need::runtime)->begin, 5400},
      {values.find(0, "large", Need::memory)->begin, 32 * kGiB},
      {values.find(0, "large", Need::time_limit)->begin, 5400}};
  EXPECT_EQ(values.with(amounts), R"(name: wf   # the workflow
resource_requirements:
  # sets
  - {name: small, num_cpus: 2, memory: 1536m, runtime: PT1H30M}  # shared
  - name: large
    memory: '32g'      # quoted
    cpus: 8
    time_limit: 1h30m
jobs:
  - {name: a, command: "echo memory: 4g", resource_requirements: small}
  - {name: b, command: x, resource_requirements: large, memory: 1g}
)");
  EXPECT_EQ(values.with({}), kFile);
}

TEST(NeedValues, of_a_merge_are_one_value_and_of_an_alias_a_place_of_their_own) {
  const NeedValues values = read_values(R"(name: wf
metadata: {base: &base {memory: 2g, cpus: 4}, time: &time 1h}
jobs:
  - {name: a, command: x, <<: *base, runtime: *time}
  - {name: b, command: x, <<: *base}
)");
  EXPECT_EQ(values.find(0, "", Need::memory)->begin, values.find(1, "", Need::memory)->begin);
  const NeedValue* runtime = values.find(0, "", Need::runtime);
  ASSERT_NE(runtime, nullptr);
  EXPECT_EQ(runtime->fixed, "");
  EXPECT_TRUE(values.with({{runtime->begin, 60}}).find("runtime: 1m}") != std::string::npos);
}

TEST(NeedValues, that_others_repeat_or_that_are_filled_in_are_fixed) {
  const NeedValues values = read_values(R"(name: wf
variables: {big: 4g}
jobs:
  - {name: a, command: x, memory: "{big}", cpus: &n 3}
)");
  EXPECT_NE(values.find(0, "", Need::memory)->fixed, "");
  EXPECT_NE(values.find(0, "", Need::cpus)->fixed, "");
}

TEST(NeedValues, of_json_and_behind_a_byte_order_mark_are_found) {
  const std::string text =
      "\xEF\xBB\xBF{\"jobs\": [{\"name\": \"a\", \"memory\": 1073741824, "
      "\"runtime\": \"1h\"}]}";
  const NeedValues values = read_values(text);
  EXPECT_EQ(values.with({{values.find(0, "", Need::memory)->begin, 2 * kGiB},
                         {values.find(0, "", Need::runtime)->begin, 90}}),
            "\xEF\xBB\xBF{\"jobs\": [{\"name\": \"a\", \"memory\": 2147483648, "
            "\"runtime\": \"1m30s\"}]}");
}

TEST(NeedValues, of_other_forms_are_refused) {
  EXPECT_FALSE(NeedValues::read("{}", "wf.json5").ok());
  EXPECT_FALSE(NeedValues::read("a: [", "wf.yaml").ok());
}

}  // namespace
}  // namespace torc::spec
