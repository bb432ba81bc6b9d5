// The choices of allocations that `torc plan` shows: by a profile, by scripts that stand for
// Slurm's programs, and on a real Slurm.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/harness.h"
#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

using nlohmann::json;

constexpr const char* kAlpha = R"(cluster: alpha
partitions:
  - name: standard
    default: true
    walltime: 2d
    nodes: [{count: 100, cpus: 8, memory: 32g}]
associations: [{account: lab}]
)";
// 16 nodes for an hour, then one for two.
constexpr const char* kJobs = R"(name: wf
jobs:
  - {name: "a_{i}", command: "true", num_cpus: 8, runtime: PT1H, parameters: {i: "1:16"}}
  - {name: b, command: "true", num_cpus: 8, runtime: PT2H, depends_on: ["a_{i}"]}
)";

class PlanAllocations : public testing::Test {
 protected:
  PlanAllocations() {
    here_.write("alpha.yaml", kAlpha);
    here_.write("wf.yaml", kJobs);
    here_.write("slurm.conf", "ClusterName=alpha\n");
    std::filesystem::create_directory(here_.path() / "bin");
  }
  void program(const std::string& name, const std::string& script) const {
    const Path file = here_.write("bin/" + name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  // A cluster of 100 nodes of which `idle` are.
  void slurm(int idle) const {
    const std::string busy = std::to_string(100 - idle);
    program("sinfo", "echo 'standard*|" + std::to_string(idle) +
                         "|8|32768|(null)|(null)|idle'\necho 'standard*|" + busy +
                         "|8|32768|(null)|(null)|allocated'\n");
    program("scontrol", R"sh(case "$*" in
*config*) printf 'ClusterName             = alpha\nAccountingStorageType   = (null)\n' ;;
*) echo 'PartitionName=standard Default=YES MaxTime=2-00:00:00 State=UP TotalNodes=100 MinNodes=0' ;;
esac
)sh");
    program("squeue", "echo 'standard|40'\necho 'standard|2'\n");
  }
  // More than `now` nodes start in ten hours.
  void sbatch(int now) const {
    program("sbatch",
            "nodes=$(sed -n \"s/^#SBATCH --nodes=//p\" | tr -d \"'\")\n"
            "echo \"$nodes\" >> " +
                (here_.path() / "asked").string() +
                "\n"
                "when='+0 hours'; [ \"$nodes\" -gt " +
                std::to_string(now) +
                " ] && when='+10 hours'\n"
                "echo \"sbatch: Job 7 to start at $(date -d \"$when\" "
                "+%Y-%m-%dT%H:%M:%S) using 8 processors on nodes n1\" >&2\n");
  }
  [[nodiscard]] Ended torc(const std::vector<std::string>& arguments) const {
    Launch launch = here_.torc(arguments);
    launch.env["PATH"] = (here_.path() / "bin").string() + ":/usr/bin:/bin";
    launch.env["SLURM_CONF"] = (here_.path() / "slurm.conf").string();
    return run(launch);
  }
  [[nodiscard]] json group(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"plan", "wf.yaml", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended planned = torc(words);
    EXPECT_EQ(planned.exit_code, 0) << planned;
    return json::parse(planned.out)["allocation_plan"]["groups"].at(0);
  }
  Workplace here_;
};

TEST_F(PlanAllocations, of_a_profile_is_a_table_that_lines_up_within_80_columns) {
  const Ended planned = torc({"plan", "wf.yaml", "--profile", "alpha.yaml", "--no-slurm"});
  ASSERT_EQ(planned.exit_code, 0) << planned;
  EXPECT_EQ(planned.err, "") << planned;
  std::size_t rows = 0;
  std::size_t end_of_used = 0;
  for (const std::string& line : lines_of(planned.out)) {
    const bool is_row = line.starts_with("  choice ") || line.starts_with("  one large ") ||
                        line.starts_with("  chunks ") || line.starts_with("  many small ");
    if (!is_row) continue;
    EXPECT_LE(line.size(), 80U) << line;
    if (rows++ == 0) end_of_used = line.size();
    EXPECT_EQ(line.size(), end_of_used) << planned.out;
  }
  EXPECT_EQ(rows, 4U) << planned;
  EXPECT_TRUE(planned.says("recommended: many small: ")) << planned;
  EXPECT_TRUE(planned.says("when they would start is not known")) << planned;
}

