// one_of: alternatives of what a job needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/spec/load/load.h"
#include "lib/spec/testing/test_expansion.h"

namespace torc::spec {
namespace {

using std::chrono::minutes;
using Told = std::vector<std::string>;

struct Offered {
  Jobs jobs;
  std::vector<std::string> told;  // "message | remedy"
  bool sound = false;

  [[nodiscard]] const ResourceRequirements& needs(std::size_t entry = 0) const {
    return jobs.expansion.entries.at(entry).resources;
  }
};

Offered offered(const std::string& text) {
  const auto nothing_there = [](const std::string& path) -> Result<std::string> {
    return Error{ErrorKind::not_found, "there is no '" + path + "'", ""};
  };
  Loaded loaded = load(text, "wf.yaml", nothing_there);
  Offered out;
  for (const Diagnostic& d : loaded.diagnostics) out.told.push_back(d.message + " | " + d.remedy);
  out.sound = loaded.expansion.has_value();
  if (out.sound) out.jobs = render_all(*std::move(loaded.expansion));
  return out;
}

const std::string kGpuOrCpus = R"(name: w
jobs:
  - name: fit_{i}
    command: fit --cpu {i}
    memory: 2g
    one_of: [{gpus: 1, cpus: 4, command: "fit --gpu {i}", runtime: 10m}, {cpus: 32, runtime: 1h}]
    parameters: {i: "1:2"}
)";

TEST(OneOf, each_alternative_has_its_own_needs_beside_those_of_the_job) {
  const Offered r = offered(kGpuOrCpus);
  ASSERT_TRUE(r.sound) << r.told.at(0);
  EXPECT_EQ(r.told, Told{});
  ASSERT_EQ(r.needs().one_of.size(), 2U);
  const Resources& gpu = r.needs().one_of[0].needs;
  const Resources& cpus = r.needs().one_of[1].needs;
  EXPECT_EQ(gpu.gpus, 1U);
  EXPECT_EQ(gpu.cpus, 4U);
  EXPECT_EQ(gpu.runtime, minutes(10));
  EXPECT_EQ(gpu.memory, mebibytes(2048));
  EXPECT_EQ(cpus.gpus, 0U);
  EXPECT_EQ(cpus.cpus, 32U);
  EXPECT_EQ(cpus.runtime, minutes(60));
  EXPECT_EQ(cpus.memory, mebibytes(2048));
  EXPECT_EQ(static_cast<const Resources&>(r.needs()), gpu) << "those of the first stand for all";
}

TEST(OneOf, an_alternative_has_a_command_of_its_own_or_that_of_the_job) {
  const Offered r = offered(kGpuOrCpus);
  ASSERT_TRUE(r.sound);
  const RenderedJob& second = r.jobs.rendered.at(1);
  EXPECT_EQ(second.command_by(0), "fit --gpu 2");
  EXPECT_EQ(second.command_by(1), "fit --cpu 2");
  EXPECT_EQ(second.command, "fit --cpu 2");
}

TEST(OneOf, what_the_command_of_an_alternative_takes_the_job_waits_for) {
  const Offered r = offered(R"(name: w
files: [{name: in, path: in.txt}, {name: out, path: out.txt}]
jobs:
  - {name: make, command: "make > ${files.output.in}"}
  - name: fit
    command: plain
    invocation_script: "nice"
    one_of: [{gpus: 1, command: "fit ${files.input.in} ${files.output.out}"}, {cpus: 2}]
)");
  ASSERT_TRUE(r.sound) << r.told.at(0);
  EXPECT_EQ(r.jobs.upstream("fit"), Told{"make"});
  EXPECT_EQ(r.jobs.rendered.at(1).command_by(0), "nice fit in.txt out.txt");
  EXPECT_EQ(r.jobs.rendered.at(1).command_by(1), "nice plain");
  EXPECT_EQ(r.jobs.rendered.at(1).input_files, Told{"in.txt"});
}

TEST(OneOf, a_set_has_alternatives_for_all_who_name_it_and_a_job_wins_over_it) {
  const Offered r = offered(R"(name: w
resource_requirements:
  - {name: either, memory: 1g, one_of: [{gpus: 1}, {cpus: 8, weight: 2}]}
jobs:
  - {name: a, command: b, resource_requirements: either}
  - {name: c, command: b, resource_requirements: either, memory: 3g}
  - {name: d, command: b, resource_requirements: either, one_of: [{cpus: 3, gpus: 2}, {cpus: 5}]}
)");
  ASSERT_TRUE(r.sound) << r.told.at(0);
  EXPECT_EQ(r.told, Told{});
  EXPECT_EQ(show_needs(r.needs(0)), "1 CPU, 1 GiB, 1 GPU, or 8 CPUs, 1 GiB");
  EXPECT_EQ(r.needs(0).one_of[1].weight, 2U);
  EXPECT_EQ(show_needs(r.needs(1)), "1 CPU, 3 GiB, 1 GPU, or 8 CPUs, 3 GiB");
  EXPECT_EQ(show_needs(r.needs(2)), "3 CPUs, 1 GiB, 2 GPUs, or 5 CPUs, 1 GiB");
}

// Of a file with one job that says `keys`: what is told of it.
Told told_of_alternatives(const std::string& keys, const std::string& more = "") {
  return offered("name: w\n" + more + "jobs:\n  - {name: a, command: b, " + keys + "}\n").told;
}

TEST(OneOf, one_alternative_is_none) {
  EXPECT_EQ(told_of_alternatives("one_of: [{cpus: 2}]"),
            Told{"'one_of' has one alternative | write at least two, or what the job needs "
                 "without one_of"});
  EXPECT_EQ(told_of_alternatives("one_of: []"),
            Told{"'one_of' has no alternatives | write at least two, or what the job needs "
                 "without one_of"});
}

TEST(OneOf, more_than_there_can_be_are_refused) {
  std::string all;
  for (int cpus = 30; cpus > 13; --cpus) all += "{cpus: " + std::to_string(cpus) + "}, ";
  EXPECT_EQ(told_of_alternatives("one_of: [" + all + "]"),
            Told{"'one_of' has 17 alternatives; the limit is 16 | write fewer"});
}

TEST(OneOf, it_is_for_jobs_of_one_node) {
  EXPECT_EQ(
      told_of_alternatives("num_nodes: 2, one_of: [{gpus: 1}, {cpus: 8}]"),
      Told{"job 'a' needs several nodes, and one_of is for jobs of one node | leave num_nodes "
           "or one_of out"});
  const Told own = told_of_alternatives("one_of: [{num_nodes: 2, cpus: 16}, {cpus: 8}]");
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].substr(0, own[0].find(" | ")),
            "unknown key 'num_nodes' in an alternative of one_of");
}

