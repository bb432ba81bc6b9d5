#include "lib/slurm/script.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/base/text/quote.h"
#include "lib/slurm/options.h"

namespace torc::slurm {
namespace {

using Defaults = std::vector<std::pair<std::string, std::string>>;

ScriptContext context() {
  return {"pipeline", "/data/run 7.torc", "/opt/torc/bin/torc", "torc-pipeline-cpu"};
}

spec::SlurmScheduler scheduler() {
  spec::SlurmScheduler s;
  s.name = "cpu";
  s.account = "proj_1";
  s.walltime = "04:00:00";
  return s;
}

std::string script(const spec::SlurmScheduler& s, const Defaults& defaults = {},
                   const ScriptContext& c = context()) {
  const auto text = render_script(c, s, defaults);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().text());
  return text.ok() ? *text : std::string{};
}

Error refusal(const spec::SlurmScheduler& s, const Defaults& defaults = {},
              const ScriptContext& c = context()) {
  const auto text = render_script(c, s, defaults);
  EXPECT_FALSE(text.ok()) << *text;
  return text.ok() ? Error{} : text.error();
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Script, starts_one_worker_a_node_that_outlives_the_others) {
  const auto text = script(scheduler());
  EXPECT_TRUE(text.starts_with("#!/bin/bash\n#SBATCH --job-name='torc-pipeline-cpu'\n"));
  EXPECT_TRUE(has_line(text, "#SBATCH --nodes='1'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --account='proj_1'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --time='04:00:00'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --ntasks-per-node='1'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --no-kill"));
  EXPECT_TRUE(has_line(text, "export TORC_STORE='/data/run 7.torc'"));
  const auto at = text.find("torc_step=(");
  ASSERT_NE(at, std::string::npos);
  const std::string step = text.substr(at, text.find(")\n", at) - at);
  for (const auto* option :
       {"--ntasks-per-node=1", "--kill-on-bad-exit=0", "--wait=0", "--no-kill", "--mem=0",
        "--cpu-bind=none", "--overlap", "--job-name=torc-workers", "--open-mode=append",
        "--output='/data/run 7.torc/logs/slurm-%j.%N.out'"}) {
    EXPECT_NE(step.find(option), std::string::npos) << option;
  }
  EXPECT_NE(text.find("exec '/opt/torc/bin/torc' supervise -- srun \"${torc_srun[@]}\" \\\n"
                      "  '/opt/torc/bin/torc' worker '/data/run 7.torc' --scheduler='cpu' "
                      "${TORC_WORKER_FLAGS:-}\n"),
            std::string::npos);
  EXPECT_EQ(text.find("{{"), std::string::npos);
}

TEST(Script, starts_workers_with_the_kind_of_mpi_that_is_asked_for) {
  EXPECT_NE(script(scheduler()).find(" --mpi=none "), std::string::npos);
  auto c = context();
  c.mpi = "pmix_v4";
  EXPECT_NE(script(scheduler(), {}, c).find(" --mpi=pmix_v4 "), std::string::npos);
  for (const char* no : {"list", "a b", "$(id)", "pmix;", "'"}) {
    c.mpi = no;
    EXPECT_NE(refusal(scheduler(), {}, c).what.find("srun_mpi"), std::string::npos) << no;
  }
}

TEST(Script, knows_the_walltime_that_it_asks_for) {
  EXPECT_TRUE(has_line(script(scheduler()), "torc_walltime=14400"));
  auto s = scheduler();
  for (const auto* none : {"", "UNLIMITED"}) {
    s.walltime = none;
    EXPECT_TRUE(has_line(script(s), "torc_walltime=")) << none;
  }
}

TEST(Script, a_requeued_allocation_appends_to_its_log_in_the_store) {
  const auto text = script(scheduler());
  EXPECT_TRUE(has_line(text, "#SBATCH --output='/data/run 7.torc/logs/slurm-%j.out'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --open-mode='append'"));
}

TEST(Script, a_percent_sign_in_the_stores_path_is_no_pattern) {
  auto c = context();
  c.store = "/data/100%j";
  EXPECT_TRUE(
      has_line(script(scheduler(), {}, c), "#SBATCH --output='/data/100%%j/logs/slurm-%j.out'"));
}

TEST(Script, paths_that_sbatch_cannot_write_to_are_refused) {
  for (const auto* path : {"/data/a\nb", "/data/a\\b", "relative/run.torc", "/data/a\tb"}) {
    auto c = context();
    c.store = path;
    EXPECT_EQ(refusal(scheduler(), {}, c).kind, ErrorKind::invalid) << path;
  }
}

TEST(Script, every_key_of_a_scheduler_becomes_its_option) {
  auto s = scheduler();
  s.partition = "gpu,debug";
  s.nodes = 4;
  s.mem = "240G";
  s.gres = "gpu:a100:2";
  s.qos = "high";
  s.ntasks_per_node = 8;
  s.tmp = "100G";
  s.serialize_allocations = true;
  const auto text = script(s);
  for (const auto* line :
       {"--partition='gpu,debug'", "--nodes='4'", "--mem='240G'", "--gres='gpu:a100:2'",
        "--qos='high'", "--ntasks-per-node='8'", "--tmp='100G'", "--dependency='singleton'"}) {
    EXPECT_TRUE(has_line(text, std::string("#SBATCH ") + line)) << line;
  }
}

TEST(Script, extra_options_are_split_as_a_shell_would_and_quoted_again) {
  auto s = scheduler();
  s.extra =
      R"(--constraint="a&b" -x n7,n8 --comment 'it''s $HOME' --requeue -C'x y' --mail-user=a@b.c)";
  const auto text = script(s);
  EXPECT_TRUE(has_line(text, "#SBATCH --constraint='x y'")) << "the later one counts";
  EXPECT_TRUE(has_line(text, "#SBATCH --exclude='n7,n8'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --comment='its $HOME'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --requeue"));
  EXPECT_TRUE(has_line(text, "#SBATCH --mail-user='a@b.c'"));
}

TEST(Script, the_schedulers_own_words_win_over_the_defaults) {
  auto s = scheduler();
  s.extra = "--constraint=big";
  const auto text = script(s, {{"account", "other"},
                               {"constraint", "small"},
                               {"exclusive", "true"},
                               {"contiguous", "false"},
                               {"mail-type", "END,FAIL"}});
  EXPECT_TRUE(has_line(text, "#SBATCH --account='proj_1'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --constraint='big'"));
  EXPECT_TRUE(has_line(text, "#SBATCH --exclusive"));
  EXPECT_TRUE(has_line(text, "#SBATCH --mail-type='END,FAIL'"));
  EXPECT_EQ(text.find("contiguous"), std::string::npos);
  EXPECT_EQ(text.find("small"), std::string::npos);
}

TEST(Script, a_task_count_of_the_users_replaces_one_task_a_node) {
  auto s = scheduler();
  s.extra = "-n 16";
  const auto text = script(s);
  EXPECT_TRUE(has_line(text, "#SBATCH --ntasks='16'"));
  EXPECT_EQ(text.find("#SBATCH --ntasks-per-node"), std::string::npos);
}

TEST(Script, options_that_torc_manages_are_refused_with_what_to_do_instead) {
  for (const auto* extra : {"-N 4", "--output=x", "-o x", "-e x", "--error x", "-J name",
                            "--open-mode=truncate", "--wrap=ls", "--time=5", "-t5", "--mem=1G",
                            "--gres=gpu:1", "-p debug", "-G 4", "--gpus-per-task=1"}) {
    auto s = scheduler();
    s.extra = extra;
    const auto error = refusal(s);
    EXPECT_NE(error.what.find("'cpu'"), std::string::npos) << error.what;
    EXPECT_FALSE(error.remedy.empty()) << extra;
  }
  for (const auto* name : {"nodes", "partition", "time", "mem", "gres", "job-name", "output"}) {
    EXPECT_FALSE(refusal(scheduler(), {{name, "1"}}).remedy.empty()) << name;
  }
}

TEST(Script, serialized_allocations_leave_no_room_for_another_dependency) {
  auto s = scheduler();
  s.extra = "--dependency=afterok:7";
  EXPECT_TRUE(has_line(script(s), "#SBATCH --dependency='afterok:7'"));
  s.serialize_allocations = true;
  EXPECT_NE(refusal(s).what.find("serialize_allocations"), std::string::npos);
}

TEST(Script, malformed_extra_options_are_refused) {
  for (const auto* extra :
       {"stray", "--exclusive user x", "--comment='open", "--comment=\\", "-", "--", "--=x", "-Z 5",
        "--Bad=1", "-C ''", "--comment=", "--a\n#SBATCH --b", "--comment=a\x01"}) {
    auto s = scheduler();
    s.extra = extra;
    EXPECT_EQ(refusal(s).kind, ErrorKind::invalid) << extra;
  }
}

TEST(Script, bad_defaults_are_refused_by_name) {
  for (const auto& [name, value] : Defaults{{"--constraint", "x"},
                                            {"Constraint", "x"},
                                            {"", "x"},
                                            {"a b", "x"},
                                            {"comment", "a\nb"}}) {
    EXPECT_NE(refusal(scheduler(), {{name, value}}).what.find(name), std::string::npos) << name;
  }
}

TEST(Template, values_are_put_in_once_and_not_looked_at_again) {
  const auto text =
      fill_template({"t", "{{a}}-{{b}}-{{a}} ${X:-} {"}, {{"a", "{{b}}"}, {"b", "2"}});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "{{b}}-2-{{b}} ${X:-} {");
}

