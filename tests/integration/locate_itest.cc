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

TEST_F(LocateStore, list_knows_the_stores_of_torc_exec_also_in_their_directory) {
  ASSERT_EQ(here.run({"exec", "-q", "true", ":::", "1"}).exit_code, 0);
  for (const char* word : {"", ".", "./"}) {
    std::vector<std::string> words{"list", "--json"};
    if (*word != 0) words.emplace_back(word);
    const Ended ended = in(".torc-exec", words);
    ASSERT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(nlohmann::json::parse(ended.out)["stores"].size(), 1U) << word << ended;
  }
  EXPECT_EQ(here.json({"list", ".torc-exec/"})["stores"].size(), 1U);
}

TEST_F(LocateStore, graph_finds_it_too) {
  const Ended named = here.run({"graph", "wf.torc"});
  ASSERT_EQ(named.exit_code, 0) << named;
  const Ended found = here.run({"graph"});
  EXPECT_EQ(found.exit_code, 0) << found;
  EXPECT_EQ(found.out, named.out);
  const Ended of_a = in("data/raw", {"graph", "a"});
  EXPECT_EQ(of_a.exit_code, 0) << of_a;
  EXPECT_EQ(of_a.out, named.out);
  EXPECT_EQ(here.run({"graph", "nobody"}).exit_code, 2);
  fs::remove_all(here.path() / "wf.torc");
  EXPECT_EQ(here.run({"graph"}).exit_code, 4);
}

// Two workflow files of one name in one directory, and the store of the first.
class OtherFile : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(here.path() / "project" / "data");
    here.write("project/a.yaml", "name: w\njobs: [{name: a, command: echo A}]\n");
    here.write("project/b.yaml", "name: w\njobs: [{name: b, command: echo b}]\n");
  }
  [[nodiscard]] Ended in(const Path& directory, std::vector<std::string> words) const {
    Launch launch = here.torc(std::move(words));
    launch.directory = here.path() / directory;
    return run(launch);
  }
  void expect_refused(const Path& directory, const std::vector<std::string>& words) const {
    const Ended ended = in(directory, words);
    EXPECT_EQ(ended.exit_code, 4) << words.front() << ended;
    EXPECT_TRUE(ended.says("is the store of a.yaml, which is there too, and not of b.yaml"))
        << words.front() << ended;
  }

  const Workplace here;
};

TEST_F(OtherFile, of_the_same_name_has_not_the_same_store) {
  ASSERT_EQ(in("project", {"run", "a.yaml"}).exit_code, 0);
  expect_refused("project", {"run", "b.yaml"});
  expect_refused("project", {"apply", "b.yaml", "--dry-run"});
  expect_refused("project", {"status", "b.yaml"});
  expect_refused("project", {"wait", "b.yaml", "--timeout", "0"});
  expect_refused("project", {"reset", "b.yaml", "--all", "--yes"});
  const Ended status = in("project", {"status", "a.yaml"});
  EXPECT_EQ(status.exit_code, 0) << status;
  const Ended beside = in(".", {"status", "project/b.yaml"});
  EXPECT_EQ(beside.exit_code, 4) << beside;
  EXPECT_TRUE(beside.says("is the store of project/a.yaml")) << beside;
  EXPECT_EQ(in(".", {"status", "project/a.yaml"}).exit_code, 0);
  fs::rename(here.path() / "project" / "a.yaml", here.path() / "project" / "renamed.yaml");
  const Ended renamed = in("project", {"status", "renamed.yaml"});
  EXPECT_EQ(renamed.exit_code, 0) << renamed;
}

TEST_F(OtherFile, of_the_same_name_is_known_where_jobs_run_elsewhere) {
  ASSERT_EQ(in("project", {"init", "a.yaml", "--workdir", "data"}).exit_code, 0);
  ASSERT_EQ(in("project", {"run", "w.torc"}).exit_code, 0);
  expect_refused("project", {"apply", "b.yaml", "--dry-run"});
  expect_refused("project", {"status", "b.yaml"});
  const Ended same = in("project", {"apply", "a.yaml"});
  EXPECT_TRUE(same.says("nothing differs")) << same;
  const Ended set = in("project", {"set", "--workdir", "data"});
  EXPECT_EQ(set.exit_code, 0) << set;
  expect_refused("project", {"apply", "b.yaml", "--dry-run"});

  fs::copy(here.path() / "project", here.path() / "copy", fs::copy_options::recursive);
  fs::remove(here.path() / "project" / "a.yaml");
  expect_refused("copy", {"apply", "b.yaml", "--dry-run"});
  const Ended free = in("project", {"apply", "b.yaml", "--dry-run"});
  EXPECT_EQ(free.exit_code, 0) << free;
  fs::rename(here.path() / "copy", here.path() / "moved");
  expect_refused("moved", {"apply", "b.yaml", "--dry-run"});
  fs::remove(here.path() / "moved" / "a.yaml");
  EXPECT_EQ(in("moved", {"apply", "b.yaml", "--dry-run"}).exit_code, 0);
}

}  // namespace
}  // namespace torc::itest