TEST(OneOf, a_set_has_no_commands) {
  EXPECT_EQ(told_of_alternatives(
                "resource_requirements: s",
                "resource_requirements: [{name: s, one_of: [{gpus: 1, command: x}, {cpus: "
                "8}]}]\n"),
            Told{"a set of resource requirements has no commands | write one_of in the jobs "
                 "themselves to give alternatives commands of their own"});
}

TEST(OneOf, one_that_is_tried_after_one_that_needs_no_more_is_told_of) {
  const Told never = {
      "alternative 2 of 'a' is never taken: alternative 1 is tried before it and needs no more | "
      "write the one that needs more first, or give it a larger weight"};
  EXPECT_EQ(told_of_alternatives("one_of: [{cpus: 4}, {cpus: 8}]"), never);
  EXPECT_EQ(told_of_alternatives("one_of: [{cpus: 4}, {cpus: 8, weight: 2}]"), Told{});
  EXPECT_EQ(told_of_alternatives("one_of: [{cpus: 8}, {cpus: 4}]"), Told{});
  EXPECT_EQ(told_of_alternatives("one_of: [{cpus: 4, runtime: 2h}, {cpus: 8, runtime: 1h}]"),
            Told{});
  EXPECT_EQ(told_of_alternatives("one_of: [{gpus: 1}, {gpus: 1, resources: {fpga: 1}}]"), never);
}

TEST(OneOf, one_that_no_node_of_its_scheduler_has_is_told_of_and_all_of_them_are_a_mistake) {
  const std::string scheduler = "slurm_schedulers: [{name: s, mem: 4g, gres: 'gpu:1'}]\n";
  const Offered one =
      offered("name: w\n" + scheduler +
              "jobs: [{name: a, command: b, scheduler: s, one_of: [{gpus: 2}, {cpus: "
              "8}]}]\n");
  EXPECT_TRUE(one.sound);
  EXPECT_EQ(one.told, Told{"alternative 1 of job 'a' needs 2 GPUs, and a node of scheduler 's' "
                           "has 1 | raise gres, or lower num_gpus"});
  const Offered none =
      offered("name: w\n" + scheduler +
              "jobs: [{name: a, command: b, scheduler: s, one_of: [{gpus: 2}, {memory: "
              "8g}]}]\n");
  EXPECT_FALSE(none.sound);
  EXPECT_EQ(std::ranges::count_if(none.told,
                                  [](const std::string& d) {
                                    return d.starts_with(
                                        "no alternative of job 'a' fits on a "
                                        "node of scheduler 's'");
                                  }),
            1);
}

TEST(OneOf, what_an_addition_names_is_found_again_with_its_alternatives) {
  class Kept : public Definitions {
   public:
    explicit Kept(std::vector<Definition> all) : all_(std::move(all)) {}
    [[nodiscard]] std::optional<std::string> definition(std::string_view key) const override {
      for (const Definition& d : all_)
        if (d.key == key) return d.value;
      return {};
    }
    void each_definition(std::string_view prefix,
                         const std::function<bool(const Definition&)>& visit) const override {
      for (const Definition& d : all_)
        if (d.key.starts_with(prefix) && !visit(d)) return;
    }
    [[nodiscard]] std::optional<Definition> definition_up_to(std::string_view,
                                                             std::string_view) const override {
      return {};
    }

   private:
    std::vector<Definition> all_;
  };
  Workflow w;
  ResourceRequirements& set = w.resource_requirements.emplace_back();
  set.name = "either";
  set.cpus = 2;
  set.one_of.resize(2);
  set.one_of[0].needs.gpus = 1;
  set.one_of[1].needs.time_limit = minutes(5);
  set.one_of[1].weight = 3;
  for (const bool named : {false, true}) {
    set.named = named ? Amounts{{"fpga", 1000}} : Amounts{};
    const auto found = known_resources(Kept(definitions_of(w, nullptr)));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].same_needs(set));
  }
}

}  // namespace
}  // namespace torc::spec
