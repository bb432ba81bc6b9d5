// Which of several templates of batch scripts is taken.
#include "lib/workflow/plan/script_template.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "lib/store/disk/disk.h"

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

class FindTemplate : public testing::Test {
 protected:
  FindTemplate() {
    std::string pattern = (fs::temp_directory_path() / "torc-template-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    context_.directory = root_ / "here";
    context_.program = root_ / "opt" / "bin" / "torc";
    write("opt/bin/torc", "");
    fs::create_directories(root_ / "here");
    env_["HOME"] = (root_ / "home").string();
  }
  ~FindTemplate() override { fs::remove_all(root_); }

  Path write(const std::string& name, const std::string& text) const {
    const Path file = root_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  // The file that was taken, by its name below the root; "": the built-in one.
  std::string found(const std::string& named = "") const {
    const auto found = find_template(context_, named);
    if (!found.ok()) return "error: " + found.error().text();
    return found->file.empty() ? "" : found->file.lexically_relative(root_).string();
  }
  Error error(const std::string& named = "") const {
    auto found = find_template(context_, named);
    return found.ok() ? Error{ErrorKind::io, "no error", ""} : std::move(found).error();
  }

  Path root_;
  std::map<std::string, std::string, std::less<>> env_;
  SystemClock clock_;
  store::PosixDisk disk_;
  SeededEntropy entropy_{1};
  store::World world_{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}};
  Context context_{clock_, world_, world_,
                   [this](std::string_view name) -> std::optional<std::string> {
                     const auto it = env_.find(name);
                     if (it == env_.end()) return std::nullopt;
                     return it->second;
                   }};
};

TEST_F(FindTemplate, the_users_own_comes_before_the_sites_and_that_before_the_programs) {
  EXPECT_EQ(found(), "");
  write("opt/share/torc/templates/worker.sbatch", "site");
  EXPECT_EQ(found(), "opt/share/torc/templates/worker.sbatch");
  write("home/.config/torc/templates/worker.sbatch", "user");
  EXPECT_EQ(found(), "home/.config/torc/templates/worker.sbatch");
  env_["XDG_CONFIG_HOME"] = (root_ / "xdg").string();
  EXPECT_EQ(found(), "opt/share/torc/templates/worker.sbatch");
  write("xdg/torc/templates/worker.sbatch", "user");
  EXPECT_EQ(found(), "xdg/torc/templates/worker.sbatch");
  EXPECT_EQ(found("worker"), "xdg/torc/templates/worker.sbatch");
}

TEST_F(FindTemplate, a_configuration_directory_that_is_not_absolute_is_none) {
  write("here/xdg/torc/templates/worker.sbatch", "user");
  env_["XDG_CONFIG_HOME"] = "xdg";
  EXPECT_EQ(found(), "");
}

TEST_F(FindTemplate, one_that_says_what_the_built_in_one_says_is_that_one) {
  write("opt/share/torc/templates/worker.sbatch", slurm::built_in_template().text);
  EXPECT_EQ(found(), "");
}

TEST_F(FindTemplate, a_name_is_looked_for_where_templates_are_and_a_file_where_the_user_is) {
  write("opt/share/torc/templates/gpu.sbatch", "site");
  write("here/gpu", "mine");
  write("here/mine.sbatch", "mine");
  EXPECT_EQ(found("gpu"), "opt/share/torc/templates/gpu.sbatch");
  EXPECT_EQ(found("./gpu"), "here/gpu");
  EXPECT_EQ(found("mine.sbatch"), "here/mine.sbatch");
  EXPECT_EQ(found((root_ / "here/gpu").string()), "here/gpu");
}

TEST_F(FindTemplate, of_a_name_that_nobody_has_those_there_are_are_told) {
  const Path site = write("opt/share/torc/templates/gpu.sbatch", "site");
  write("opt/share/torc/templates/README", "");
  const Path own = write("home/.config/torc/templates/big.sbatch", "user");
  const Error e = error("gpus");
  EXPECT_EQ(e.kind, ErrorKind::invalid);
  EXPECT_EQ(e.text(),
            "there is no template 'gpus' of batch scripts\n  there are worker (built in), big (" +
                own.string() + "), gpu (" + site.string() +
                "); a file is named with its directory: ./gpus");
  EXPECT_EQ(error("./gpus").what, "there is no file './gpus'");
}

TEST_F(FindTemplate, what_is_there_and_cannot_be_used_is_told_and_not_passed_over) {
  write("opt/share/torc/templates/worker.sbatch", "site");
  fs::create_directories(root_ / "home/.config/torc/templates/worker.sbatch");
  EXPECT_EQ(error().kind, ErrorKind::invalid);
  EXPECT_NE(error().what.find("is a directory, not a regular file"), std::string::npos)
      << error().what;
}

TEST_F(FindTemplate, devices_and_pipes_are_refused_without_waiting) {
  EXPECT_NE(error("/dev/zero").what.find("is a device, not a regular file"), std::string::npos);
  const Path fifo = root_ / "here/fifo.sbatch";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(error("fifo.sbatch").kind, ErrorKind::invalid);
}

TEST_F(FindTemplate, more_than_a_script_can_be_is_not_read) {
  write("here/long.sbatch", std::string((1 << 20) + 1, 'x'));
  EXPECT_NE(error("long.sbatch").what.find("is longer than a batch script may be"),
            std::string::npos);
  write("here/most.sbatch", std::string(1 << 20, 'x'));
  EXPECT_EQ(found("most.sbatch"), "here/most.sbatch");
}

TEST_F(FindTemplate, another_users_is_taken_only_when_it_is_named) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
  const Path site = write("opt/share/torc/templates/worker.sbatch", "site");
  ASSERT_EQ(::chown(site.c_str(), 4711, 4711), 0);
  EXPECT_EQ(error().kind, ErrorKind::permission);
  EXPECT_NE(error().what.find("belongs to user 4711"), std::string::npos) << error().what;
  EXPECT_EQ(found(site.string()), "opt/share/torc/templates/worker.sbatch");
  // Whoever installed the program installed its templates.
  ASSERT_EQ(::chown(context_.program.c_str(), 4711, 4711), 0);
  EXPECT_EQ(found(), "opt/share/torc/templates/worker.sbatch");
}

}  // namespace
}  // namespace torc::workflow