TEST_F(PlanAllocations, asks_sbatch_once_a_choice_and_goes_by_when_they_start) {
  slurm(4);
  sbatch(4);
  const json told = group();
  EXPECT_EQ(told["idle_nodes"], 4) << told;
  EXPECT_EQ(told["pending_allocations"], 2) << told;
  EXPECT_EQ(told["pending_nodes"], 42) << told;
  ASSERT_EQ(told["choices"].size(), 3U) << told;
  EXPECT_EQ(lines_of(read_text(here_.path() / "asked")).size(), 3U);
  const json& large = told["choices"][0];
  const json& small = told["choices"][2];
  EXPECT_EQ(large["choice"], "one_large");
  EXPECT_GE(large["start_in_seconds"], 35'000) << told;
  EXPECT_LE(small["start_in_seconds"], 60) << told;
  EXPECT_NE(told["recommended"], "one_large") << told;
  const Ended text = torc({"plan", "wf.yaml"});
  EXPECT_TRUE(text.says("4 of 100 such nodes idle; 2 allocations wait for 42 nodes")) << text;
}

TEST_F(PlanAllocations, of_a_file_with_schedulers_are_of_each_of_them) {
  slurm(100);
  sbatch(100);
  here_.write("wf.yaml", std::string(kJobs) +
                             "slurm_schedulers:\n  - {name: s, account: lab, nodes: 2, "
                             "walltime: \"10:00:00\", extra: --exclusive}\n");
  const json told = group();
  EXPECT_EQ(told["scheduler"], "s");
  bool own = false;
  for (const json& choice : told["choices"]) own = own || choice["nodes"] == 2;
  EXPECT_TRUE(own) << told;
}

TEST_F(PlanAllocations, without_an_answer_say_so) {
  slurm(4);
  program("sbatch", "kill -9 $$\n");
  program("squeue", "exit 1\n");
  const json told = group();
  EXPECT_EQ(told["pending_allocations"], nullptr) << told;
  for (const json& choice : told["choices"]) {
    EXPECT_EQ(choice["answer"], "unanswered") << told;
    EXPECT_EQ(choice["start_in_seconds"], nullptr) << told;
    EXPECT_EQ(choice["reason"], "sbatch was ended by signal 9") << told;
  }
  const Ended text = torc({"plan", "wf.yaml"});
  EXPECT_TRUE(text.says("not known")) << text;
  EXPECT_TRUE(text.says("what waits is not known")) << text;
}

TEST_F(PlanAllocations, that_slurm_refuses_are_not_recommended) {
  slurm(4);
  program("sbatch", "echo 'sbatch: error: invalid account' >&2; exit 1\n");
  const json told = group();
  EXPECT_EQ(told["recommended"], nullptr) << told;
  EXPECT_EQ(told["choices"][0]["answer"], "refused") << told;
  EXPECT_TRUE(torc({"plan", "wf.yaml"}).says("Slurm refuses all of them: ")) << told;
}

TEST_F(PlanAllocations, of_another_cluster_are_not_asked_about_here) {
  slurm(4);
  sbatch(4);
  here_.write("slurm.conf", "ClusterName=beta\n");
  const json told = group({"--profile", "alpha.yaml"});
  EXPECT_EQ(told["choices"][0]["answer"], "unanswered") << told;
  EXPECT_FALSE(std::filesystem::exists(here_.path() / "asked"));
}

TEST_F(PlanAllocations, tell_of_jobs_that_no_partition_holds_and_of_unknown_runtimes) {
  here_.write("wf.yaml",
              "name: wf\njobs:\n  - {name: big, command: \"true\", num_cpus: 9, runtime: PT1H}\n"
              "  - {name: a, command: \"true\"}\n");
  const Ended planned = torc({"plan", "wf.yaml", "--profile", "alpha.yaml"});
  EXPECT_EQ(planned.exit_code, 0) << planned;
  EXPECT_TRUE(
      planned.says("no allocation is planned for job big: no partition can hold it "
                   "(standard: at most 8 CPUs a node)"))
      << planned;
  EXPECT_TRUE(planned.says("none: no job declares a runtime")) << planned;
}

TEST_F(PlanAllocations, are_left_out_where_there_is_no_slurm_and_told_of_schedulers_only) {
  Launch launch = here_.torc({"plan", "wf.yaml"});
  launch.env["PATH"] = (here_.path() / "bin").string();
  const Ended plain = run(launch);
  EXPECT_EQ(plain.exit_code, 0) << plain;
  EXPECT_EQ(plain.err, "") << plain;
  here_.write("wf.yaml", std::string(kJobs) + "slurm_schedulers: [{name: s, account: lab}]\n");
  const Ended bound = run(launch);
  EXPECT_EQ(bound.exit_code, 0) << bound;
  EXPECT_TRUE(bound.says("no choices of allocations are shown: there is no Slurm here")) << bound;
}

// --- --write ---

constexpr const char* kTwoKinds = R"(# my workflow
name:   wf    # odd blanks stay

# what is done
jobs:
  # first
  - name: "a_{i}"
    # with a comment
    command: "true"
    num_cpus: 4
    runtime: PT1H
    parameters: {i: "1:16"}
  - {name: b, command: "true", num_gpus: 1, runtime: PT2H, depends_on: ["a_{i}"]}
)";
constexpr const char* kTwoPartitions = R"(cluster: alpha
partitions:
  - {name: standard, default: true, nodes: [{count: 100, cpus: 8, memory: 32g}]}
  - {name: gpu, nodes: [{count: 4, cpus: 8, memory: 64g, gpus: [{type: a100, count: 2}]}]}
)";