TEST(Template, braces_that_are_not_closed_on_their_line_are_no_placeholder) {
  const auto text = fill_template({"t", "awk '{{\nprint }}' {{a}}\n{{"}, {{"a", "1"}});
  ASSERT_TRUE(text.ok()) << text.error().text();
  EXPECT_EQ(*text, "awk '{{\nprint }}' 1\n{{");
}

TEST(Template, an_unknown_placeholder_is_told_with_file_line_and_those_there_are) {
  const auto text = fill_template({"/etc/t.sbatch", "{{store}}\n\nx {{stroe}}"},
                                  {{"store", "1"}, {"workflow", "2"}});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().kind, ErrorKind::invalid);
  EXPECT_EQ(text.error().text(),
            "/etc/t.sbatch, line 3: '{{stroe}}' is not a placeholder of batch scripts\n  did you "
            "mean {{store}}? there are {{store}}, {{workflow}}");
}

TEST(Template, text_that_is_no_batch_script_of_the_workflow_is_refused) {
  const auto refused = [](const std::string& text) {
    auto c = context();
    c.from = {"mine", text};
    return refusal(scheduler(), {}, c).what;
  };
  EXPECT_EQ(refused("echo {{directives}}\n"),
            "mine is not a batch script: its first line does not begin with '#!'");
  EXPECT_EQ(refused("#!/bin/sh\n"),
            "mine has no {{directives}}: what the workflow asks of Slurm would be dropped");
  EXPECT_EQ(refused(std::string("#!/bin/sh\n{{directives}}\0\n", 26)), "mine holds a NUL byte");
}

