// What `torc check` says of locality, and of names of resources that look like slips.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

using Told = std::vector<std::string>;

Loaded loaded(const std::string& text) {
  return load(text, "wf.yaml", [](const std::string& path) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there is no '" + path + "'", ""};
  });
}

// "warning: message | remedy"
Told told(const std::string& text) {
  Told all;
  for (const Diagnostic& d : loaded(text).diagnostics) {
    const char* severity = d.severity == Severity::error     ? "error"
                           : d.severity == Severity::warning ? "warning"
                                                             : "note";
    all.push_back(severity + (": " + d.message) + " | " + d.remedy);
  }
  return all;
}

// Of a file with one job that says `keys`.
Told told_of_job(const std::string& keys, const std::string& more = "") {
  return told("name: w\n" + more + "jobs:\n  - {name: a, command: b, " + keys + "}\n");
}

TEST(LocalityKey, is_said_by_a_set_a_job_and_an_alternative_and_the_nearest_one_wins) {
  const Loaded l = loaded(R"(name: w
resource_requirements:
  - {name: s, num_gpus: 2, locality: strict}
jobs:
  - {name: a, command: x, resource_requirements: s}
  - {name: b, command: x, resource_requirements: s, locality: scatter}
  - {name: c, command: x, resource_requirements: s, locality: preferred}
  - {name: d, command: x, locality: strict, one_of: [{gpus: 3}, {gpus: 2, locality: scatter}]}
)");
  ASSERT_TRUE(l.expansion.has_value());
  EXPECT_TRUE(l.diagnostics.empty()) << l.diagnostics[0].message;
  const auto& entries = l.expansion->entries;
  EXPECT_EQ(entries[0].resources.locality, Locality::strict);
  EXPECT_EQ(entries[1].resources.locality, Locality::scatter);
  EXPECT_EQ(entries[2].resources.locality, Locality::preferred);
  EXPECT_EQ(show_needs(entries[3].resources),
            "1 CPU, 1 MiB, 3 GPUs, locality strict, or 1 CPU, 1 MiB, 2 GPUs, locality scatter");
}

TEST(LocalityKey, has_three_values) {
  EXPECT_EQ(told_of_job("gpus: 2, locality: strikt"),
            Told{"error: 'locality' cannot be 'strikt' | did you mean 'strict'?"});
}

TEST(LocalityKey, that_changes_nothing_is_told_of) {
  const Told nothing = {
      "warning: 'locality' changes nothing for job 'a': it does not need several GPUs, or pieces "
      "of another resource | remove it, or let the job need several of them"};
  EXPECT_EQ(told_of_job("locality: strict"), nothing);
  EXPECT_EQ(told_of_job("gpus: 1, locality: strict"), nothing);
  EXPECT_EQ(told_of_job("gpus: 0.5, locality: strict"), nothing);
  EXPECT_EQ(told_of_job("gpus: all, locality: strict"), nothing);
  EXPECT_EQ(told_of_job("locality: scatter"), nothing);
  EXPECT_EQ(told_of_job("locality: preferred"), Told{});
  EXPECT_EQ(told_of_job("gpus: 1, locality: scatter"), Told{});
  EXPECT_EQ(told_of_job("resources: {fpga: 2}, locality: strict"), Told{});
  EXPECT_EQ(told_of_job("locality: strict, one_of: [{gpus: 2}, {cpus: 8}]"), Told{});
}

TEST(LocalityKey, of_whole_nodes_is_so_anyway) {
  EXPECT_EQ(told_of_job("gpus: 2, num_nodes: 2, locality: strict"),
            Told{"warning: 'locality: strict' changes nothing for job 'a': it has whole nodes to "
                 "itself | remove it: of nodes that are free its pieces are of as few groups as "
                 "they can be"});
  EXPECT_EQ(told_of_job("gpus: 2, num_nodes: 2, locality: scatter"), Told{});
}