class PlanWrite : public PlanAllocations {
 protected:
  PlanWrite() {
    here_.write("alpha.yaml", kTwoPartitions);
    here_.write("wf.yaml", kTwoKinds);
  }
  [[nodiscard]] Ended write(std::vector<std::string> more, const std::string& spec = "wf.yaml") {
    more.insert(more.begin(), {"plan", spec, "--profile", "alpha.yaml", "--write"});
    return torc(more);
  }
  [[nodiscard]] std::string text(const std::string& file = "wf.yaml") const {
    return read_text(here_.path() / file);
  }
};

TEST_F(PlanWrite, needs_an_account_alone_and_keeps_all_else_of_the_file) {
  EXPECT_TRUE(write({}).says("name it with --account NAME"));
  EXPECT_EQ(text(), kTwoKinds);
  const Ended done = write({"--account", "lab"});
  ASSERT_EQ(done.exit_code, 0) << done;
  const Ended checked = torc({"check", "wf.yaml", "--no-slurm"});
  EXPECT_EQ(checked.exit_code, 0) << checked;
  EXPECT_EQ(checked.err, "") << checked << text();
  EXPECT_NE(text().find("    scheduler: \"standard\"\n"), std::string::npos) << text();
  EXPECT_NE(text().find("{name: b, scheduler: \"gpu\", "), std::string::npos) << text();
  // Without the new lines it is the file of before.
  std::string rest;
  bool in_list = false;
  for (const std::string& line : lines_of(text())) {
    if (line == "slurm_schedulers:") in_list = true;
    if (in_list) {
      in_list = !line.empty();
      continue;
    }
    if (line == "    scheduler: \"standard\"") continue;
    const auto bound = line.find("scheduler: \"gpu\", ");
    rest += (bound == std::string::npos ? line : line.substr(0, bound) + line.substr(bound + 18)) +
            "\n";
  }
  EXPECT_EQ(rest, kTwoKinds);
  const json plan = json::parse(
      torc({"plan", "wf.yaml", "--json", "--profile", "alpha.yaml"}).out)["allocation_plan"];
  EXPECT_EQ(plan["groups"].size(), 2U) << plan;
  EXPECT_TRUE(plan["unplanned"].empty()) << plan;
}

