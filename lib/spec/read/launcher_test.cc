// Which batch system a workflow names, and which keys of its schedulers that one has.
#include <gtest/gtest.h>

#include <string>

#include "lib/spec/testing/test_parse.h"

namespace torc::spec {
namespace {

const std::string kJobs = "name: w\njobs: [{name: a, command: b}]\n";

std::string mistakes_of(const std::string& text) {
  return to_text(parse(kJobs + text, "wf.yaml", {}).diagnostics);
}

TEST(LauncherOfWorkflow, without_one_it_is_slurm) {
  for (const char* text : {"", "launcher: slurm\n"}) {
    const Parsed parsed = parse(kJobs + text, "wf.yaml", {});
    ASSERT_TRUE(parsed.workflow.has_value()) << to_text(parsed.diagnostics);
    EXPECT_EQ(parsed.workflow->launcher, "");
  }
}

TEST(LauncherOfWorkflow, its_schedulers_have_lines_of_options) {
  const Parsed parsed =
      parse(kJobs +
                "launcher: ./our-queue.yaml\n"
                "schedulers: [{name: s, walltime: '1:00:00', options: [-pe smp 2, -l x=1]}, "
                "{name: t, options: -q long}]\n",
            "wf.yaml", {});
  ASSERT_TRUE(parsed.workflow.has_value()) << to_text(parsed.diagnostics);
  EXPECT_EQ(parsed.workflow->launcher, "./our-queue.yaml");
  ASSERT_EQ(parsed.workflow->slurm_schedulers.size(), 2U) << "schedulers are slurm_schedulers";
  EXPECT_EQ(parsed.workflow->slurm_schedulers[0].options,
            (std::vector<std::string>{"-pe smp 2", "-l x=1"}));
  EXPECT_EQ(parsed.workflow->slurm_schedulers[1].options, std::vector<std::string>{"-q long"});
}

TEST(LauncherOfWorkflow, what_the_system_does_not_have_is_told) {
  for (const char* key :
       {"account: p", "partition: p", "qos: q", "mem: 1G", "gres: gpu:1", "tmp: 1G",
        "ntasks_per_node: 2", "extra: --exclusive", "serialize_allocations: true"}) {
    const std::string keys = std::string(key);
    const std::string told =
        mistakes_of("launcher: gridengine\nschedulers: [{name: s, " + keys + "}]\n");
    EXPECT_NE(told.find("'" + keys.substr(0, keys.find(':')) +
                        "' is for Slurm, and the launcher is 'gridengine'"),
              std::string::npos)
        << told;
    EXPECT_EQ(mistakes_of("schedulers: [{name: s, " + keys + "}]\n"), "");
  }
  const auto says = [](const std::string& text, const std::string& words) {
    EXPECT_NE(mistakes_of(text).find(words), std::string::npos) << mistakes_of(text);
  };
  says("launcher: pbs\nschedulers: [{name: s, nodes: 2}]\n",
       "an allocation of 'pbs' has one node, and 'nodes' is 2");
  says("launcher: pbs\nslurm_defaults: {exclusive: true}\n", "'slurm_defaults' is for Slurm");
  says("launcher: pbs\nexecution_config: {mode: slurm}\n", "'mode: slurm' is for Slurm");
  says("schedulers: [{name: s, options: -q long}]\n", "'options' is for other launchers");
  EXPECT_EQ(mistakes_of("launcher: pbs\nschedulers: [{name: s, nodes: 1, "
                        "serialize_allocations: false}]\n"),
            "");
}

}  // namespace
}  // namespace torc::spec