TEST(Template, of_a_site_is_filled_like_the_built_in_one) {
  auto c = context();
  c.from = {"mine", "#!/bin/sh\n{{directives}}\nmodule load torc\n{{torc}} worker {{store}}\n"};
  const auto text = script(scheduler(), {}, c);
  EXPECT_TRUE(has_line(text, "#SBATCH --account='proj_1'"));
  EXPECT_TRUE(has_line(text, "'/opt/torc/bin/torc' worker '/data/run 7.torc'"));
}

std::string output_of(const std::string& command) {
  std::string out;
  std::FILE* pipe =
      popen(command.c_str(), "r");  // NOLINT(cert-env33-c): the shell is what is tested
  std::array<char, 256> buffer{};
  while (const auto n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), n);
  pclose(pipe);
  return out;
}

// The environment that the script gives to its step. `variables`: its own. Slurm's programs and
// torc are stand-ins: squeue says `squeue`, the others nothing.
std::string environment_of_step(const std::string& variables, const std::string& squeue = {}) {
  namespace fs = std::filesystem;
  std::string name = (fs::temp_directory_path() / "torc-script-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  const fs::path here = name;
  const auto program = [&](const char* file, const std::string& text) {
    std::ofstream(here / file) << text;
    fs::permissions(here / file, fs::perms::owner_all);
  };
  program("torc", "#!/bin/sh\nexec env\n");  // supervise
  program("scontrol",
          "#!/bin/sh\n[ \"$(cat /proc/$PPID/comm)\" = timeout ] && [ -z \"$SLURM_CLUSTERS\" ] || "
          "exit 1\n"
          "case $* in *config) echo 'KillWait = 60 sec';; *) echo JobId=$5 Mem=9;; esac\n");
  program("squeue", "#!/bin/sh\necho '" + squeue + "'\n");
  auto c = context();
  c.torc = here / "torc";
  program("batch", script(scheduler(), {}, c));
  const std::string out =
      output_of("env -i PATH=" + name + ":/usr/bin:/bin SLURM_JOB_ID=8 SLURM_JOB_NUM_NODES=1 " +
                variables + " bash " + name + "/batch");
  fs::remove_all(here);
  return out;
}

TEST(Script, that_a_job_submits_takes_nothing_of_the_jobs_share_for_its_own) {
  const std::string job =
      "TORC_RUN_ID=9-9-9.1 TORC_NUM_CPUS=1 TORC_MEMORY_BYTES=52428800 TORC_WORKFLOW_ID=w "
      "TORC_WORKER=5 TORC_WORKER_FLAGS=--one SLURM_HOSTFILE=/proc/9/fd/9 SLURM_GRES=none "
      "SLURM_OVERLAP=1 ";
  const auto step = environment_of_step(job + "SLURM_MEM_PER_NODE=50");
  for (const auto* name :
       {"TORC_RUN_ID", "TORC_NUM_CPUS", "TORC_MEMORY_BYTES", "TORC_WORKFLOW_ID", "TORC_WORKER",
        "SLURM_HOSTFILE", "SLURM_GRES", "SLURM_OVERLAP", "SLURM_MEM_PER_NODE"})
    EXPECT_EQ(("\n" + step).find("\n" + std::string(name) + "="), std::string::npos) << step;
  EXPECT_TRUE(has_line(step, "TORC_WORKER_FLAGS=--one"));
  EXPECT_TRUE(has_line(step, "TORC_STORE=/data/run 7.torc"));
  const auto asked = environment_of_step(job + "SLURM_MEM_PER_NODE=200");
  EXPECT_TRUE(has_line(asked, "SLURM_MEM_PER_NODE=200")) << "Slurm's own: not the job's";
  const auto usual = environment_of_step("SLURM_MEM_PER_NODE=50 TORC_MEMORY_BYTES=52428800");
  EXPECT_TRUE(has_line(usual, "SLURM_MEM_PER_NODE=50")) << "no job submitted it";
}

TEST(Script, that_a_heterogeneous_job_submits_has_no_parts_of_that_one) {
  const std::string parts = "SLURM_HET_SIZE=2 SLURM_PACK_SIZE=2 SLURM_JOB_ID_HET_GROUP_1=6 ";
  const auto above = environment_of_step(parts + "SLURM_JOB_ID_HET_GROUP_0=5");
  EXPECT_EQ(above.find("_SIZE="), std::string::npos) << above;
  const auto own = environment_of_step(parts + "SLURM_JOB_ID_HET_GROUP_0=8");
  EXPECT_TRUE(has_line(own, "SLURM_HET_SIZE=2")) << own;
}

TEST(Script, waits_for_no_answer_of_Slurms_for_long) {
  EXPECT_TRUE(has_line(environment_of_step(""), "TORC_KILL_WAIT=60"));
}

// Where the user's variable names others, it would be another cluster's, or none.
TEST(Script, asks_its_own_cluster_how_it_is_configured) {
  const auto step = environment_of_step("SLURM_CLUSTERS=beta,gamma");
  EXPECT_TRUE(has_line(step, "TORC_KILL_WAIT=60")) << step;
}

TEST(Script, asks_what_memory_was_granted_where_no_variable_says_it) {
  EXPECT_TRUE(has_line(environment_of_step(""), "TORC_JOB_DETAILS=JobId=8 Mem=9"));
  for (const auto* known : {"SLURM_MEM_PER_NODE=5", "SLURM_MEM_PER_CPU=5", "SLURM_HET_SIZE=0"})
    EXPECT_EQ(environment_of_step(known).find("TORC_JOB_DETAILS"), std::string::npos) << known;
}

// Not in Slurm's variables: sbatch in a job would pass them on to the next allocation.
TEST(Script, tells_the_end_to_its_own_workers_alone) {
  const auto asked = environment_of_step("", "8 1000 2000");
  EXPECT_TRUE(has_line(asked, "TORC_ALLOCATION_START=1000")) << asked;
  EXPECT_TRUE(has_line(asked, "TORC_ALLOCATION_END=2000")) << asked;
  EXPECT_TRUE(has_line(asked, "TORC_LATEST_END=15400")) << asked;
  EXPECT_EQ(asked.find("SLURM_JOB_END_TIME"), std::string::npos) << asked;
  const auto told =
      environment_of_step("SLURM_JOB_START_TIME=3000 SLURM_JOB_END_TIME=4000", "8 1000 2000");
  EXPECT_EQ(told.find("TORC_ALLOCATION_END"), std::string::npos) << told;
  EXPECT_TRUE(has_line(told, "TORC_LATEST_END=17400")) << told;
}

// What a real shell makes of a word.
std::string through_shell(const std::string& word) {
  return output_of("printf %s " + word);
}

RC_GTEST_PROP(Quoting, a_shell_gives_back_every_text, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
  RC_ASSERT(through_shell(shell_quote(text)) == text);
}

// How sbatch 22.05 was seen to read a value: a backslash escapes also within single quotes.
std::string through_sbatch(const std::string& quoted) {
  std::string out;
  char quote = 0;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] == '\\') {
      out += quoted[++i];
    } else if (quote == 0 && (quoted[i] == '\'' || quoted[i] == '"')) {
      quote = quoted[i];
    } else if (quoted[i] == quote) {
      quote = 0;
    } else {
      out += quoted[i];
    }
  }
  return out;
}

RC_GTEST_PROP(Quoting, sbatch_gives_back_every_text, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange<char>(32, 127));
  RC_ASSERT(through_sbatch(directive_quote(text)) == text);
}

RC_GTEST_PROP(Quoting, extra_options_are_split_as_a_shell_does, ()) {
  const auto value =
      *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(32, 127)));
  const auto options =
      parse_options("--requeue --comment=" + shell_quote(value) + " -x n1", "extra");
  RC_ASSERT(options.ok());
  RC_ASSERT(options->size() == 3U);
  RC_ASSERT((*options)[1].value == value);
}

RC_GTEST_PROP(Quoting, any_extra_text_gives_options_or_an_error, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("-=aC x'\"\\\n")));
  const auto options = parse_options(text, "extra");
  if (!options.ok()) RC_ASSERT(options.error().kind == ErrorKind::invalid);
}

}  // namespace
}  // namespace torc::slurm
