// Files by the pattern of their paths, on a real disk.
#include "lib/workflow/context/file_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

class FileSearch : public testing::Test {
 protected:
  FileSearch() {
    std::string made = (fs::temp_directory_path() / "file_search_XXXXXX").string();
    directory_ = mkdtemp(made.data());
    for (const char* file : {"in/a.nc", "in/b.nc", "in/.c.nc", "in/d.txt", "r1/x.nc", "r2/x.nc"}) {
      fs::create_directories((directory_ / file).parent_path());
      std::ofstream(directory_ / file) << file;
    }
  }
  ~FileSearch() override { fs::remove_all(directory_); }

  Paths find(const std::string& pattern) {
    auto found = find_files(disk_, directory_, pattern);
    EXPECT_TRUE(found.ok());
    std::ranges::sort(*found);
    return *std::move(found);
  }

  store::PosixDisk disk_;
  fs::path directory_;
};

TEST_F(FileSearch, gives_paths_as_the_pattern_has_them) {
  EXPECT_EQ(find("in/*.nc"), (Paths{"in/a.nc", "in/b.nc"}));
  EXPECT_EQ(find("r?/x.nc"), (Paths{"r1/x.nc", "r2/x.nc"}));
  EXPECT_EQ(find("r[2-9]/*"), (Paths{"r2/x.nc"}));
  EXPECT_EQ(find("in/d.txt"), (Paths{"in/d.txt"}));
  const std::string top = directory_.string();
  EXPECT_EQ(find(top + "/in/?.nc"), (Paths{top + "/in/a.nc", top + "/in/b.nc"}));
}

TEST_F(FileSearch, finds_no_directories_and_nothing_hidden) {
  EXPECT_EQ(find("*"), Paths{});
  EXPECT_EQ(find("in/.*.nc"), (Paths{"in/.c.nc"}));
  EXPECT_EQ(find("in"), Paths{});
  EXPECT_EQ(find(""), Paths{});
  EXPECT_EQ(find("none/*"), Paths{});
  EXPECT_EQ(find("in/a.nc/*"), Paths{});
}

}  // namespace
}  // namespace torc::workflow
