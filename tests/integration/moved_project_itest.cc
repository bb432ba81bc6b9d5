// A project, its store, or both are moved or copied, and people go on.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

#define EXPECT_SAYS(ended, text) \
  EXPECT_TRUE((ended).says(text)) << "missing: " << (text) << '\n' << (ended)

constexpr const char* kFile = R"(name: wf
jobs:
  - {name: a, command: pwd >> a.txt}
  - {name: b, command: pwd >> b.txt, depends_on: [a]}
)";

class MovedProject : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    fs::create_directory(root_ / "proj");
    write_text(root_ / "proj" / "wf.yaml", kFile);
    const Ended made = run({"init", "wf.yaml", "--engine", GetParam()}, "proj");
    ASSERT_EQ(made.exit_code, 0) << made;
  }
  [[nodiscard]] Ended run(std::vector<std::string> words, const std::string& where) const {
    Launch launch = here_.torc(std::move(words));
    launch.directory = root_ / where;
    return itest::run(launch);
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::copy(root_ / from, root_ / to, fs::copy_options::recursive);
  }
  // What job a has written there: the directory in which it ran.
  [[nodiscard]] std::string ran_in(const std::string& where) const {
    return read_text(root_ / where / "a.txt");
  }
  [[nodiscard]] std::string line(const std::string& directory) const {
    return (root_ / directory).string() + "\n";
  }

  const Workplace here_;
  const Path root_ = fs::canonical(here_.path());
};

TEST_P(MovedProject, a_copy_and_its_original_each_run_their_jobs_at_home) {
  copy("proj", "proj2");
  for (const char* target : {"wf.yaml", "wf.torc"}) {
    const Ended ended = run({"run", target}, "proj2");
    EXPECT_EQ(ended.exit_code, 0) << ended;
  }
  EXPECT_EQ(ran_in("proj2"), line("proj2"));
  EXPECT_FALSE(fs::exists(root_ / "proj" / "a.txt"));
  const Ended original = run({"run", "wf.yaml"}, "proj");
  EXPECT_EQ(original.exit_code, 0) << original;
  EXPECT_EQ(ran_in("proj"), line("proj"));
  EXPECT_EQ(ran_in("proj2"), line("proj2"));
  for (const char* where : {"proj", "proj2"})
    EXPECT_EQ(run({"verify", "wf.torc"}, where).exit_code, 0) << where;
}

TEST_P(MovedProject, one_that_was_moved_works_where_it_is) {
  fs::rename(root_ / "proj", root_ / "other");
  const Ended worker = run({"worker", "wf.torc"}, "other");
  EXPECT_EQ(worker.exit_code, 0) << worker;
  EXPECT_EQ(ran_in("other"), line("other"));
  const Ended again = run({"run", "wf.yaml"}, "other");
  EXPECT_EQ(again.exit_code, 0) << again;
}

TEST_P(MovedProject, a_missing_directory_is_told_before_any_job_is_claimed) {
  fs::create_directory(root_ / "stores");
  ASSERT_EQ(run({"init", "wf.yaml", "--store", "../stores/wf.torc", "--engine", GetParam()}, "proj")
                .exit_code,
            0);
  fs::rename(root_ / "proj", root_ / "other");
  for (int i = 0; i < 7; ++i) {  // more often than a job may be stopped
    const Ended ended = run({i % 2 == 0 ? "run" : "worker", "wf.torc"}, "stores");
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_SAYS(ended, "is not there: " + (root_ / "proj").string());
    EXPECT_SAYS(ended, "--workdir DIR");
  }
  EXPECT_SAYS(run({"job", "wf.torc", "a"}, "stores"), "attempts     0");
  const Ended once = run({"run", "wf.torc", "--workdir", "../other"}, "stores");
  EXPECT_EQ(once.exit_code, 0) << once;
  EXPECT_EQ(ran_in("other"), line("other"));
}

TEST_P(MovedProject, a_store_alone_is_refused_until_it_is_told_where_jobs_run) {
  copy("proj/wf.torc", "alone.torc");
  for (const char* command : {"run", "worker", "reinit"}) {
    const Ended ended = run({command, "alone.torc"}, ".");
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_SAYS(ended, "was moved or copied without its project");
  }
  EXPECT_FALSE(fs::exists(root_ / "proj" / "a.txt"));
  fs::create_directory(root_ / "new");
  const Ended trial = run({"set", "alone.torc", "--workdir", "new", "--dry-run"}, ".");
  EXPECT_EQ(trial.exit_code, 0) << trial;
  EXPECT_EQ(run({"run", "alone.torc"}, ".").exit_code, 4);
  const Ended set = run({"set", "alone.torc", "--workdir", "new"}, ".");
  EXPECT_EQ(set.exit_code, 0) << set;
  EXPECT_SAYS(set, "jobs run in " + (root_ / "new").string());
  const Ended ended = run({"run", "alone.torc"}, ".");
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ran_in("new"), line("new"));
}

TEST_P(MovedProject, another_directory_is_recorded_when_the_store_is_made) {
  fs::create_directory(root_ / "data");
  const Ended made =
      run({"init", "wf.yaml", "--store", "w.torc", "--workdir", "../data", "--engine", GetParam()},
          "proj");
  ASSERT_EQ(made.exit_code, 0) << made;
  const Ended ended = run({"run", "w.torc"}, "proj");
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(ran_in("data"), line("data"));
  const Ended wrong = run({"init", "wf.yaml", "--store", "x.torc", "--workdir", "nowhere"}, "proj");
  EXPECT_EQ(wrong.exit_code, 2) << wrong;
  EXPECT_SAYS(wrong, "--workdir nowhere is not a directory");
  EXPECT_FALSE(fs::exists(root_ / "proj" / "x.torc"));
}

// The copy's workers are not to go to the original.
TEST_P(MovedProject, the_batch_scripts_of_a_copy_are_mended) {
  if (std::string(GetParam()) != "journal") GTEST_SKIP() << "batch scripts are for many hosts";
  write_text(
      root_ / "proj" / "s.yaml",
      std::string("slurm_schedulers: [{name: big, account: x, walltime: '01:00:00'}]\n") + kFile);
  ASSERT_EQ(run({"init", "s.yaml", "--store", "s.torc", "--engine", "journal"}, "proj").exit_code,
            0);
  copy("proj", "proj2");
  const Path script = root_ / "proj2/s.torc/slurm/big.sbatch";
  const std::string original = (root_ / "proj/s.torc").string();
  EXPECT_NE(read_text(script).find(original), std::string::npos);
  const Ended set = run({"set", "s.torc", "--workdir", "."}, "proj2");
  EXPECT_EQ(set.exit_code, 0) << set;
  EXPECT_SAYS(set, "its batch scripts start workers here now");
  EXPECT_EQ(read_text(script).find(original + "/"), std::string::npos) << read_text(script);
  EXPECT_NE(read_text(script).find((root_ / "proj2/s.torc").string()), std::string::npos);
  EXPECT_NE(read_text(root_ / "proj/s.torc/slurm/big.sbatch").find(original), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Engines, MovedProject, testing::Values("lmdb", "journal"));

}  // namespace
}  // namespace torc::itest