TEST(LocalityKey, of_the_gpus_of_a_step_is_for_slurm_to_decide) {
  const std::string mode = "execution_config: {mode: slurm}\n";
  EXPECT_EQ(told_of_job("gpus: 2, locality: strict", mode),
            Told{"error: in mode slurm Slurm picks the GPUs of a step, so 'locality: strict' of "
                 "job 'a' cannot be kept | remove it, or use mode: direct or auto, where torc "
                 "picks them"});
  EXPECT_EQ(told_of_job("resources: {gpus/a100: 2}, locality: scatter", mode),
            Told{"warning: in mode slurm Slurm picks the GPUs of a step, so 'locality: scatter' of "
                 "job 'a' has no effect on them | remove it, or use mode: direct or auto, where "
                 "torc picks them"});
  EXPECT_EQ(told_of_job("resources: {fpga: 2}, locality: strict", mode), Told{});
}

TEST(LocalityKey, of_a_set_is_told_of_once) {
  EXPECT_EQ(told(R"(name: w
resource_requirements: [{name: s, num_gpus: 1, locality: strict}]
jobs:
  - {name: a, command: x, resource_requirements: s}
  - {name: b, command: x, resource_requirements: s}
)")
                .size(),
            1U);
}

TEST(LocalityKey, of_a_set_is_there_for_what_is_added_later) {
  const std::string text =
      "name: w\nresource_requirements: [{name: s, num_gpus: 2, locality: "
      "strict, one_of: [{cpus: 2}, {cpus: 3, locality: scatter}]}]\n"
      "jobs: [{name: a, command: x, resource_requirements: s}]\n";
  const Loaded l = loaded(text);
  ASSERT_TRUE(l.expansion.has_value());
  EXPECT_EQ(show_needs(l.expansion->entries[0].resources),
            "2 CPUs, 1 MiB, 2 GPUs, locality strict, or 3 CPUs, 1 MiB, 2 GPUs, locality scatter");
}

TEST(OneOf, a_strict_alternative_does_not_stand_in_the_way_of_one_that_is_not) {
  EXPECT_EQ(told_of_job("one_of: [{gpus: 2, locality: strict}, {gpus: 2}]"), Told{});
  EXPECT_EQ(told_of_job("one_of: [{gpus: 2}, {gpus: 2, locality: strict}]").size(), 1U);
}

TEST(ResourceNames, that_only_one_job_has_and_are_near_a_common_one_are_told_of) {
  const auto three = [](const std::string& name) {
    return told(
        "name: w\njobs:\n"
        "  - {name: a, command: x, resources: {scratch: 1}}\n"
        "  - {name: b, command: x, resources: {scratch: 2}}\n"
        "  - {name: c, command: x, resources: {" +
        name + ": 2}}\n");
  };
  EXPECT_EQ(three("scrach"), Told{"warning: only job 'c' needs a resource 'scrach' | did you mean "
                                  "'scratch', as 2 others have?"});
  EXPECT_EQ(three("scratch/ssd"), Told{});
  EXPECT_EQ(three("scratch2"), Told{}) << "numbers tell things apart";
  EXPECT_EQ(three("licence"), Told{});
}

TEST(ResourceNames, that_are_near_a_key_of_their_own_are_told_of) {
  EXPECT_EQ(told_of_job("resources: {memry: 2}"),
            Told{"warning: no worker has a resource 'memry' unless it is told so | did you mean "
                 "the key 'memory'?"});
  EXPECT_EQ(told_of_job("resources: {gpuss/a100: 2}"),
            Told{"warning: no worker has a resource 'gpuss' unless it is told so | did you mean "
                 "'gpus/TYPE'?"});
  EXPECT_EQ(told_of_job("resources: {gpu/a100: 2}"),
            Told{"error: 'gpu/a100' has a key of its own | did you mean 'gpus/a100'?"});
  EXPECT_EQ(told_of_job("resources: {shared_memory_segments: 2}"), Told{});
}

TEST(ResourceNames, that_are_limits_of_the_workflow_are_told_of) {
  const Told found =
      told_of_job("resources: {tokens: 1}, limits: [tokens]", "limits: {tokens: 4}\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].substr(0, found[0].find(" | ")),
            "warning: 'tokens' is one of the workflow's limits, and here a resource that each "
            "worker has by itself");
}

}  // namespace
}  // namespace torc::spec