TEST_F(PlanWrite, replaces_schedulers_only_when_it_is_told_to) {
  ASSERT_EQ(write({"--account", "lab"}).exit_code, 0);
  const std::string first = text();
  const Ended again = write({"--account", "other"});
  EXPECT_EQ(again.exit_code, 2) << again;
  EXPECT_TRUE(again.says("has slurm_schedulers already")) << again;
  EXPECT_EQ(text(), first);
  ASSERT_EQ(write({"--account", "other", "--overwrite"}).exit_code, 0);
  EXPECT_NE(text().find("account: \"other\""), std::string::npos);
  EXPECT_EQ(text().find("account: \"lab\""), std::string::npos);
  EXPECT_TRUE(write({"--account", "other", "--overwrite"}).says("nothing to change in wf.yaml"));
}

TEST_F(PlanWrite, binds_no_job_to_the_only_scheduler_but_those_that_were_bound) {
  here_.write("wf.yaml", kJobs);
  ASSERT_EQ(write({"--account", "lab"}).exit_code, 0);
  EXPECT_EQ(text().find(" scheduler:"), std::string::npos) << text();
  here_.write("wf.yaml",
              "name: wf\nslurm_schedulers: [{name: old, account: lab}]\njobs:\n"
              "  - {name: a, command: \"true\", runtime: PT1H, scheduler: old}\n"
              "  - {name: b, command: \"true\", runtime: PT1H}\n");
  ASSERT_EQ(write({"--account", "lab", "--overwrite"}).exit_code, 0);
  EXPECT_NE(text().find("runtime: PT1H, scheduler: \"standard\"}\n"), std::string::npos) << text();
  EXPECT_NE(text().find("  - {name: b, command: \"true\", runtime: PT1H}\n"), std::string::npos);
}

