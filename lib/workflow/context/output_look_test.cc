#include "lib/workflow/context/output_look.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

class OutputsOfJob : public ::testing::Test {
 protected:
  OutputsOfJob() {
    std::string made = (fs::temp_directory_path() / "outputs_XXXXXX").string();
    directory_ = ::mkdtemp(made.data());
    fs::create_directory(directory_ / "out");
    std::ofstream(directory_ / "out/a") << "a";
    std::ofstream(directory_ / "empty");
  }
  ~OutputsOfJob() override {
    std::error_code error;
    fs::remove_all(directory_, error);
  }
  [[nodiscard]] OutputLook look(const std::vector<std::string>& paths) const {
    return look_at_outputs(directory_, paths, Sums::no);
  }

  fs::path directory_;
};

TEST_F(OutputsOfJob, are_all_there_when_each_is_a_file_or_a_directory_of_whatever_size) {
  const OutputLook seen = look({"out/a", "empty", "out", (directory_ / "out/a").string()});
  EXPECT_EQ(seen.missing, 0U);
  EXPECT_FALSE(seen.may_come);
  ASSERT_TRUE(seen.seen);
  EXPECT_EQ(seen.seen->size(), 4U);
}

TEST_F(OutputsOfJob, the_first_that_is_missing_is_told_by_its_number) {
  const OutputLook seen = look({"empty", "out/b", "nowhere/c"});
  EXPECT_EQ(seen.missing, 2U);
  ASSERT_TRUE(seen.seen);
  EXPECT_FALSE(seen.seen->at(1).exists);
}

TEST_F(OutputsOfJob, a_link_to_nothing_is_no_file) {
  fs::create_symlink("not-there", directory_ / "link");
  EXPECT_EQ(look({"link"}).missing, 1U);
}

TEST_F(OutputsOfJob, nothing_is_missing_where_nothing_can_be_known) {
  const OutputLook seen = look_at_outputs(directory_ / "gone", {"a"}, Sums::no);
  EXPECT_EQ(seen.missing, 0U);
  EXPECT_FALSE(seen.seen);
}

TEST_F(OutputsOfJob, without_any_nothing_is_missing) {
  EXPECT_EQ(look({}).missing, 0U);
}

}  // namespace
}  // namespace torc::workflow
