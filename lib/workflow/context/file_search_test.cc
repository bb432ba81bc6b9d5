// Files by the pattern of their paths, on a real disk.
#include "lib/workflow/context/file_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
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
    SearchRoom room;
    auto found = find_files(disk_, directory_, pattern, room);
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

TEST_F(FileSearch, all_patterns_together_look_at_so_many_names_and_no_more) {
  SearchRoom room{7, 1000};
  EXPECT_TRUE(find_files(disk_, directory_, "in/*", room).ok());  // four names
  const auto more = find_files(disk_, directory_, "in/*", room);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().kind, ErrorKind::invalid);
  EXPECT_EQ(more.error().remedy, "name the directories");
  EXPECT_FALSE(find_files(disk_, directory_, "r1/*", room).ok()) << "nothing is left";
}

// Of what cannot be listed nobody knows what is in it.
TEST_F(FileSearch, what_cannot_be_looked_at_is_an_error_and_not_empty) {
  struct Denying : store::PosixDisk {
    Result<std::vector<std::string>> list(const Path& directory) override {
      if (directory.filename() == denied) return os_error(EACCES, "no", "");
      return PosixDisk::list(directory);
    }
    Result<store::FileStatus> status(const Path& path) override {
      if (path.filename() == denied) return os_error(EIO, "no", "");
      return PosixDisk::status(path);
    }
    std::string denied;
  } disk;
  SearchRoom room;
  disk.denied = "r2";
  const auto found = find_files(disk, directory_, "r?/*", room);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().text().find("r2"), std::string::npos) << found.error().text();
  disk.denied = "b.nc";
  EXPECT_FALSE(find_files(disk, directory_, "in/*.nc", room).ok());
  disk.denied = "none";
  EXPECT_TRUE(find_files(disk, directory_, "in/*.nc", room).ok());
}

// Each step would copy all that was before it.
TEST_F(FileSearch, a_pattern_of_a_million_directories_ends_soon) {
  std::string pattern;
  for (int i = 0; i < 500'000; ++i) pattern += "a/";
  SearchRoom room;
  EXPECT_FALSE(find_files(disk_, directory_, pattern, room).ok());
}

}  // namespace
}  // namespace torc::workflow
