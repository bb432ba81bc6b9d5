// torc check and torc init ask Slurm whether it takes the batch scripts.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/integration/slurm/slurm_test.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

constexpr const char* kTwo =
    "name: wf\n"
    "slurm_schedulers:\n"
    "  - {name: good, nodes: 2}\n"
    "  - {name: bad, partition: nope}\n"
    "jobs:\n"
    "  - {name: only, command: \"true\"}\n";
constexpr const char* kStart = "to start at 2026-11-25T04:30:00 using 4 processors on n1";
// Takes what names no partition.
constexpr const char* kSlurm = R"sh(#!/bin/sh
echo asked >> log
if cat $2 | grep -q partition; then
  echo 'sbatch: error: invalid partition specified: nope' >&2
  echo 'allocation failure: Invalid partition name specified' >&2
  exit 1
fi
echo 'sbatch: Job 7 to start at 2026-11-25T04:30:00 using 4 processors on n1' >&2
)sh";

class BesideSbatch : public testing::Test {
 protected:
  BesideSbatch() { here_.write("wf.yaml", kTwo); }
  void sbatch(const std::string& script) {
    here_.write("bin/sbatch", script);
    fs::permissions(here_.path() / "bin/sbatch", fs::perms::owner_all);
  }
  [[nodiscard]] Ended torc(const Words& arguments,
                           const std::map<std::string, std::string>& env = {}) const {
    Launch launch = here_.torc(arguments);
    launch.env["PATH"] = (here_.path() / "bin").string() + ":/usr/bin:/bin";
    launch.env["XDG_CONFIG_HOME"] = here_.path() / "config";
    for (const auto& [name, value] : env) launch.env[name] = value;
    return run(launch);
  }
  [[nodiscard]] json slurm(const Words& arguments, int exit_code) const {
    const Ended ended = torc(arguments + Words{"--json"});
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
    EXPECT_EQ(ended.err, "");
    return parsed(ended)["slurm"];
  }
  [[nodiscard]] bool made(const std::string& store) const {
    return fs::exists(here_.path() / store / "slurm/bad.sbatch");
  }

  Workplace here_;
};

