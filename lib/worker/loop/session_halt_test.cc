// A worker that whoever started it has enough of, and the numbers of what runs at a time.
#include "lib/worker/loop/session_fixture.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;
using claim::JobState;

std::vector<std::string> slots_of(const ScriptedHost& host) {
  std::vector<std::string> slots;
  for (const exec::Command& command : host.commands) {
    for (const std::string& entry : command.env) {
      if (entry.starts_with("TORC_JOB_SLOT=")) slots.push_back(entry.substr(14));
    }
  }
  return slots;
}

class HaltedSession : public SignaledSession {
 protected:
  // After the first end.
  void halt_after_one(Halt how) {
    setup_.starts_one_by_one = true;
    events_.ended = [this](const JobEnd&) { ++ended_; };
    events_.halt = [this, how] { return ended_ > 0 ? how : Halt::no; };
  }
  void end_first() { end_it(ScriptedHost::ended_by_itself(0)); }

  int ended_ = 0;
};

constexpr const char* kFour = "jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:4\"}}]\n";

TEST_F(HaltedSession, starts_nothing_after_the_end_that_was_enough) {
  make(kFour);
  halt_after_one(Halt::soon);
  const WorkerSummary summary = run_with({[&] { end_first(); }});
  EXPECT_EQ(host_.started, 1);
  EXPECT_EQ(summary.end, WorkerEnd::interrupted);
  EXPECT_EQ(summary.interrupted_by, 0) << "no signal came";
  EXPECT_EQ(job(1).state, JobState::completed);
  EXPECT_EQ(job(2).state, JobState::ready);
  EXPECT_TRUE(notices_.empty()) << notices_.front();
}

TEST_F(HaltedSession, soon_lets_what_runs_end_by_itself) {
  make(kFour);
  setup_.machine.cpus = 2;
  halt_after_one(Halt::soon);
  run_with({[&] { end_first(); }, [&] { clock_.sleep_for(5h); }, [&] { end_first(); }});
  EXPECT_EQ(host_.started, 2);
  EXPECT_TRUE(host_.stops.empty());
  EXPECT_EQ(job(2).state, JobState::completed);
}

TEST_F(HaltedSession, now_ends_what_runs_and_gives_it_back) {
  make(kFour);
  setup_.machine.cpus = 2;
  halt_after_one(Halt::now);
  run_with({[&] { end_first(); }, [&] { end_it(stopped_by(SIGTERM)); }});
  EXPECT_EQ(host_.started, 2);
  EXPECT_EQ(host_.stops.size(), 1U);
  EXPECT_EQ(job(2).state, JobState::ready);
}

TEST_F(HaltedSession, has_no_lane_so_that_nothing_starts_before_an_end_was_told) {
  make("jobs: [{name: \"j{i}\", command: x, parameters: {i: \"1:30\"}}]\n");
  host_.has_lane = true;
  host_.outcome = [] { return ScriptedHost::ended_by_itself(0); };
  setup_.starts_one_by_one = true;
  EXPECT_EQ(run().completed, 30U);
  EXPECT_EQ(host_.began_in_lane, 0);
}

TEST_F(HaltedSession, a_job_has_the_smallest_slot_that_is_free) {
  make(kFour);
  setup_.machine.cpus = 2;
  setup_.numbers_slots = true;
  // Of so many that run the one at a place ends.
  const std::vector<std::pair<std::size_t, std::size_t>> ends{{2, 1}, {2, 0}, {2, 0}, {1, 0}};
  std::size_t next = 0;
  host_.meanwhile = [&](BootTime) {
    if (next >= ends.size() || host_.running_now.size() < ends[next].first) return false;
    host_.end(host_.running_now.at(ends[next++].second), ScriptedHost::ended_by_itself(0));
    return true;
  };
  EXPECT_EQ(run().completed, 4U);
  EXPECT_EQ(slots_of(host_), (std::vector<std::string>{"1", "2", "2", "1"}));
}

TEST_F(HaltedSession, jobs_have_no_slots_where_nobody_asks) {
  make(kFour);
  host_.outcome = [] { return ScriptedHost::ended_by_itself(0); };
  run();
  EXPECT_TRUE(slots_of(host_).empty());
}

}  // namespace
}  // namespace torc::worker
