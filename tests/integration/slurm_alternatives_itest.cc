// Alternatives of what a job needs (one_of), in mode slurm.
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

// One node of two CPUs. As long as `small` has one of them only the second alternative fits;
// `wide` starts when the node is free.
constexpr const char* kSpec = R"yaml(name: fits
execution_config: {mode: slurm}
slurm_schedulers:
  - {name: one, nodes: 1, walltime: "00:20:00", extra: --exclusive}
jobs:
  - {name: small, priority: 5, num_cpus: 1, command: echo small > starts; read go < gate}
  - name: narrow
    command: ./look first; echo narrow > starts
    one_of:
      - {cpus: 2, memory: 300m, runtime: 15m}
      - {cpus: 1, memory: 100m, runtime: 1m, command: ./look second; echo narrow > starts}
  - name: wide
    depends_on: [small, narrow]
    command: ./look first
    one_of:
      - {cpus: 2, memory: 300m, runtime: 15m}
      - {cpus: 1, memory: 100m, runtime: 1m, command: ./look second}
)yaml";
constexpr const char* kLook = R"sh(#!/bin/sh
{ echo "$1 $TORC_ALTERNATIVE $TORC_NUM_CPUS"; scontrol show step "$SLURM_JOB_ID.$SLURM_STEP_ID"; } > "by_$TORC_JOB_NAME"
)sh";

TEST_F(SlurmTest, the_step_of_a_job_has_what_the_alternative_says_that_it_was_claimed_by) {
  Fifo starts(work_ / "starts");
  Fifo gate(work_ / "gate");
  write_text(work_ / "fits.yaml", kSpec);
  write_text(work_ / "look", kLook);
  std::filesystem::permissions(work_ / "look", std::filesystem::perms::owner_all);
  const auto init = torc({"init", "fits.yaml", "--engine", "journal"});
  ASSERT_EQ(init.exit_code, 0) << init;
  const std::string id = submit("fits.torc/slurm/one.sbatch");
  ASSERT_TRUE(lines_arrive(starts, 2));
  gate.open_gate(1);
  expect_end_of({id});
  EXPECT_EQ(parsed(torc({"status", "fits.torc", "--json"})).at("jobs_by_state").at("completed"), 3);

  const std::string narrow = read_text(work_ / "by_narrow");
  EXPECT_TRUE(narrow.starts_with("second 2 1\n")) << narrow;
  EXPECT_NE(narrow.find("TRES=cpu=1,mem=100M,"), std::string::npos) << narrow;
  const std::string wide = read_text(work_ / "by_wide");
  EXPECT_TRUE(wide.starts_with("first 1 2\n")) << wide;
  EXPECT_NE(wide.find("TRES=cpu=2,mem=300M,"), std::string::npos) << wide;
}

}  // namespace
}  // namespace torc::itest
