#include "lib/report/file_count.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace torc::report {
namespace {

TEST(FileCount, counts_files_below_a_directory_and_no_links_and_directories) {
  std::string place = testing::TempDir() + "torc-files-XXXXXX";
  ASSERT_NE(mkdtemp(place.data()), nullptr);
  const Path here(place);
  std::filesystem::create_directories(here / "a/b");
  for (const char* name : {"one", "a/two", "a/b/three"}) std::ofstream(here / name) << "x";
  std::filesystem::create_symlink("one", here / "link");
  std::filesystem::create_directory_symlink("a", here / "again");
  EXPECT_EQ(count_files(here, 3).files, 3U);
  EXPECT_TRUE(count_files(here, 3).is_all);
  EXPECT_EQ(count_files(here, 2).files, 2U);
  EXPECT_FALSE(count_files(here, 2).is_all);
  EXPECT_EQ(count_files(here / "nothing", 2).files, 0U);
  std::filesystem::remove_all(here);
}

}  // namespace
}  // namespace torc::report
