// Where the jobs of a store run after it, its project, or both were moved or copied.
#include "lib/workflow/plan/working_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/base/codec.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

class Project : public testing::Test {
 protected:
  Project() {
    std::string pattern = (fs::temp_directory_path() / "torc-project-XXXXXX").string();
    root_ = fs::canonical(::mkdtemp(pattern.data()));
    make("proj/wf.torc");
    std::ofstream(root_ / "proj/wf.yaml") << "name: wf";
  }
  ~Project() override { fs::remove_all(root_); }

  void make(const std::string& directory) const { fs::create_directories(root_ / directory); }
  void move(const std::string& from, const std::string& to) const {
    fs::rename(root_ / from, root_ / to);
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::copy(root_ / from, root_ / to,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  [[nodiscard]] WorkingDirectory record(const std::string& store = "proj/wf.torc",
                                        const std::string& file = "proj/wf.yaml") const {
    return record_directory(root_ / "proj", root_ / store, root_ / file);
  }
  // Below the root; "error: …".
  [[nodiscard]] std::string found(const WorkingDirectory& recorded,
                                  const std::string& store) const {
    const auto found = find_working_directory(recorded, root_ / store);
    if (!found.ok()) return "error: " + found.error().text();
    return found->lexically_relative(root_).string();
  }
  static void expect_says(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  Path root_;
};

TEST_F(Project, jobs_run_where_the_store_was_made) {
  EXPECT_EQ(found(record(), "proj/wf.torc"), "proj");
}

TEST_F(Project, one_that_was_moved_runs_them_where_it_is) {
  const WorkingDirectory recorded = record();
  move("proj", "other");
  EXPECT_EQ(found(recorded, "other/wf.torc"), "other");
}

TEST_F(Project, a_copy_runs_them_in_the_copy_and_its_original_in_the_original) {
  const WorkingDirectory recorded = record();
  copy("proj", "proj2");
  EXPECT_EQ(found(recorded, "proj2/wf.torc"), "proj2");
  EXPECT_EQ(found(recorded, "proj/wf.torc"), "proj");
  move("proj", "kept");
  EXPECT_EQ(found(recorded, "proj2/wf.torc"), "proj2");
  EXPECT_EQ(found(recorded, "kept/wf.torc"), "kept");
}

TEST_F(Project, one_whose_workflow_file_was_renamed_can_be_moved_all_the_same) {
  const WorkingDirectory recorded = record();
  move("proj/wf.yaml", "proj/night.yaml");
  EXPECT_EQ(found(recorded, "proj/wf.torc"), "proj");
  move("proj", "other");
  EXPECT_EQ(found(recorded, "other/wf.torc"), "other");
}

TEST_F(Project, a_store_without_its_project_has_no_directory) {
  const WorkingDirectory recorded = record();
  make("backup");
  copy("proj/wf.torc", "backup/wf.torc");
  const std::string error = found(recorded, "backup/wf.torc");
  expect_says(error, "error: ");
  expect_says(error, (root_ / "backup").string() + " has no wf.yaml");
  expect_says(error, "its jobs ran in " + (root_ / "proj").string());
  expect_says(error, "--workdir DIR");
}

TEST_F(Project, links_to_the_project_or_to_the_store_change_nothing) {
  const WorkingDirectory recorded = record();
  fs::create_directory_symlink(root_ / "proj", root_ / "link");
  EXPECT_EQ(found(recorded, "link/wf.torc"), "proj");
  // The store is moved to where there is room, and reached by its old name.
  make("scratch");
  move("proj/wf.torc", "scratch/night");
  fs::create_directory_symlink(root_ / "scratch/night", root_ / "proj/wf.torc");
  EXPECT_EQ(found(recorded, "proj/wf.torc"), "proj");
  EXPECT_EQ(found(recorded, "scratch/night"), "proj");
}

TEST_F(Project, the_recorded_directory_is_told_by_its_own_name) {
  const WorkingDirectory recorded = record();
  move("proj/wf.torc", "proj/again.torc");
  EXPECT_EQ(found(recorded, "proj/again.torc"), "proj");
}

TEST_F(Project, deeper_in_it_a_store_is_moved_with_it_too) {
  make("proj/stores/wf.torc");
  const WorkingDirectory recorded = record("proj/stores/wf.torc");
  copy("proj", "proj2");
  EXPECT_EQ(found(recorded, "proj2/stores/wf.torc"), "proj2");
}

TEST_F(Project, without_a_workflow_file_the_store_lies_as_it_lay) {
  make("proj/.torc-exec/1");
  const WorkingDirectory recorded = record("proj/.torc-exec/1", "proj/none");
  EXPECT_EQ(recorded.file, "");
  copy("proj", "proj2");
  EXPECT_EQ(found(recorded, "proj2/.torc-exec/1"), "proj2");
  make("backup");
  copy("proj/.torc-exec/1", "backup/1");
  expect_says(found(recorded, "backup/1"), "does not hold it as that did");
}

TEST_F(Project, a_store_elsewhere_keeps_its_directory_until_that_is_gone) {
  make("scratch/wf.torc");
  const WorkingDirectory recorded = record("scratch/wf.torc");
  EXPECT_EQ(found(recorded, "scratch/wf.torc"), "proj");
  make("far/away");
  copy("scratch/wf.torc", "far/away/wf.torc");
  EXPECT_EQ(found(recorded, "far/away/wf.torc"), "proj");
  move("proj", "gone");
  const std::string error = found(recorded, "scratch/wf.torc");
  expect_says(error, "is not there: " + (root_ / "proj").string());
  expect_says(error, "--workdir DIR");
  expect_says(found(recorded, "far/away/wf.torc"), "is not there: " + (root_ / "proj").string());
}

TEST_F(Project, beside_its_store_it_is_moved_and_copied_together_with_it) {
  make("top/stores/wf.torc");
  make("top/run");
  std::ofstream(root_ / "top/run/wf.yaml") << "name: wf";
  const auto recorded =
      record_directory(root_ / "top/run", root_ / "top/stores/wf.torc", root_ / "top/run/wf.yaml");
  copy("top", "top2");
  EXPECT_EQ(found(recorded, "top2/stores/wf.torc"), "top2/run");
  EXPECT_EQ(found(recorded, "top/stores/wf.torc"), "top/run");
}

TEST_F(Project, a_file_is_no_directory) {
  const WorkingDirectory recorded{root_ / "proj/wf.yaml"};
  expect_says(found(recorded, "proj/wf.torc"), "is not a directory: ");
}

TEST_F(Project, for_who_only_looks_there_is_always_one) {
  const WorkingDirectory recorded = record();
  make("backup");
  copy("proj/wf.torc", "backup/wf.torc");
  EXPECT_EQ(likely_working_directory(recorded, root_ / "backup/wf.torc"), root_ / "proj");
}

// --- as the store has it ---

TEST_F(Project, is_read_as_it_was_written) {
  WorkflowSettings settings;
  settings.directory = record();
  settings.sums = Sums::yes;
  const auto read = decode_workflow_settings(encode(settings));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->directory.path, root_ / "proj");
  EXPECT_EQ(read->directory.store, root_ / "proj/wf.torc");
  EXPECT_EQ(read->directory.file, "wf.yaml");
  EXPECT_NE(read->directory.inode, 0U);
  EXPECT_EQ(read->sums, Sums::yes);
}

TEST_F(Project, of_an_older_store_is_the_recorded_one_wherever_the_store_is) {
  const std::string bytes = Encoder()
                                .u8(2)
                                .text((root_ / "proj").string())
                                .text(spec::encode(spec::RunSettings{}))
                                .u8(1)
                                .bytes();
  const auto read = decode_workflow_settings(bytes);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->directory.path, root_ / "proj");
  EXPECT_EQ(read->directory.store, "");
  EXPECT_EQ(read->sums, Sums::yes);
  copy("proj", "proj2");
  EXPECT_EQ(found(read->directory, "proj2/wf.torc"), "proj");
  move("proj", "other");
  expect_says(found(read->directory, "other/wf.torc"), "is not there: ");
  EXPECT_FALSE(decode_workflow_settings(bytes + "x").ok()) << "half of what follows";
}

}  // namespace
}  // namespace torc::workflow
