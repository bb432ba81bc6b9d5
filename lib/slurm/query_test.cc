#include "lib/slurm/query.h"

#include <gtest/gtest.h>

#include <map>

namespace torc::slurm {
namespace {

using State = AllocationState;
using States = std::map<std::string, State>;

// A Slurm of recorded answers, by command line. What was not recorded fails like a controller that
// is away.
class RecordedSlurm {
 public:
  void answers(const std::string& command, CommandOutput output) {
    recorded_[command] = std::move(output);
  }

  [[nodiscard]] RunProgram run() {
    return [this](const std::vector<std::string>& argv) -> Result<CommandOutput> {
      std::string command;
      for (const auto& word : argv) command += (command.empty() ? "" : " ") + word;
      asked_.push_back(command);
      const auto found = recorded_.find(command);
      if (found != recorded_.end()) return found->second;
      return CommandOutput{
          1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"};
    };
  }
  [[nodiscard]] const std::vector<std::string>& asked() const { return asked_; }

 private:
  std::map<std::string, CommandOutput> recorded_;
  std::vector<std::string> asked_;
};

const CommandOutput kInvalidId{1, "", "slurm_load_jobs error: Invalid job id specified\n"};

std::string squeue(const std::string& ids) {
  return "squeue -h -t all -j " + ids + " -o %A %i %T";
}
std::string show_job(const std::string& id) {
  return "scontrol -o show job " + id;
}

TEST(AllocationStates, one_squeue_answers_for_all_that_it_lists) {
  RecordedSlurm slurm;
  slurm.answers(
      squeue("7,8,9,10,11"),
      {0, "7 7 RUNNING\n8 8 COMPLETED\n9 9 PENDING\n10 10 COMPLETING\n11 11 NODE_FAIL\n", ""});
  EXPECT_EQ(allocation_states(slurm.run(), {"7", "8", "9", "10", "11"}),
            (States{{"7", State::active},
                    {"8", State::ended},
                    {"9", State::active},
                    {"10", State::active},
                    {"11", State::ended}}));
  EXPECT_EQ(slurm.asked().size(), 1U);
}

TEST(AllocationStates, an_id_that_squeue_leaves_out_is_over_once_scontrol_says_so) {
  RecordedSlurm slurm;
  slurm.answers(squeue("7,8,9"), {0, "7 7 RUNNING\n", ""});
  slurm.answers(show_job("8"), kInvalidId);
  slurm.answers(show_job("9"), {0, "JobId=9 JobName=w JobState=TIMEOUT Reason=TimeLimit\n", ""});
  EXPECT_EQ(allocation_states(slurm.run(), {"7", "8", "9"}),
            (States{{"7", State::active}, {"8", State::ended}, {"9", State::ended}}));
}

TEST(AllocationStates, squeue_refuses_when_it_knows_none_of_the_ids) {
  RecordedSlurm slurm;
  slurm.answers(squeue("99999"), kInvalidId);
  slurm.answers(show_job("99999"), kInvalidId);
  EXPECT_EQ(allocation_states(slurm.run(), {"99999"}), (States{{"99999", State::ended}}));
}

TEST(AllocationStates, an_id_that_only_scontrol_knows_keeps_the_state_it_says) {
  RecordedSlurm slurm;
  slurm.answers(squeue("5"), kInvalidId);
  slurm.answers(show_job("5"), {0, "JobId=5 JobState=RUNNING Reason=None\n", ""});
  EXPECT_EQ(allocation_states(slurm.run(), {"5"}), (States{{"5", State::active}}));
}

TEST(AllocationStates, a_controller_that_is_away_ends_nothing) {
  RecordedSlurm slurm;
  EXPECT_EQ(allocation_states(slurm.run(), {"7"}), (States{{"7", State::unknown}}));
  EXPECT_EQ(slurm.asked().size(), 1U) << "no second question to a controller that does not answer";

  slurm.answers(squeue("8,9"), {0, "8 8 RUNNING\n", ""});
  EXPECT_EQ(allocation_states(slurm.run(), {"8", "9"}),
            (States{{"8", State::active}, {"9", State::unknown}}));
}

TEST(AllocationStates, without_slurm_everything_is_unknown) {
  const RunProgram missing = [](const auto&) -> Result<CommandOutput> {
    return CommandOutput{127, "", ""};
  };
  EXPECT_EQ(allocation_states(missing, {"7"}), (States{{"7", State::unknown}}));
  const RunProgram failing = [](const auto&) -> Result<CommandOutput> {
    return Error{ErrorKind::busy, "squeue did not answer within 10 s", ""};
  };
  EXPECT_EQ(allocation_states(failing, {"7"}), (States{{"7", State::unknown}}));
}

TEST(AllocationStates, garbage_and_new_states_end_nothing) {
  RecordedSlurm slurm;
  slurm.answers(
      squeue("7,8,9"),
      {0, "Loading site profile ...\n7 7\n\0\xff\n8 8 HIBERNATING\n9 9 COMPLETED WITH A TWIST\n",
       ""});
  slurm.answers(show_job("7"), {0, "JobId=7 JobState= Reason=\n", ""});
  slurm.answers(show_job("8"), {0, "", ""});
  slurm.answers(show_job("9"),
                {3, "JobState=COMPLETED", "slurm_load_jobs error: Zero Bytes were transmitted\n"});
  EXPECT_EQ(allocation_states(slurm.run(), {"7", "8", "9"}),
            (States{{"7", State::unknown}, {"8", State::unknown}, {"9", State::unknown}}));
}

TEST(AllocationStates, elements_of_an_array_are_found_by_either_number) {
  RecordedSlurm slurm;
  slurm.answers(squeue("31,30_1"), {0, "31 30_0 RUNNING\n32 30_1 FAILED\n", ""});
  EXPECT_EQ(allocation_states(slurm.run(), {"31", "30_1"}),
            (States{{"31", State::active}, {"30_1", State::ended}}));
}

TEST(AllocationStates, an_array_is_over_when_all_its_elements_are) {
  RecordedSlurm slurm;
  slurm.answers(squeue("30"), {0, "", ""});
  slurm.answers(show_job("30"),
                {0, "JobId=31 JobState=RUNNING\nJobId=32 JobState=COMPLETED\n", ""});
  EXPECT_EQ(allocation_states(slurm.run(), {"30"}), (States{{"30", State::active}}));
  slurm.answers(show_job("30"), {0, "JobId=31 JobState=COMPLETED\nJobId=32 JobState=FAILED\n", ""});
  EXPECT_EQ(allocation_states(slurm.run(), {"30"}), (States{{"30", State::ended}}));
}

TEST(AllocationStates, what_is_no_job_id_never_reaches_a_command_line) {
  RecordedSlurm slurm;
  const std::vector<std::string> strange = {"", "--help", "7;rm", "a", "_1"};
  for (const auto& [id, state] : allocation_states(slurm.run(), strange))
    EXPECT_EQ(state, State::unknown) << id;
  EXPECT_TRUE(slurm.asked().empty());
}

TEST(AllocationStates, the_number_of_confirmations_is_bounded) {
  RecordedSlurm slurm;
  std::vector<std::string> ids;
  std::string list;
  for (int i = 100; i < 200; ++i) {
    ids.push_back(std::to_string(i));
    list += (list.empty() ? "" : ",") + ids.back();
    slurm.answers(show_job(ids.back()), kInvalidId);
  }
  slurm.answers(squeue(list), kInvalidId);
  const auto states = allocation_states(slurm.run(), ids);
  EXPECT_EQ(slurm.asked().size(), 1 + kMaxConfirmations);
  EXPECT_EQ(states.size(), ids.size());
  EXPECT_EQ(states.at("199"), State::unknown);
}

const std::string kAskEnd = "env SLURM_TIME_FORMAT=%s squeue -h -j 7 -o %e";
WallTime at(std::int64_t seconds) {
  return std::chrono::seconds(seconds);
}

TEST(AllocationEnd, the_variable_answers_without_asking_slurm) {
  RecordedSlurm slurm;
  EXPECT_EQ(allocation_end(slurm.run(), "7", "1795239166"), at(1795239166));
  EXPECT_TRUE(slurm.asked().empty());
}

TEST(AllocationEnd, without_a_usable_variable_squeue_is_asked) {
  RecordedSlurm slurm;
  slurm.answers(kAskEnd, {0, "1795239166\n", ""});
  EXPECT_EQ(allocation_end(slurm.run(), "7", {}), at(1795239166));
  EXPECT_EQ(allocation_end(slurm.run(), "7", "soon"), at(1795239166));
  EXPECT_EQ(allocation_end(slurm.run(), "7", "0"), at(1795239166));
}

TEST(AllocationEnd, a_slurm_that_prints_local_time_is_understood) {
  RecordedSlurm slurm;
  slurm.answers(kAskEnd, {0, "2026-11-21T05:12:46\n", ""});
  std::tm parts{};
  parts.tm_year = 126, parts.tm_mon = 10, parts.tm_mday = 21;
  parts.tm_hour = 5, parts.tm_min = 12, parts.tm_sec = 46, parts.tm_isdst = -1;
  EXPECT_EQ(allocation_end(slurm.run(), "7", {}), at(std::mktime(&parts)));
}

TEST(AllocationEnd, no_limit_and_no_answer_are_no_end) {
  for (const auto* out : {"NONE\n", "N/A\n", "", "\n", "Unknown\n", "two words\n", "-5\n",
                          "2026-11-21T05\n", "99999999999999999999\n"}) {
    RecordedSlurm slurm;
    slurm.answers(kAskEnd, {0, out, ""});
    EXPECT_EQ(allocation_end(slurm.run(), "7", {}), std::nullopt) << out;
  }
  RecordedSlurm slurm;
  EXPECT_EQ(allocation_end(slurm.run(), "7", {}), std::nullopt);
  EXPECT_EQ(allocation_end(slurm.run(), "", {}), std::nullopt);
}

TEST(KillWait, is_what_the_configuration_says) {
  RecordedSlurm slurm;
  EXPECT_EQ(kill_wait(slurm.run()), std::nullopt) << "the controller is away";
  slurm.answers("scontrol show config", {0,
                                         "Configuration data as of 2024-05-01T12:00:00\n"
                                         "KeepAliveTime           = SYSTEM_DEFAULT\n"
                                         "KillOnBadExit           = 0\n"
                                         "KillWait                = 45 sec\n"
                                         "LaunchParameters        = (null)\n",
                                         ""});
  EXPECT_EQ(kill_wait(slurm.run()), std::chrono::seconds(45));
  slurm.answers("scontrol show config", {0, "KillWait = soon\nKillWait\n", ""});
  EXPECT_EQ(kill_wait(slurm.run()), std::nullopt);
}

}  // namespace
}  // namespace torc::slurm
