#include "lib/workflow/context/file_fingerprints.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

class FileFingerprints : public ::testing::Test {
 protected:
  FileFingerprints() {
    std::string made = (fs::temp_directory_path() / "fingerprints_XXXXXX").string();
    directory = ::mkdtemp(made.data());
  }
  ~FileFingerprints() override { fs::remove_all(directory); }
  [[nodiscard]] claim::FileFingerprint of(const std::string& name, Sums sums = Sums::yes) const {
    const auto seen = fingerprints_of(directory, {name}, sums);
    EXPECT_TRUE(seen.ok()) << seen.error().text();
    return seen.ok() ? seen->at(0) : claim::FileFingerprint{};
  }

  fs::path directory;
};

// As a job, or somebody else, may have set it: in nanoseconds it is beyond 64 bits.
TEST_F(FileFingerprints, a_time_far_ahead_stays_ahead) {
  std::ofstream(directory / "far") << "x";
  const timespec times[] = {{12'000'000'000, 0}, {12'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory / "far").c_str(), times, 0), 0);
  EXPECT_GT(of("far", Sums::no).mtime, 0);
}

TEST_F(FileFingerprints, of_equal_content_have_one_sum) {
  std::ofstream(directory / "a") << "content";
  std::ofstream(directory / "b") << "content";
  std::ofstream(directory / "c") << "Content";
  EXPECT_NE(of("a").sum, 0U);
  EXPECT_EQ(of("a").sum, of("b").sum);
  EXPECT_NE(of("a").sum, of("c").sum);
  EXPECT_EQ(of("a", Sums::no).sum, 0U);
}

// It says that it is empty, and goes on for 2^47 bytes.
TEST_F(FileFingerprints, what_is_longer_than_it_says_is_not_read_to_its_end) {
  fs::create_symlink("/proc/self/pagemap", directory / "endless");
  const claim::FileFingerprint seen = of("endless");
  EXPECT_TRUE(seen.exists);
  EXPECT_EQ(seen.sum, 0U);
}

// Who writes to it would find its reader gone.
TEST_F(FileFingerprints, nothing_but_a_file_is_opened) {
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int watch = ::inotify_init1(IN_NONBLOCK);
  ASSERT_GE(::inotify_add_watch(watch, fifo.c_str(), IN_OPEN), 0);
  EXPECT_TRUE(of("fifo").exists);
  inotify_event event{};
  EXPECT_EQ(::read(watch, &event, sizeof event), -1) << "it was opened";
  ::close(watch);
}

// No file can have these names, so it is no failure to look.
TEST_F(FileFingerprints, links_in_a_circle_and_names_that_are_too_long_are_not_there) {
  fs::create_symlink("b", directory / "a");
  fs::create_symlink("a", directory / "b");
  EXPECT_FALSE(of("a").exists);
  EXPECT_FALSE(of(std::string(256, 'x')).exists);
}

}  // namespace
}  // namespace torc::workflow
