// Standard input by its form, and the copy of a workflow file in its store.
#include "lib/workflow/context/spec_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "lib/store/disk/disk.h"

namespace torc::workflow {
namespace {

TEST(SpecText, standard_input_may_have_any_form) {
  EXPECT_TRUE(is_stdin("-") && is_stdin("json5:-") && is_stdin("kdl:-"));
  EXPECT_FALSE(is_stdin("yaml:-") || is_stdin("-.kdl") || is_stdin("a-"));
  EXPECT_EQ(stdin_name("-"), "<stdin>");
  EXPECT_EQ(stdin_name("kdl:-"), "<stdin>.kdl");
}

class SpecCopy : public testing::Test {
 protected:
  SpecCopy() {
    std::string made = (std::filesystem::temp_directory_path() / "spec_copy_XXXXXX").string();
    directory_ = mkdtemp(made.data());
  }
  ~SpecCopy() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string files() const {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names += entry.path().filename().string() + " ";
    return names;
  }

  SystemClock clock_;
  store::PosixDisk disk_;
  SeededEntropy entropy_{1};
  Context context_{clock_, store::World{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}},
                   store::World{disk_, clock_, entropy_, "n1", "boot", "ns", geteuid(), {}},
                   [](std::string_view) { return std::optional<std::string>(); }};
  Path directory_;
};

TEST_F(SpecCopy, keeps_the_ending_that_tells_its_form) {
  EXPECT_EQ(spec_copy_name("wf.yml"), "spec.yaml");
  EXPECT_EQ(spec_copy_name("a/wf.json5"), "spec.json5");
  EXPECT_EQ(spec_copy_in(context_, directory_), directory_ / "spec.yaml");
  ASSERT_TRUE(replace_spec_copy(context_, directory_, "wf.kdl", "name \"w\""));
  EXPECT_EQ(spec_copy_in(context_, directory_), directory_ / "spec.kdl");
}

TEST_F(SpecCopy, is_one_whatever_the_forms_that_follow_each_other) {
  for (const char* file : {"wf.yaml", "wf.kdl", "wf.json5", "wf.json5"}) {
    ASSERT_TRUE(replace_spec_copy(context_, directory_, file, file));
    EXPECT_EQ(files(), spec_copy_name(file) + " ");
  }
}

}  // namespace
}  // namespace torc::workflow