TEST_F(PlanWrite, shows_what_would_be_written_and_writes_elsewhere) {
  const Ended dry = write({"--account", "lab", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry;
  EXPECT_TRUE(dry.says("    4 + slurm_schedulers:")) << dry;
  EXPECT_TRUE(dry.says("nothing was written (--dry-run)")) << dry;
  EXPECT_EQ(text(), kTwoKinds);
  EXPECT_EQ(write({"--account", "lab", "-o", "new.yaml"}).exit_code, 0);
  EXPECT_EQ(text(), kTwoKinds);
  EXPECT_NE(text("new.yaml").find("slurm_schedulers:"), std::string::npos);
  EXPECT_TRUE(write({"--account", "lab", "-o", "new.yaml"}).says("new.yaml exists already"));
}

TEST_F(PlanWrite, keeps_the_mode_of_the_file_and_writes_through_a_link) {
  std::filesystem::permissions(here_.path() / "wf.yaml", std::filesystem::perms(0660));
  std::filesystem::create_symlink("wf.yaml", here_.path() / "link.yaml");
  ASSERT_EQ(write({"--account", "lab"}, "link.yaml").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(here_.path() / "link.yaml"));
  EXPECT_NE(text().find("slurm_schedulers:"), std::string::npos);
  EXPECT_EQ(std::filesystem::status(here_.path() / "wf.yaml").permissions(),
            std::filesystem::perms(0660));
}

TEST_F(PlanWrite, leaves_a_file_that_changed_meanwhile) {
  here_.write("slurm.conf", "ClusterName=alpha\n");
  slurm(100);
  const std::string spec = (here_.path() / "wf.yaml").string();
  program("sbatch", "cat > /dev/null\necho '# mine' >> " + spec + "\nexit 1\n");
  here_.write("wf.yaml", kJobs);
  const Ended done = torc({"plan", "wf.yaml", "--write", "--account", "lab"});
  EXPECT_EQ(done.exit_code, 2) << done;
  EXPECT_TRUE(done.says("wf.yaml has changed since it was read")) << done;
  EXPECT_NE(text().find("# mine"), std::string::npos) << text();
  EXPECT_EQ(text().find("slurm_schedulers"), std::string::npos) << text();
}

TEST_F(PlanWrite, plans_by_the_account_that_allows_the_time) {
  here_.write("alpha.yaml", std::string(kTwoPartitions) + "qos: [{name: brief, walltime: 1h}]\n" +
                                "associations:\n  - {account: day, default_qos: brief}\n"
                                "  - {account: week, walltime: 7d}\n");
  const Ended done = write({});
  ASSERT_EQ(done.exit_code, 0) << done;
  EXPECT_EQ(text().find("day"), std::string::npos) << text();
  EXPECT_NE(text().find("account: \"week\""), std::string::npos) << text();
  const Ended brief = write({"--account", "day", "--overwrite"});
  EXPECT_EQ(brief.exit_code, 2) << brief;
  EXPECT_TRUE(brief.says("at most 1 h by your account")) << brief;
}

TEST_F(PlanWrite, names_the_job_that_no_partition_holds) {
  for (const auto& [needs, why] : std::vector<std::pair<std::string, std::string>>{
           {"num_cpus: 9, runtime: PT1H", "at most 8 CPUs a node"},
           {"num_gpus: 3, runtime: PT1H", "at most 2 GPUs a node"},
           {"memory: 65g, runtime: PT1H", "of memory a node"},
           {"num_nodes: 101, runtime: PT1H", "only 100 such nodes"}}) {
    here_.write("wf.yaml", "name: wf\njobs:\n  - {name: big, command: \"true\", " + needs + "}\n");
    const std::string before = text();
    const Ended done = write({"--account", "lab"});
    EXPECT_EQ(done.exit_code, 2) << done;
    EXPECT_TRUE(done.says("job 'big': no partition can hold it")) << done;
    EXPECT_TRUE(done.says(why)) << done;
    EXPECT_EQ(text(), before);
  }
}

TEST_F(PlanWrite, says_that_other_forms_cannot_be_written_into) {
  here_.write("wf.json5", R"({name: "wf", jobs: [{name: "a", command: "x", runtime: "PT1H"}]})");
  const Ended json5 = write({"--account", "lab"}, "wf.json5");
  EXPECT_EQ(json5.exit_code, 2) << json5;
  EXPECT_TRUE(json5.says("wf.json5 is written as JSON5: only YAML files can be changed")) << json5;
  here_.write("wf.json",
              R"({"name": "wf", "jobs": [{"name": "a", "command": "x", "runtime": "PT1H"}]})");
  EXPECT_TRUE(write({"--account", "lab"}, "wf.json").says("do not stand on lines of their own"));
  EXPECT_TRUE(write({"--account", "lab"}, "-").says("standard input cannot be written into"));
}

class PlanOnTheLab : public SlurmTest {};

TEST_F(PlanOnTheLab, says_when_each_choice_would_start) {
  std::ofstream(work_ / "wf.yaml")
      << "name: wf\njobs:\n  - {name: \"a_{i}\", command: \"true\", num_cpus: 2, memory: 100m, "
         "runtime: PT10M, parameters: {i: \"1:4\"}}\n";
  const Ended planned = torc({"plan", "wf.yaml", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned;
  const json group = json::parse(planned.out)["allocation_plan"]["groups"].at(0);
  EXPECT_EQ(group["idle_nodes"], kNodes) << group;
  EXPECT_EQ(group["pending_allocations"], 0) << group;
  for (const json& choice : group["choices"]) {
    EXPECT_EQ(choice["answer"], "accepted") << group;
    EXPECT_TRUE(choice["start_in_seconds"].is_number()) << group;
  }
  EXPECT_EQ(group["choices"][0]["nodes"], kNodes) << group;
  EXPECT_EQ(group["recommended"], "one_large") << group;
}

TEST_F(PlanOnTheLab, writes_schedulers_that_slurm_takes) {
  std::ofstream(work_ / "wf.yaml")
      << "name: wf\njobs:\n  - {name: \"a_{i}\", command: \"true\", num_cpus: 2, memory: 100m, "
         "runtime: PT10M, parameters: {i: \"1:4\"}}\n";
  const Ended written = torc({"plan", "wf.yaml", "--write", "--account", "lab"});
  ASSERT_EQ(written.exit_code, 0) << written;
  const Ended checked = torc({"check", "wf.yaml"});
  EXPECT_EQ(checked.exit_code, 0) << checked;
  EXPECT_TRUE(checked.says("to start at")) << checked;
  EXPECT_EQ(checked.err, "") << checked;
}

}  // namespace
}  // namespace torc::itest
