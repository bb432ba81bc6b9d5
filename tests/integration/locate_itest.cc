// Which store a command means that names none, or that names its workflow file.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

namespace fs = std::filesystem;

class LocateStore : public testing::Test {
 protected:
  void SetUp() override {
    here.write("wf.yaml", "name: wf\njobs: [{name: a, command: 'true'}]\n");
    ASSERT_EQ(here.run({"init", "wf.yaml"}).exit_code, 0);
    fs::create_directories(here.path() / "data" / "raw");
  }
  [[nodiscard]] Ended in(const Path& directory, std::vector<std::string> words) const {
    Launch launch = here.torc(std::move(words));
    launch.directory = here.path() / directory;
    return run(launch);
  }

  const Workplace here;
};

TEST_F(LocateStore, below_its_directory_it_is_found) {
  const Ended ended = in("data/raw", {"status", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(nlohmann::json::parse(ended.out)["store"], (here.path() / "wf.torc").string());
}

TEST_F(LocateStore, the_nearest_counts) {
  here.write("data/other.yaml", "name: other\njobs: [{name: b, command: 'true'}]\n");
  ASSERT_EQ(in("data", {"init", "other.yaml"}).exit_code, 0);
  const Ended ended = in("data/raw", {"status", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(nlohmann::json::parse(ended.out)["store"],
            (here.path() / "data" / "other.torc").string());
}

// Whoever may write there could put one there.
TEST_F(LocateStore, nothing_is_looked_for_above_where_everybody_may_write) {
  fs::permissions(here.path(), fs::perms::others_write, fs::perm_options::add);
  const Ended ended = in("data", {"status"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says("no *.torc in")) << ended;
}

TEST_F(LocateStore, a_workflow_file_stands_for_its_store) {
  here.write("other.yaml", "name: other\njobs: [{name: b, command: 'true'}]\n");
  ASSERT_EQ(here.run({"init", "other.yaml"}).exit_code, 0);
  const Ended ended = here.run({"status", "other.yaml", "--json"});
  ASSERT_EQ(ended.exit_code, 0) << ended;
  EXPECT_EQ(nlohmann::json::parse(ended.out)["store"], (here.path() / "other.torc").string());
  here.write("broken.yaml", "jobs: [\n");
  const Ended broken = here.run({"status", "broken.yaml"});
  EXPECT_EQ(broken.exit_code, 2) << broken;
  EXPECT_TRUE(broken.says("torc check broken.yaml")) << broken;
}

TEST_F(LocateStore, by_itself_torc_shows_how_it_is_here) {
  const Ended here_is_one = here.run({});
  EXPECT_EQ(here_is_one.exit_code, 0) << here_is_one;
  EXPECT_TRUE(here_is_one.says("wf  waiting")) << here_is_one;
  fs::remove_all(here.path() / "wf.torc");
  EXPECT_EQ(here.run({}).exit_code, 2);
}

TEST_F(LocateStore, list_has_all_of_a_directory) {
  here.write("other.yaml", "name: other\njobs: [{name: b, command: 'false'}]\n");
  EXPECT_EQ(here.run({"run", "other.yaml", "-q"}).exit_code, 1);
  fs::create_directories(here.path() / "empty.torc");
  const auto all = here.json({"list"})["stores"];
  ASSERT_EQ(all.size(), 3U) << all;
  EXPECT_EQ(all[0]["store"], (here.path() / "empty.torc").string());
  EXPECT_TRUE(all[0]["error"].is_string());
  EXPECT_EQ(all[1]["workflow"], "other");
  EXPECT_EQ(all[1]["state"], "failed");
  EXPECT_EQ(all[1]["failing_jobs"], 1);
  EXPECT_EQ(all[2]["state"], "waiting");
  const Ended ended = here.run({"list"});
  EXPECT_TRUE(ended.says("wf.torc")) << ended;
}

}  // namespace
}  // namespace torc::itest
