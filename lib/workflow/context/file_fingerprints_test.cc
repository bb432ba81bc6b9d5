#include "lib/workflow/context/file_fingerprints.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

// As a job, or somebody else, may have set it: in nanoseconds it is beyond 64 bits.
TEST(FileFingerprints, a_time_far_ahead_stays_ahead) {
  std::string made = (fs::temp_directory_path() / "fingerprints_XXXXXX").string();
  const fs::path directory = ::mkdtemp(made.data());
  std::ofstream(directory / "far") << "x";
  const timespec times[] = {{12'000'000'000, 0}, {12'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (directory / "far").c_str(), times, 0), 0);
  const auto seen = fingerprints_of(directory, {"far"}, Sums::no);
  ASSERT_TRUE(seen.ok());
  EXPECT_GT(seen->at(0).mtime, 0);
  fs::remove_all(directory);
}

}  // namespace
}  // namespace torc::workflow
