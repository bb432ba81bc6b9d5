#include "lib/spec/load/outline.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

Expansion expansion_of(const std::string& text) {
  Loaded loaded = load(text, "wf.yaml", {});
  EXPECT_TRUE(loaded.expansion) << to_text(loaded.diagnostics);
  return loaded.expansion ? *std::move(loaded.expansion) : Expansion{};
}

constexpr const char* kOutlined = R"(
name: w
resource_requirements:
  - {name: short, runtime: PT10M}
  - {name: long, runtime: PT2H}
jobs:
  - {name: "prep_{i}", command: a, parameters: {i: "1:1000000"}, resource_requirements: short}
  - {name: train, command: b, depends_on: ["prep_{i}"], resource_requirements: long}
  - {name: side, command: c, depends_on: [prep_500]}
  - {name: report, command: d, depends_on: [side], depends: {afterany: [train]}}
)";

TEST(Outline, a_job_is_one_stage_behind_the_last_that_it_waits_for) {
  const Expansion expansion = expansion_of(kOutlined);
  const Outline o = outline(expansion);
  EXPECT_EQ(o.stages, 3U);
  ASSERT_EQ(o.segments.size(), 4U);  // not a million
  EXPECT_EQ(o.segments[0].count, 1'000'000U);
  EXPECT_EQ(o.segments[0].stage, 0U);
  EXPECT_EQ(o.segments[1].stage, 1U);
  EXPECT_EQ(o.segments[2].stage, 1U);
  EXPECT_EQ(o.segments[3].stage, 2U);
}

TEST(Outline, the_critical_path_is_the_longest_chain_of_runtimes) {
  const Expansion expansion = expansion_of(kOutlined);
  const Outline o = outline(expansion);
  EXPECT_EQ(o.length, hours(2) + minutes(10));
  std::vector<std::string> names;
  for (const std::uint64_t job : o.critical) names.push_back(name_of(expansion, job));
  EXPECT_EQ(names, (std::vector<std::string>{"prep_1", "train", "report"}));
  EXPECT_EQ(o.segments[3].start, o.length);
}

TEST(Outline, jobs_without_a_runtime_are_on_the_critical_path_where_it_waits_for_them) {
  const auto path = [](const std::string& jobs) {
    const Expansion expansion =
        expansion_of("name: w\nresource_requirements: [{name: r, runtime: PT1H}]\njobs:\n" + jobs);
    std::string names;
    for (const std::uint64_t job : outline(expansion).critical) names += name_of(expansion, job);
    return names;
  };
  EXPECT_EQ(path("  - {name: x, command: x}\n  - {name: y, command: x, depends_on: [x]}\n"
                 "  - {name: z, command: x, depends_on: [x, y], resource_requirements: r}\n"
                 "  - {name: e, command: x, depends_on: [z]}\n"),
            "xyze");
  EXPECT_EQ(path("  - {name: x, command: x}\n  - {name: y, command: x, depends_on: [x]}\n"), "");
}

TEST(Outline, a_long_chain_written_backwards_needs_no_deep_stack) {
  Workflow w;
  constexpr std::size_t kJobs = 20'000;
  for (std::size_t i = 0; i < kJobs; ++i) {
    w.jobs.push_back(job(numbered("j", i)));
    if (i + 1 < kJobs) w.jobs.back().depends_on = {numbered("j", i + 1)};
  }
  EXPECT_EQ(outline(expand_all(w, Render::no).expansion).stages, kJobs);
}

// Against the definition, job by job.
TEST(Outline, agrees_with_a_slow_and_obvious_one) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    Workflow w;
    w.resource_requirements.resize(2);
    w.resource_requirements[0].name = "r0";
    w.resource_requirements[0].runtime = minutes(1);
    w.resource_requirements[1].name = "r1";
    w.resource_requirements[1].runtime = minutes(5);
    const std::size_t entries = 1 + random() % 8;
    for (std::size_t e = 0; e < entries; ++e) {
      w.jobs.push_back(random() % 2 == 0 ? job(numbered("j", e))
                                         : sweep(numbered("j", e) + "_{i}", 1, 1 + random() % 4));
      w.jobs.back().resource_requirements = random() % 2 == 0 ? "r0" : "r1";
      for (std::size_t d = 0; d < e; ++d) {
        if (random() % 3 != 0) continue;
        const bool swept = w.jobs[d].name.ends_with("}");
        const std::string name =
            swept && random() % 2 == 0 ? numbered("j", d) + "_1" : w.jobs[d].name;
        if (swept && !w.jobs.back().parameters.empty() && name.ends_with("}")) continue;
        w.jobs.back().depends.emplace_back(static_cast<Condition>(random() % 4), name);
      }
    }
    const Jobs jobs = expand_all(w);
    const Outline o = outline(jobs.expansion);
    std::vector<std::uint32_t> stage(jobs.names.size() + 1, 0);
    std::vector<std::chrono::seconds> end(jobs.names.size() + 1);
    const std::vector<DependencySet> sets = all_dependencies(jobs.expansion);
    std::chrono::seconds length{0};
    std::size_t at = 0;
    for (std::uint64_t id = 1; id <= jobs.names.size(); ++id) {
      std::chrono::seconds start{0};
      for (const DependencySet& set : sets) {
        if (!contains(set.members, id)) continue;
        for (std::uint64_t up = 1; up < id; ++up) {
          if (!contains(set.upstream, up)) continue;
          stage[id] = std::max(stage[id], stage[up] + 1);
          start = std::max(start, end[up]);
        }
      }
      end[id] = start + entry_of(jobs.expansion, id).resources.runtime;
      length = std::max(length, end[id]);
      while (o.segments.at(at).end() <= id) ++at;
      EXPECT_EQ(o.segments[at].stage, stage[id]) << jobs.names[id - 1];
      EXPECT_EQ(o.segments[at].start, start) << jobs.names[id - 1];
    }
    EXPECT_EQ(o.length, length);
    std::chrono::seconds sum{0};
    for (const std::uint64_t id : o.critical) sum += entry_of(jobs.expansion, id).resources.runtime;
    EXPECT_EQ(sum, length);
  }
}

}  // namespace
}  // namespace torc::spec
