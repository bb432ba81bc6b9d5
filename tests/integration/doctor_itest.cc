// torc doctor with real processes: alone, as two, interrupted, and where nothing can be made.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

using nlohmann::json;

class Doctor : public testing::Test {
 protected:
  Doctor() { std::filesystem::create_directory(place_); }
  void expect_clean() const { EXPECT_TRUE(std::filesystem::is_empty(place_)); }
  [[nodiscard]] json parsed(const Ended& ended) const {
    return json::parse(ended.out, nullptr, false);
  }
  Workplace here_;
  Path place_ = here_.path() / "place";
};

TEST_F(Doctor, tells_what_one_node_can_find_out) {
  const Ended ended = here_.run({"doctor", "place", "--json"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  const json report = parsed(ended);
  EXPECT_TRUE(report.value("fit", false));
  for (const char* field :
       {"filesystem", "engine", "put_if_absent", "locks", "sync_latency", "clock", "space",
        "copy_places", "process_limits", "two_node", "findings"})
    EXPECT_TRUE(report.contains(field)) << field;
  EXPECT_EQ(report["locks"].size(), 3U);
  EXPECT_GT(report["commit_latency"]["samples"], 0);
  expect_clean();
}

TEST_F(Doctor, speaks_plain_words) {
  const Ended ended = here_.run({"doctor", "place"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  for (const char* words : {"put-if-absent", "auto takes", "FIT for a store", "node's copy"})
    EXPECT_TRUE(ended.says(words)) << words << ended;
}

TEST_F(Doctor, takes_a_store_for_a_directory) {
  here_.write("wf.yaml", "name: wf\njobs:\n  - {name: only, command: \"true\"}\n");
  ASSERT_EQ(here_.run({"init", "wf.yaml", "--engine", "journal"}).exit_code, 0);
  const auto before = contents(here_.path() / "wf.torc");
  const Ended ended = here_.run({"doctor", "wf.torc"});
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(ended.says("engine journal, put-if-absent by")) << ended;
  EXPECT_EQ(contents(here_.path() / "wf.torc"), before);
}

TEST_F(Doctor, refuses_a_directory_in_which_nothing_can_be_made) {
  const Ended absent = here_.run({"doctor", "nowhere"});
  EXPECT_EQ(absent.exit_code, 4) << absent;
  EXPECT_TRUE(absent.says("name a directory that exists")) << absent;
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  std::filesystem::permissions(place_, std::filesystem::perms::owner_all);
  Launch launch = here_.torc({"doctor", place_.string()});
  launch.user = 65534;
  const Ended closed = run(launch);
  EXPECT_EQ(closed.exit_code, 4) << closed;
}

TEST_F(Doctor, of_two_processes_both_tell_the_same) {
  const auto other = here_.start({"doctor", "place", "--two-node", "--json"});
  const Ended mine = here_.run({"doctor", "place", "--two-node", "--json"});
  const Ended theirs = other->wait();
  EXPECT_EQ(mine.exit_code, 0) << mine;
  EXPECT_EQ(theirs.exit_code, 0) << theirs;
  const json one = parsed(mine)["two_node"];
  const json two = parsed(theirs)["two_node"];
  ASSERT_TRUE(one.is_object()) << mine;
  EXPECT_NE(one["role"], two["role"]);
  EXPECT_TRUE(one["same_host"]);
  EXPECT_EQ(one["put_if_absent_race"], two["put_if_absent_race"]);
  EXPECT_EQ(one["put_if_absent_race"]["won_by_both"], 0);
  for (const json& lock : one["locks"]) {
    EXPECT_EQ(lock["held_by_a"], "exclusive") << lock;
    EXPECT_EQ(lock["held_by_b"], "exclusive") << lock;
  }
  EXPECT_EQ(one["bell"], two["bell"]);
  expect_clean();
}

TEST_F(Doctor, of_two_rings_bells_and_says_what_workers_would_hear) {
  const std::vector<std::string> words{"doctor", "place", "--two-node", "--bell-interface"};
  auto with_json = words;
  with_json.insert(with_json.end(), {"127.0.0.1", "--json"});
  auto refused = words;
  refused.emplace_back("no-such-interface");
  const auto other = here_.start(refused);
  const Ended mine = here_.run(with_json);
  const Ended theirs = other->wait();
  // A bell is no condition of a store.
  EXPECT_EQ(mine.exit_code, 0) << mine;
  EXPECT_EQ(theirs.exit_code, 0) << theirs;
  EXPECT_TRUE(theirs.says("has no bell: --bell-interface no-such-interface")) << theirs;
  const json report = parsed(mine)["two_node"];
  ASSERT_TRUE(report.is_object()) << mine;
  const std::string own = report["role"];
  const std::string their = own == "a" ? "b" : "a";
  EXPECT_EQ(report["bell"][own]["passage"], "loopback");
  EXPECT_EQ(report["bell"][own]["addresses"], json::array({"127.0.0.1"}));
  EXPECT_EQ(report["bell"][their]["passage"], "no_bell");
  expect_clean();
}

TEST_F(Doctor, whom_nobody_joins_says_so_and_cleans_up) {
  const Ended ended = here_.run({"doctor", "place", "--two-node", "--wait", "1s"});
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_TRUE(ended.says("another instance did not come in time")) << ended;
  expect_clean();
}

TEST_F(Doctor, who_is_interrupted_cleans_up) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const auto process = here_.start({"doctor", "place", "--two-node"});
    ASSERT_TRUE(wait_until({process.get()}, [&] {
      return process->err().find("waiting for the same command") != std::string::npos;
    }));
    process->kill(signal);
    const Ended ended = process->wait();
    EXPECT_EQ(ended.exit_code, 4) << ended;
    EXPECT_TRUE(ended.says("nothing was left behind")) << ended;
    expect_clean();
  }
}

TEST_F(Doctor, whose_partner_was_killed_finds_the_next_one) {
  const auto killed = here_.start({"doctor", "place", "--two-node"});
  ASSERT_TRUE(wait_until({killed.get()}, [&] {
    return killed->err().find("waiting for the same command") != std::string::npos;
  }));
  killed->kill(SIGKILL);
  (void)killed->wait();
  const auto other = here_.start({"doctor", "place", "--two-node"});
  const Ended mine = here_.run({"doctor", "place", "--two-node"});
  EXPECT_EQ(mine.exit_code, 0) << mine;
  EXPECT_EQ(other->wait().exit_code, 0);
  expect_clean();
}

}  // namespace
}  // namespace torc::itest