TEST_F(BesideSbatch, check_fails_for_what_slurm_refuses) {
  sbatch(kSlurm);
  const Ended ended = torc({"check", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_EQ(ended.out,
            std::string("Slurm accepts the batch script of scheduler 'good': ") + kStart + "\n");
  EXPECT_TRUE(ended.err.starts_with(
      "wf.yaml:4:12: error: Slurm refuses the batch script of scheduler 'bad': sbatch: error: "
      "invalid partition specified: nope; allocation failure: Invalid partition name specified\n"))
      << ended;
  EXPECT_SAYS(ended, "torc: error: Slurm refuses 1 of 2 batch scripts of wf.yaml\n");
  EXPECT_EQ(slurm({"check", "wf.yaml"}, 2),
            (json{{{"scheduler", "good"},
                   {"script", nullptr},
                   {"answer", "accepted"},
                   {"words", {kStart}},
                   {"reason", nullptr}},
                  {{"scheduler", "bad"},
                   {"script", nullptr},
                   {"answer", "refused"},
                   {"words",
                    {"sbatch: error: invalid partition specified: nope",
                     "allocation failure: Invalid partition name specified"}},
                   {"reason", nullptr}}}));
}

TEST_F(BesideSbatch, init_warns_of_what_slurm_refuses_and_makes_the_store) {
  sbatch(kSlurm);
  const Ended ended = torc({"init", "wf.yaml"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(made("wf.torc"));
  EXPECT_NE(ended.out.find(std::string("Slurm accepts wf.torc/slurm/good.sbatch: ") + kStart),
            std::string::npos)
      << ended;
  EXPECT_TRUE(ended.err.starts_with(
      "wf.yaml:4:12: warning: Slurm refuses wf.torc/slurm/bad.sbatch, the batch script of "
      "scheduler 'bad': sbatch: error: invalid partition specified: nope; "))
      << ended;
  const json answers = slurm({"init", "wf.yaml", "--store", "other.torc"}, 0);
  EXPECT_EQ(answers[1]["answer"], "refused");
  EXPECT_EQ(answers[1]["script"], (here_.path() / "other.torc/slurm/bad.sbatch").string());
}

TEST_F(BesideSbatch, a_slurm_that_cannot_be_reached_is_noted_and_no_failure) {
  sbatch(
      "#!/bin/sh\necho 'allocation failure: Unable to contact slurm controller (connect failure)' "
      ">&2; exit 1\n");
  for (const std::string command : {"check", "init"}) {
    const Ended ended = torc({command, "wf.yaml"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(ended.err,
              "torc: note: whether Slurm takes the batch scripts of schedulers 'good', 'bad' is "
              "not known: Slurm could not be reached: allocation failure: Unable to contact slurm "
              "controller (connect failure)\n");
  }
  EXPECT_TRUE(made("wf.torc"));
  EXPECT_EQ(slurm({"check", "wf.yaml"}, 0)[0]["answer"], "unanswered");
}

TEST_F(BesideSbatch, nothing_is_asked_or_said_without_sbatch_or_with_no_slurm) {
  const std::map<std::string, std::string> laptop{{"PATH", here_.path().string()}};
  const Ended without = torc({"check", "wf.yaml"}, laptop);
  EXPECT_EQ(without.exit_code, 0) << without;
  EXPECT_EQ(without.err, "");
  EXPECT_EQ(without.out, "wf.yaml: good: workflow 'wf', 1 job from 1 entry\n");
  EXPECT_EQ(torc({"init", "wf.yaml"}, laptop).err, "");
  sbatch(kSlurm);
  const Ended told = torc({"check", "wf.yaml", "--no-slurm"});
  EXPECT_EQ(told.out, without.out);
  EXPECT_EQ(told.exit_code, 0) << told;
  here_.write("config/torc/templates/worker.sbatch", "no template");
  EXPECT_EQ(torc({"check", "wf.yaml"}, laptop).exit_code, 0) << "no script is made of it";
  fs::remove(here_.path() / "config/torc/templates/worker.sbatch");
  EXPECT_EQ(slurm({"check", "wf.yaml", "--no-slurm"}, 0), json());
  EXPECT_EQ(slurm({"init", "wf.yaml", "--store", "b.torc", "--no-slurm"}, 0), json());
  EXPECT_FALSE(fs::exists(here_.path() / "log"));
  EXPECT_EQ(torc({"check", "wf.yaml"}).exit_code, 2);
  EXPECT_EQ(read_text(here_.path() / "log"), "asked\nasked\n") << "that it would be seen";
}

TEST_F(BesideSbatch, the_script_that_is_asked_about_is_the_one_of_init) {
  sbatch(std::string("#!/bin/sh\ncat $2 > seen\necho 'sbatch: Job 7 ") + kStart + "' >&2\n");
  here_.write("wf.yaml",
              "name: wf\nslurm_schedulers: [{name: one, account: proj}]\n"
              "jobs: [{name: only, command: \"true\"}]\n");
  const auto seen = [this] { return read_text(here_.path() / "seen"); };
  EXPECT_EQ(torc({"check", "wf.yaml"}).exit_code, 0);
  const std::string built_in = seen();
  EXPECT_NE(built_in.find("#SBATCH --account='proj'\n"), std::string::npos) << built_in;
  EXPECT_EQ(torc({"init", "wf.yaml"}).exit_code, 0);
  EXPECT_EQ(seen(), built_in);
  EXPECT_EQ(read_text(here_.path() / "wf.torc/slurm/one.sbatch"), built_in);
  // Of the user's own template, and of one that is named.
  const std::string own = "#!/bin/bash\n{{directives}}\n#SBATCH --comment=own\nexec {{torc}}\n";
  here_.write("config/torc/templates/worker.sbatch", own);
  EXPECT_EQ(torc({"check", "wf.yaml"}).exit_code, 0);
  EXPECT_NE(seen().find("--comment=own\n"), std::string::npos) << seen();
  here_.write("gpu.sbatch", own + "# named\n");
  EXPECT_EQ(torc({"check", "wf.yaml", "--template", "gpu.sbatch"}).exit_code, 0);
  EXPECT_NE(seen().find("# named\n"), std::string::npos) << seen();
  for (const Words& flags : {Words{}, Words{"--no-slurm"}}) {
    const Ended missing = torc(Words{"check", "wf.yaml", "--template", "none.sbatch"} + flags);
    EXPECT_EQ(missing.exit_code, 2) << missing;
    EXPECT_SAYS(missing, "there is no file 'none.sbatch'");
  }
}

TEST_F(BesideSbatch, an_allocation_around_it_does_not_shape_the_answer) {
  sbatch(std::string("#!/bin/sh\nenv > seen\necho 'sbatch: Job 7 ") + kStart + "' >&2\n");
  EXPECT_EQ(torc({"check", "wf.yaml"},
                 {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SBATCH_QOS", "short"}})
                .exit_code,
            0);
  const std::string seen = read_text(here_.path() / "seen");
  EXPECT_NE(seen.find("\nSBATCH_QOS=short\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\nSLURM_CONF=/dev/null\n"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("SLURM_JOB_ID"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("SLURM_NTASKS"), std::string::npos) << seen;
}

TEST_F(BesideSbatch, what_it_prints_has_no_power_over_a_terminal) {
  sbatch("#!/bin/sh\nprintf 'sbatch: error: \\033]0;mine\\007no\\n' >&2\nexit 1\n");
  const Ended ended = torc({"check", "wf.yaml"});
  EXPECT_SAYS(ended, R"(sbatch: error: \x1b]0;mine\x07no)");
  EXPECT_EQ(ended.err.find('\x1b'), std::string::npos);
  EXPECT_EQ(slurm({"check", "wf.yaml"}, 2)[0]["words"],
            json::array({R"(sbatch: error: \x1b]0;mine\x07no)"}));
}

TEST_F(BesideSbatch, json_is_as_the_schemas_say_whatever_slurm_answers) {
  json documents = json::array();
  for (const std::string& script :
       {std::string("echo 'sbatch: Job 7 ") + kStart + "' >&2",
        std::string("echo 'sbatch: error: invalid partition' >&2; exit 1"),
        std::string("exit 1")}) {
    sbatch("#!/bin/sh\n" + script + "\n");
    for (const std::string command : {"check", "init"}) {
      const Ended ended = torc(Words{command, "wf.yaml", "--json"} +
                               (command == "init" ? Words{"--force"} : Words{}));
      documents.push_back(
          {{"schema", command}, {"from", command + ": " + script}, {"document", parsed(ended)}});
    }
  }
  const std::string source = TORC_SOURCE_DIR;
  here_.write("documents.json", documents.dump());
  const Ended ended =
      run({{"/usr/bin/env", "python3", source + "/tests/integration/validate_documents.py",
            source + "/docs/schema", "documents.json"},
           {},
           here_.path(),
           {},
           {}});
  if (ended.exit_code == 77) GTEST_SKIP() << ended.out;
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

// --- a real Slurm: four nodes, 2 CPUs and 1000 MB each, an hour at most ---

constexpr const char* kMistakes = R"yaml(name: night
slurm_schedulers:
  - {name: fits, nodes: 4, walltime: "00:30:00", mem: 500M}
  - {name: unknown, partition: nope}
  - {name: wide, nodes: 500}
  - {name: heavy, mem: 900G}
  - {name: long, walltime: "30-00:00:00"}
jobs:
  - {name: only, command: "true"}
)yaml";

std::map<std::string, std::string> answers_in(const json& slurm) {
  std::map<std::string, std::string> answers;
  for (const json& one : slurm) answers[one["scheduler"]] = one["answer"];
  return answers;
}

TEST_F(SlurmTest, says_before_a_submission_what_it_would_refuse) {
  write_text(work_ / "night.yaml", kMistakes);
  std::map<std::string, std::string> expected{{"fits", "accepted"},
                                              {"unknown", "refused"},
                                              {"wide", "refused"},
                                              {"heavy", "refused"},
                                              {"long", "accepted"}};
  // Without EnforcePartLimits a Slurm takes what is longer than its partition allows, and never
  // starts it.
  const auto lenient = torc({"check", "night.yaml", "--json"});
  EXPECT_EQ(lenient.exit_code, 2) << lenient;
  EXPECT_EQ(answers_in(parsed(lenient)["slurm"]), expected) << lenient;

  const auto reconfigured =
      login({"sh", "-c", "echo EnforcePartLimits=ALL >> \"$SLURM_CONF\" && scontrol reconfigure"});
  ASSERT_EQ(reconfigured.exit_code, 0) << reconfigured;
  expected["long"] = "refused";
  const auto check = torc({"check", "night.yaml", "--json"});
  EXPECT_EQ(answers_in(parsed(check)["slurm"]), expected) << check;
  const auto init = torc({"init", "night.yaml", "--engine", "journal", "--json"});
  EXPECT_EQ(init.exit_code, 0) << init;
  EXPECT_EQ(answers_in(parsed(init)["slurm"]), expected) << init;

  const auto people = torc({"check", "night.yaml"});
  EXPECT_EQ(people.exit_code, 2) << people;
  for (const char* words :
       {"Slurm accepts the batch script of scheduler 'fits': to start at ",
        "Slurm refuses the batch script of scheduler 'unknown': sbatch: error: invalid partition "
        "specified: nope; allocation failure: Invalid partition name specified\n",
        "scheduler 'wide': allocation failure: ",
        "scheduler 'heavy': allocation failure: Requested node configuration is not available\n",
        "scheduler 'long': allocation failure: Requested time limit is invalid",
        "torc: error: Slurm refuses 4 of 5 batch scripts of night.yaml\n"})
    EXPECT_SAYS(people, words);
  const auto queue = login({"squeue", "-h"});
  EXPECT_EQ(queue.exit_code, 0) << queue;
  EXPECT_EQ(queue.out, "") << "nothing was submitted";
}

}  // namespace
}  // namespace torc::itest
