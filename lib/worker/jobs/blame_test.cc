#include "lib/worker/jobs/blame.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace torc::worker {
namespace {

constexpr const char* kRoot = "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
constexpr const char* kWithScratch =
    "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "40 21 0:50 / /scratch rw - lustre mds@tcp:/x rw\n";

exec::Ended not_started(exec::StartStep step, int os_errno) {
  exec::Ended ended;
  ended.how = exec::Ending::not_started;
  ended.failed_at = step;
  ended.os_errno = os_errno;
  return ended;
}

TEST(BlameForAStart, of_a_mount_that_answers_with_errors_is_unknown_whatever_could_not_be_done) {
  for (const int error : {ENOTCONN, EIO, ESTALE, ESHUTDOWN, ENODEV, ETIMEDOUT}) {
    for (const auto step : {exec::StartStep::directory, exec::StartStep::stdout_file,
                            exec::StartStep::stderr_file, exec::StartStep::execute}) {
      EXPECT_EQ(blame_for(not_started(step, error), {"/scratch/a"}, kRoot, kRoot), Blame::unknown)
          << error;
    }
  }
}

TEST(BlameForAStart, a_directory_is_missing_only_while_its_mount_is_there) {
  const auto missing = not_started(exec::StartStep::directory, ENOENT);
  EXPECT_EQ(blame_for(missing, {"/scratch/a"}, kWithScratch, kRoot), Blame::unknown);
  EXPECT_EQ(blame_for(missing, {"/scratch/a"}, kWithScratch, kWithScratch), Blame::workflow);
  EXPECT_EQ(blame_for(missing, {"/home/a"}, kWithScratch, kRoot), Blame::workflow);
}

TEST(BlameForAStart, a_program_is_missing_only_while_its_mount_is_there) {
  const auto missing = not_started(exec::StartStep::execute, ENOENT);
  EXPECT_EQ(blame_for(missing, {"/usr/bin", "/scratch/bin"}, kWithScratch, kRoot), Blame::unknown);
  EXPECT_EQ(blame_for(missing, {"/usr/bin"}, kWithScratch, kRoot), Blame::job);
}

TEST(BlameForAStart, nothing_lies_on_the_directory_of_an_automounter) {
  const std::string automounted = std::string(kRoot) + "41 21 0:51 / /sw rw - autofs auto.sw rw\n";
  const auto missing = not_started(exec::StartStep::execute, ENOENT);
  EXPECT_EQ(blame_for(missing, {"/sw/tool/x"}, automounted, automounted), Blame::unknown);
  EXPECT_EQ(blame_for(missing, {"/usr/x"}, automounted, automounted), Blame::job);
}

TEST(BlameForAStart, symbolic_links_lead_to_the_mount_that_is_gone) {
  std::string name = (std::filesystem::temp_directory_path() / "torc-fault-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  std::filesystem::create_directory_symlink("/scratch", name + "/runs");
  const auto missing = not_started(exec::StartStep::directory, ENOENT);
  EXPECT_EQ(blame_for(missing, {name + "/runs/run1/x"}, kWithScratch, kRoot), Blame::unknown);
  EXPECT_EQ(blame_for(missing, {name + "/home/run1/x"}, kWithScratch, kRoot), Blame::workflow);
  std::filesystem::remove_all(name);
}

TEST(BlameForAStart,
     a_full_disk_and_a_bad_directory_are_the_node_s_and_a_bad_program_is_the_job_s) {
  EXPECT_EQ(blame_for(not_started(exec::StartStep::execute, ENOSPC), {}, kRoot, kRoot),
            Blame::node);
  EXPECT_EQ(blame_for(not_started(exec::StartStep::directory, EACCES), {}, kRoot, kRoot),
            Blame::node);
  EXPECT_EQ(blame_for(not_started(exec::StartStep::execute, EACCES), {}, kRoot, kRoot), Blame::job);
}

}  // namespace
}  // namespace torc::worker
