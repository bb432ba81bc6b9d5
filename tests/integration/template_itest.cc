// Batch scripts from templates of the site and the user.
#include <gtest/gtest.h>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

constexpr const char* kBatch =
    "name: wf\nslurm_schedulers:\n  - {name: cpu, account: proj, walltime: \"01:00:00\"}\n"
    "jobs:\n  - {name: only, command: \"true\", scheduler: cpu}\n";
constexpr const char* kMine =
    "#!/bin/bash\n{{directives}}\nmodule load site\nexec {{torc}} worker {{store}}\n";

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

class SiteTemplate : public testing::Test {
 protected:
  SiteTemplate() {
    here_.write("wf.yaml", kBatch);
    std::filesystem::create_directories(here_.path() / "config/torc/templates");
  }
  [[nodiscard]] Ended torc(std::vector<std::string> arguments) const {
    Launch launch = here_.torc(std::move(arguments));
    launch.env["XDG_CONFIG_HOME"] = here_.path() / "config";
    return run(launch);
  }
  [[nodiscard]] std::string script(const std::string& store) const {
    return read_text(here_.path() / store / "slurm/cpu.sbatch");
  }

  Workplace here_;
};

TEST_F(SiteTemplate, of_the_user_makes_the_scripts_and_is_told) {
  const Ended built_in = torc({"init", "wf.yaml", "--store", "a.torc"});
  ASSERT_EQ(built_in.exit_code, 0) << built_in;
  EXPECT_FALSE(built_in.says("its batch scripts are made of")) << built_in;
  here_.write("config/torc/templates/worker.sbatch", kMine);
  const Ended own = torc({"init", "wf.yaml", "--store", "b.torc"});
  ASSERT_EQ(own.exit_code, 0) << own;
  EXPECT_SAYS(own, "its batch scripts are made of config/torc/templates/worker.sbatch\n");
  EXPECT_NE(script("b.torc").find("\nmodule load site\nexec '"), std::string::npos)
      << script("b.torc");
  EXPECT_NE(script("b.torc").find("#SBATCH --account='proj'\n"), std::string::npos);
  // A store that `torc run` makes has the same scripts.
  here_.write("local.yaml",
              std::string(kBatch).replace(std::string(kBatch).find(", scheduler"), 16, ""));
  ASSERT_EQ(torc({"run", "local.yaml", "--store", "c.torc", "-q"}).exit_code, 0);
  EXPECT_NE(script("c.torc").find("module load site"), std::string::npos);
}

TEST_F(SiteTemplate, that_is_named_is_taken_instead) {
  here_.write("config/torc/templates/worker.sbatch", kMine);
  here_.write("other.sbatch", std::string(kMine) + "# other\n");
  const Ended made = torc({"init", "wf.yaml", "--template", "other.sbatch"});
  ASSERT_EQ(made.exit_code, 0) << made;
  EXPECT_SAYS(made, "its batch scripts are made of other.sbatch\n");
  EXPECT_NE(script("wf.torc").find("# other\n"), std::string::npos);
}

TEST_F(SiteTemplate, with_a_mistake_is_told_with_its_line_and_no_store_is_made) {
  here_.write("config/torc/templates/worker.sbatch", std::string(kMine) + "echo {{walltime}}\n");
  const Ended refused = torc({"init", "wf.yaml"});
  EXPECT_EQ(refused.exit_code, 2) << refused;
  EXPECT_SAYS(refused,
              "worker.sbatch, line 5: '{{walltime}}' is not a placeholder of batch scripts");
  EXPECT_SAYS(refused,
              "there are {{directives}}, {{workflow}}, {{scheduler_name}}, {{store}}, {{torc}}, "
              "{{scheduler}}, {{mpi}}, {{supervise_flags}}, {{worker_log}}, "
              "{{walltime_seconds}}");
  EXPECT_FALSE(std::filesystem::exists(here_.path() / "wf.torc"));
  const Ended missing = torc({"init", "wf.yaml", "--template", "gpu"});
  EXPECT_EQ(missing.exit_code, 2) << missing;
  EXPECT_SAYS(missing, "there is no template 'gpu'");
}

TEST_F(SiteTemplate, without_a_scheduler_is_not_used_and_that_is_noted) {
  here_.write("config/torc/templates/worker.sbatch", "no template at all");
  here_.write("plain.yaml", "name: plain\njobs:\n  - {name: only, command: \"true\"}\n");
  EXPECT_EQ(torc({"init", "plain.yaml"}).exit_code, 0);
  const Ended named = torc({"init", "plain.yaml", "--store", "b.torc", "--template", "gpu"});
  EXPECT_EQ(named.exit_code, 0) << named;
  EXPECT_SAYS(named,
              "torc: note: the workflow has no slurm_schedulers: no batch script was made of "
              "--template gpu");
}

}  // namespace
}  // namespace torc::itest
