// Batch scripts of a store that is not where they say.
#include "lib/workflow/plan/moved_scripts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "lib/store/disk/disk.h"

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

TEST(OtherPlace, is_put_in_wherever_the_script_names_the_store_and_nowhere_else) {
  const auto other = with_other_place(
      "#SBATCH --output=/p/wf.torc/logs/x.out\n"
      "export TORC_STORE='/p/wf.torc'\n"
      "exec torc worker /p/wf.torc --scheduler=a\n"
      "cat /p/wf.torc.old /q/p/wf.torc /p/wf.torc-2",
      "/p/wf.torc", "/new/wf.torc");
  ASSERT_TRUE(other.ok()) << other.error().text();
  EXPECT_EQ(*other,
            "#SBATCH --output=/new/wf.torc/logs/x.out\n"
            "export TORC_STORE='/new/wf.torc'\n"
            "exec torc worker /new/wf.torc --scheduler=a\n"
            "cat /p/wf.torc.old /q/p/wf.torc /p/wf.torc-2");
}

TEST(OtherPlace, that_a_script_would_quote_is_refused) {
  for (const auto& [before, now] : {std::pair("/p/a b", "/q"), std::pair("/p", "/it's"),
                                    std::pair("/50%", "/q"), std::pair("/p", "/q\\r")})
    EXPECT_EQ(with_other_place("", before, now).error().kind, ErrorKind::unsupported) << before;
}

class MovedScripts : public testing::Test {
 protected:
  MovedScripts() {
    std::string pattern = (fs::temp_directory_path() / "torc-scripts-XXXXXX").string();
    root_ = fs::canonical(::mkdtemp(pattern.data()));
    fs::create_directories(root_ / "copy/slurm");
    fs::create_directories(root_ / "copy/launcher");
    fs::create_directories(root_ / "original");
  }
  ~MovedScripts() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / "copy" / name) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream in(root_ / "copy" / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::string of(const Path& store) const {
    return "#!/bin/bash\nexport TORC_STORE='" + store.string() + "'\ntorc worker " +
           store.string() + "\n";
  }

  Path root_;
  SystemClock clock_;
  store::PosixDisk disk_;
  SeededEntropy entropy_{1};
  store::World world_{disk_, clock_, entropy_, "n1", "boot", "ns", 0, {}};
  Context context_{clock_, world_, world_, {}};
};

TEST_F(MovedScripts, of_the_original_are_made_those_of_the_copy) {
  write("slurm/a.sbatch", of(root_ / "original"));
  write("launcher/b.sh", of(root_ / "gone"));
  write("slurm/own.sbatch", of(root_ / "copy"));
  write("slurm/notes.txt", of(root_ / "original"));
  EXPECT_EQ(other_store_of(read("slurm/a.sbatch"), root_ / "copy"), root_ / "original");
  EXPECT_EQ(other_store_of(read("slurm/own.sbatch"), root_ / "copy"), "");
  const auto mended = mend_scripts(context_, root_ / "copy");
  ASSERT_TRUE(mended.ok()) << mended.error().text();
  EXPECT_EQ(*mended, 2U);
  EXPECT_EQ(read("slurm/a.sbatch"), of(root_ / "copy"));
  EXPECT_EQ(read("launcher/b.sh"), of(root_ / "copy"));
  EXPECT_EQ(read("slurm/notes.txt"), of(root_ / "original"));
  EXPECT_EQ(*mend_scripts(context_, root_ / "copy"), 0U) << "once";
}

TEST_F(MovedScripts, that_name_the_store_by_another_path_are_its_own) {
  fs::create_directory_symlink(root_ / "copy", root_ / "link");
  write("slurm/a.sbatch", of(root_ / "link"));
  EXPECT_EQ(*mend_scripts(context_, root_ / "copy"), 0U);
  write("slurm/a.sbatch", "#!/bin/bash\nmy-own-worker\n");
  EXPECT_EQ(*mend_scripts(context_, root_ / "copy"), 0U) << "it tells of no store";
}

TEST_F(MovedScripts, that_cannot_be_mended_are_named_and_stay) {
  const std::string odd = "#!/bin/bash\nexport TORC_STORE='/a b/wf.torc'\n";
  write("slurm/a.sbatch", odd);
  const auto mended = mend_scripts(context_, root_ / "copy");
  ASSERT_FALSE(mended.ok());
  EXPECT_NE(mended.error().what.find("a.sbatch starts workers for /a b/wf.torc"),
            std::string::npos);
  EXPECT_EQ(read("slurm/a.sbatch"), odd);
}

}  // namespace
}  // namespace torc::workflow
