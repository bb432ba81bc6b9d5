// `torc resources --apply`: the workflow file gets what its jobs have turned out to need.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

// A job that has a peak to be measured.
const std::string kWeighed = "python3 -c 'x = bytearray(30000000); import time; time.sleep(1)'";

const std::string kFile = R"(# What it is about.
name: wf
resource_requirements:
  - {name: roomy, memory: 6g, runtime: PT3H}   # as much as there is
  - name: tight
    memory: '20m'  # too little
jobs:
  - {name: "wide_{i}", command: "python3 -c 'x = bytearray(30000000); import time; time.sleep(1)'", parameters: {i: "1:3"}, resource_requirements: roomy}
  - {name: own, command: "python3 -c 'x = bytearray(30000000); import time; time.sleep(1)'", memory: 5g}
  - {name: big, command: "python3 -c 'x = bytearray(90000000); import time; time.sleep(1)' || exit 1", resource_requirements: tight}
)";

class Apply : public testing::Test {
 protected:
  void run(const std::string& file, int exit_code) const {
    here_.write("wf.yaml", file);
    const Ended ended = here_.run({"run", "wf.yaml", "--num-cpus", "2", "--memory", "8g"});
    EXPECT_EQ(ended.exit_code, exit_code) << ended;
  }
  [[nodiscard]] Ended apply(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"resources", "wf.torc", "--apply", "wf.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return here_.run(words);
  }
  [[nodiscard]] std::string file(const std::string& name = "wf.yaml") const {
    return read_text(here_.path() / name);
  }

  Workplace here_;
};

TEST_F(Apply, writes_amounts_in_their_places_and_leaves_all_else) {
  run(kFile, 1);
  EXPECT_EQ(apply({"--dry-run"}).exit_code, 0);
  EXPECT_EQ(file(), kFile);
  const json told = here_.json({"resources", "wf.torc", "--apply", "wf.yaml", "--dry-run"});
  ASSERT_EQ(told["amounts"].size(), 4U) << told;
  const std::string tight = told["amounts"][2]["new_value"];
  EXPECT_EQ(told["amounts"][2]["problem"], "out_of_memory") << told;
  const Ended ended = apply();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  std::string expected = kFile;
  const auto replace = [&](const std::string& old, const std::string& now) {
    expected.replace(expected.find(old), old.size(), now);
  };
  replace("memory: 6g", "memory: 64m");
  replace("runtime: PT3H", "runtime: PT1M");
  replace("'20m'", "'" + tight + "'");
  replace("memory: 5g", "memory: 64m");
  EXPECT_EQ(file(), expected);
  EXPECT_TRUE(ended.says("saves")) << ended;
  EXPECT_EQ(here_.run({"check", "wf.yaml"}).exit_code, 0);
  const Ended again = apply();
  EXPECT_EQ(again.exit_code, 0) << again;
  EXPECT_EQ(file(), expected) << "what has changed since is left alone";
}

TEST_F(Apply, lowers_nothing_that_a_failed_job_or_one_that_did_not_run_has) {
  const std::string text = R"(name: wf
jobs:
  - {name: "a_{i}", command: "python3 -c 'x = bytearray(30000000); import time; time.sleep(1)'; test {i} != 2", parameters: {i: "1:3"}, memory: 6g}
  - {name: b, command: "true", memory: 6g, depends_on: ["a_2"]}
)";
  run(text, 1);
  const Ended ended = apply();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("nothing to change")) << ended;
  EXPECT_EQ(file(), text);
}

TEST_F(Apply, goes_to_a_new_file_keeps_the_mode_and_only_raises_where_it_is_told) {
  const std::string text =
      "name: wf\njobs:\n  - {name: a, memory: 6g, command: \"" + kWeighed + "\"}\n";
  run(text, 0);
  EXPECT_TRUE(apply({"--no-lower"}).says("nothing to change"));
  std::filesystem::permissions(here_.path() / "wf.yaml", std::filesystem::perms::owner_all);
  EXPECT_EQ(apply({"-o", "new.yaml"}).exit_code, 0);
  std::string expected = text;
  EXPECT_EQ(file("new.yaml"), expected.replace(expected.find("6g"), 2, "64m"));
  EXPECT_EQ(file(), text);
  EXPECT_EQ(apply({"-o", "new.yaml"}).exit_code, 2) << "it is there already";
  EXPECT_EQ(apply().exit_code, 0);
  EXPECT_EQ(file(), file("new.yaml"));
  EXPECT_EQ(std::filesystem::status(here_.path() / "wf.yaml").permissions(),
            std::filesystem::perms::owner_all);
}

TEST_F(Apply, touches_no_file_beside_it_and_leaves_it_its_owner) {
  run("name: wf\njobs:\n  - {name: a, memory: 6g, command: \"" + kWeighed + "\"}\n", 0);
  here_.write("wf.yaml.new", "a draft");
  const bool is_root = ::geteuid() == 0;
  constexpr uid_t kSomebody = 4321;
  const Path spec = here_.path() / "wf.yaml";
  ASSERT_TRUE(!is_root || ::chown(spec.c_str(), kSomebody, kSomebody) == 0);
  ASSERT_EQ(apply().exit_code, 0);
  EXPECT_NE(file().find("64m"), std::string::npos) << file();
  EXPECT_EQ(file("wf.yaml.new"), "a draft");
  struct stat about {};
  ASSERT_EQ(::stat(spec.c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, is_root ? kSomebody : ::geteuid());
}

TEST_F(Apply, of_other_forms_than_yaml_and_with_wrong_words_is_refused) {
  run("name: wf\njobs: [{name: a, command: 'true'}]\n", 0);
  here_.write("wf.json5", "{name: 'wf', jobs: [{name: 'a', command: 'true'}]}");
  EXPECT_EQ(here_.run({"resources", "--apply", "wf.json5"}).exit_code, 2);
  EXPECT_EQ(here_.run({"resources", "--apply", "no.yaml"}).exit_code, 2);
  EXPECT_EQ(apply({"--memory-multiplier", "0.5"}).exit_code, 2);
  EXPECT_EQ(here_.run({"resources", "--no-lower"}).exit_code, 2) << "only with --apply";
}

}  // namespace
}  // namespace torc::itest
