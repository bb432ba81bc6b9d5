#include "lib/base/file/new_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace torc {
namespace {

namespace fs = std::filesystem;

class NewDirectories : public ::testing::Test {
 protected:
  NewDirectories() {
    std::string name = (fs::temp_directory_path() / "torc-new-directory-XXXXXX").string();
    top_ = ::mkdtemp(name.data());
    fs::create_directories(top_ / "victim");
    std::ofstream(top_ / "victim" / "spec.yaml") << "mine";
  }
  ~NewDirectories() override { fs::remove_all(top_); }

  static std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path top_;
};

TEST_F(NewDirectories, files_are_made_in_one_that_is_new_or_empty) {
  fs::create_directories(top_ / "empty");
  fs::create_directory_symlink("empty", top_ / "link");
  for (const fs::path& path : {top_ / "a" / "b", top_ / "link"}) {
    const auto made = NewDirectory::make(path);
    ASSERT_TRUE(made.ok()) << made.error().what;
    const auto file = made->create("f");
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(write_at(*file, "1234", 0, path).ok());
    EXPECT_TRUE(write_at(*file, "x", 2, path).ok());
    EXPECT_EQ(text_of(path / "f"), "12x4");
  }
}

TEST_F(NewDirectories, what_is_no_empty_directory_is_refused_with_a_remedy) {
  std::ofstream(top_ / "file") << "x";
  ASSERT_EQ(::mkfifo((top_ / "fifo").c_str(), 0600), 0);
  fs::create_symlink("nowhere", top_ / "dangling");
  for (const char* name : {"victim", "file", "fifo", "dangling", "file/below"}) {
    const auto made = NewDirectory::make(top_ / name);
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_EQ(made.error().remedy, "name a new directory") << name;
  }
}

// Whoever owns it, or the directory above it, may do so between any two files.
TEST_F(NewDirectories, one_that_is_exchanged_for_a_link_is_still_the_one_that_is_written_to) {
  const auto made = NewDirectory::make(top_ / "crate");
  ASSERT_TRUE(made.ok());
  fs::rename(top_ / "crate", top_ / "away");
  fs::create_directory_symlink("victim", top_ / "crate");
  const auto file = made->create("spec.yaml");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(write_at(*file, "theirs", 0, "f").ok());
  EXPECT_EQ(text_of(top_ / "victim" / "spec.yaml"), "mine");
  EXPECT_EQ(text_of(top_ / "away" / "spec.yaml"), "theirs");
}

TEST_F(NewDirectories, what_somebody_puts_below_a_name_is_not_written_through) {
  const auto made = NewDirectory::make(top_ / "crate");
  ASSERT_TRUE(made.ok());
  fs::create_symlink(top_ / "victim" / "spec.yaml", top_ / "crate" / "spec.yaml");
  fs::create_hard_link(top_ / "victim" / "spec.yaml", top_ / "crate" / "other");
  for (const char* name : {"spec.yaml", "other"}) {
    const auto file = made->create(name);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(write_at(*file, "theirs", 0, name).ok());
  }
  EXPECT_EQ(text_of(top_ / "victim" / "spec.yaml"), "mine");
}

}  // namespace
}  // namespace torc
