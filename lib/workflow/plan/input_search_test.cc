#include "lib/workflow/plan/input_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lib/spec/load/load.h"

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

class Inputs : public ::testing::Test {
 protected:
  Inputs() {
    std::string made = (fs::temp_directory_path() / "inputs_XXXXXX").string();
    directory_ = ::mkdtemp(made.data());
  }
  ~Inputs() override {
    std::error_code error;
    fs::remove_all(directory_, error);
  }
  void make(const std::string& name) const {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << "x";
  }
  [[nodiscard]] MissingInputs missing_of(const std::string& text, std::size_t most = 10) const {
    const spec::Loaded loaded = spec::load(text, "wf.yaml", {});
    EXPECT_TRUE(loaded.expansion) << spec::to_text(loaded.diagnostics);
    if (!loaded.expansion) return {};
    const auto missing = missing_inputs(*loaded.expansion, directory_, most);
    EXPECT_TRUE(missing.ok());
    return missing.ok() ? *missing : MissingInputs{};
  }
  // Their paths, each with a blank behind it.
  [[nodiscard]] std::string paths_of(const std::string& text) const {
    std::string paths;
    for (const auto& file : missing_of(text).first) paths += file.path + " ";
    return paths;
  }

  fs::path directory_;
};

// A job that takes the first n files of a directory.
std::string takes(int n) {
  return fmt::format(
      "name: w\n"
      "files: [{{name: 'in_{{i}}', path: 'in/{{i}}.csv', parameters: {{i: '1:{0}'}}}}]\n"
      "jobs: [{{name: 'j_{{i}}', command: x, input_files: ['in_{{i}}'], parameters: "
      "{{i: '1:{0}'}}}}]\n",
      n);
}

TEST_F(Inputs, that_are_there_or_that_a_job_makes_are_not_missing) {
  make("raw");
  EXPECT_EQ(paths_of(R"(name: w
files: [{name: raw, path: raw}, {name: mid, path: out/mid}]
jobs:
  - {name: a, command: x, input_files: [raw], output_files: [mid]}
  - {name: b, command: x, input_files: [mid]}
)"),
            "");
}

TEST_F(Inputs, that_nobody_makes_are_told_with_the_first_job_that_takes_them) {
  const MissingInputs missing = missing_of(R"(name: w
files: [{name: raw, path: raw}]
jobs:
  - {name: a, command: x, input_files: [raw]}
  - {name: b, command: x, input_files: [raw]}
)");
  ASSERT_EQ(missing.files, 1U);
  EXPECT_EQ(missing.first[0].path, "raw");
  EXPECT_EQ(missing.first[0].job, "a");
  EXPECT_EQ(show(missing), "an input file is not there, and no job makes it: 'raw' (of 'a')");
}

TEST_F(Inputs, a_file_is_the_same_by_whatever_path_it_is_named) {
  InputSearch search(directory_);
  std::uint64_t id = 0;
  for (const char* text : {"name: w\nfiles: [{name: f, path: out/x}]\n"
                           "jobs: [{name: a, command: x, output_files: [f]}]\n",
                           "name: w\nfiles: [{name: f, path: ./out//x}]\n"
                           "jobs: [{name: b, command: x, input_files: [f]}]\n"}) {
    const spec::Loaded loaded = spec::load(text, "wf.yaml", {});
    ASSERT_TRUE(loaded.expansion);
    auto recipe = spec::Recipe::decode(loaded.expansion->entries.at(0).recipe);
    ASSERT_TRUE(recipe.ok());
    search.add(JobId{++id}, *std::move(recipe));
  }
  EXPECT_EQ(search.find(10).files, 0U);
}

TEST_F(Inputs, ten_are_named_and_the_others_counted) {
  const MissingInputs missing = missing_of(takes(13));
  EXPECT_EQ(missing.files, 13U);
  ASSERT_EQ(missing.first.size(), 10U);
  EXPECT_EQ(missing.first[9].path, "in/10.csv");
  EXPECT_NE(show(missing).find("13 input files are not there"), std::string::npos);
  EXPECT_TRUE(show(missing).ends_with("'in/10.csv' (of 'j_10') and 3 more")) << show(missing);
}

TEST_F(Inputs, of_a_full_directory_are_found_in_its_listing) {
  constexpr int kFiles = 200;  // more than are looked at one by one
  for (int i = 1; i <= kFiles; ++i) {
    if (i != 77 && i != 150) make(fmt::format("in/{}.csv", i));
  }
  fs::create_symlink("gone", directory_ / "in/150.csv");  // which a listing shows, too
  EXPECT_EQ(paths_of(takes(kFiles)), "in/77.csv in/150.csv ");
}

TEST_F(Inputs, a_directory_is_an_input_too) {
  fs::create_directory(directory_ / "data");
  EXPECT_EQ(paths_of(R"(name: w
files: [{name: d, path: data/}]
jobs: [{name: a, command: x, input_files: [d]}]
)"),
            "");
}

TEST_F(Inputs, of_jobs_that_are_over_are_not_looked_for) {
  const spec::Loaded loaded = spec::load(takes(5), "wf.yaml", {});
  ASSERT_TRUE(loaded.expansion);
  InputSearch search(directory_);
  for (const auto& entry : loaded.expansion->entries) {
    auto recipe = spec::Recipe::decode(entry.recipe);
    ASSERT_TRUE(recipe.ok());
    search.add(JobId{entry.first}, *std::move(recipe), {{JobId{1}, 2}, {JobId{4}, 1}});
  }
  const MissingInputs missing = search.find(10);
  ASSERT_EQ(missing.files, 2U);
  EXPECT_EQ(missing.first[0].path, "in/3.csv");
  EXPECT_EQ(missing.first[1].path, "in/5.csv");
}

// Whoever may not look into a directory knows nothing of what is in it; nor does anybody where the
// working directory is gone.
TEST_F(Inputs, of_which_nothing_can_be_known_are_not_missing) {
  fs::remove(directory_);
  EXPECT_EQ(paths_of(takes(2)), "");
}

}  // namespace
}  // namespace torc::workflow
