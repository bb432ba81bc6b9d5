#include "lib/slurm/query.h"

#include <gtest/gtest.h>

#include <ctime>
#include <map>

#include "lib/slurm/squeue.h"

namespace torc::slurm {
namespace {

using State = AllocationState;
using States = std::map<Allocation, State>;

States states_of(const AllocationAnswer& answer) {
  States states;
  for (const auto& [asked, now] : answer) states[asked] = now.state;
  return states;
}

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

WallTime at(std::int64_t seconds) {
  return std::chrono::seconds(seconds);
}
const WallTime kStart = at(1795342086);

Allocation of(const std::string& id, const std::string& cluster = "alpha",
              WallTime start = kStart) {
  return {cluster, id, start};
}

std::string squeue(const std::string& ids, const std::string& columns) {
  return "env -u SLURM_CLUSTERS -u SQUEUE_ACCOUNT -u SQUEUE_LICENSES -u SQUEUE_NAMES "
         "-u SQUEUE_PARTITION -u SQUEUE_QOS -u SQUEUE_USERS -u SINFO_PARTITION "
         "SLURM_TIME_FORMAT=%s squeue --local -a -h -t all -j " +
         ids + " -O " + columns;
}
std::string squeue(const std::string& ids) {
  return squeue(ids,
                "JobID:24,JobArrayID:48,Cluster:64,NodeList:16384,NumNodes:12,State:24,"
                "StartTime:32,EndTime:32");
}
// As squeue of 22.05 prints it: columns of fixed width. An allocation that waits has no nodes.
std::string line(const std::string& id, const std::string& array_id, const std::string& state,
                 const std::string& cluster = "alpha", const std::string& start = "1795342086",
                 const std::string& nodes = "n[1-3]", const std::string& number = "3") {
  return id + "    " + array_id + "      " + cluster + "   " + nodes + "     " + number + "  " +
         state + "   " + start + "  1795349000   \n";
}
AllocationNow now_of(const std::string& out, const Allocation& asked = of("7")) {
  RecordedSlurm slurm;
  slurm.answers(squeue(asked.id), {0, out, ""});
  return ask_about(slurm.run(), {asked}).at(asked);
}
State state_of(const std::string& out, const Allocation& asked = of("7")) {
  return now_of(out, asked).state;
}

TEST(AllocationStates, one_squeue_answers_for_all_that_it_lists) {
  RecordedSlurm slurm;
  slurm.answers(squeue("7,8,9,10"),
                {0,
                 line("7", "7", "RUNNING") + line("8", "8", "COMPLETED") +
                     line("9", "9", "SUSPENDED") + line("10", "10", "COMPLETING"),
                 ""});
  EXPECT_EQ(states_of(ask_about(slurm.run(), {of("7"), of("8"), of("9"), of("10")})),
            (States{{of("7"), State::active},
                    {of("8"), State::ended},
                    {of("9"), State::active},
                    {of("10"), State::active}}));
  EXPECT_EQ(slurm.asked().size(), 1U);
}

TEST(AllocationStates, an_id_that_is_not_known_here_says_nothing) {
  RecordedSlurm slurm;
  slurm.answers(squeue("7,8"), {0, line("7", "7", "RUNNING"), ""});
  EXPECT_EQ(states_of(ask_about(slurm.run(), {of("7"), of("8")})),
            (States{{of("7"), State::active}, {of("8"), State::unknown}}));
  slurm.answers(squeue("99999"), kInvalidId);
  EXPECT_EQ(states_of(ask_about(slurm.run(), {of("99999")})),
            (States{{of("99999"), State::unknown}}));
}

TEST(AllocationStates, an_end_of_the_same_id_on_another_cluster_is_not_of_it) {
  EXPECT_EQ(state_of(line("7", "7", "COMPLETED", "beta")), State::unknown);
  EXPECT_EQ(state_of(line("7", "7", "COMPLETED", "beta") + line("7", "7", "RUNNING", "alpha")),
            State::active);
  EXPECT_EQ(state_of(line("7", "7", "COMPLETED", "alpha") + line("7", "7", "RUNNING", "beta")),
            State::ended);
}

TEST(AllocationStates, an_end_of_another_start_is_not_of_it) {
  EXPECT_EQ(state_of(line("7", "7", "COMPLETED", "alpha", "1795349999")), State::unknown)
      << "of which run it is the end nobody says";
  EXPECT_EQ(state_of(line("7", "7", "COMPLETED", "alpha", "N/A")), State::unknown);
}

TEST(AllocationStates, what_is_told_of_twice_must_be_the_same) {
  EXPECT_EQ(state_of(line("7", "7", "COMPLETED") + line("7", "7", "FAILED")), State::ended);
  EXPECT_EQ(state_of(line("7", "7", "COMPLETED") + line("7", "7", "RUNNING")), State::unknown);
  EXPECT_EQ(state_of(line("7", "7", "RUNNING") + line("7", "7", "COMPLETED")), State::unknown);
}

TEST(AllocationStates, only_a_state_in_which_its_processes_have_ended_is_an_end) {
  for (const char* ended : {"COMPLETED", "FAILED", "OUT_OF_MEMORY"})
    EXPECT_EQ(state_of(line("7", "7", ended)), State::ended) << ended;
  for (const char* cut_off : {"CANCELLED", "DEADLINE", "PREEMPTED", "TIMEOUT"})
    EXPECT_EQ(state_of(line("7", "7", cut_off)), State::cut_off) << cut_off;
  for (const char* living : {"RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED"})
    EXPECT_EQ(state_of(line("7", "7", living)), State::active) << living;
  for (const char* silent : {"NODE_FAIL", "BOOT_FAIL"})
    EXPECT_EQ(state_of(line("7", "7", silent)), State::given_up) << silent;
  for (const char* neither : {"REVOKED", "HIBERNATING", "PENDING", "REQUEUED"})
    EXPECT_EQ(state_of(line("7", "7", neither)), State::unknown) << neither;
}

TEST(AllocationStates, of_one_that_runs_its_nodes_and_its_end_are_told) {
  const AllocationNow told = now_of(line("7", "7", "RUNNING"));
  EXPECT_EQ(told.nodes, (std::vector<std::string>{"n1", "n2", "n3"}));
  EXPECT_EQ(told.start, kStart);
  EXPECT_EQ(told.end, at(1795349000));
  EXPECT_TRUE(now_of(line("7", "7", "COMPLETED")).nodes.empty());
}

TEST(AllocationStates, a_later_run_of_the_same_id_has_given_up_the_one_before) {
  for (const char* state : {"RUNNING", "CONFIGURING", "SUSPENDED"})
    EXPECT_EQ(state_of(line("7", "7", state, "alpha", "1795349999")), State::given_up) << state;
  for (const char* state : {"RUNNING", "CONFIGURING", "SUSPENDED"})
    EXPECT_EQ(state_of(line("7", "7", state, "alpha", "1795340000")), State::unknown)
        << "an earlier one is of another history";
  EXPECT_EQ(state_of(line("7", "7", "PENDING", "alpha", "1795349999", "", "3")), State::given_up);
  EXPECT_EQ(state_of(line("7", "7", "PENDING", "alpha", "N/A", "", "3")), State::given_up);
  EXPECT_EQ(state_of(line("7", "7", "PENDING", "alpha", "1795342086", "", "3")), State::unknown);
  EXPECT_EQ(state_of(line("7", "7", "PENDING", "beta", "1795349999", "", "3")), State::unknown);
  EXPECT_EQ(state_of(line("7", "7", "RUNNING", "alpha", "N/A")), State::unknown);
}

TEST(AllocationStates, a_node_that_is_not_in_the_whole_list_of_nodes_is_given_up) {
  const AllocationNow told = now_of(line("7", "7", "RUNNING", "alpha", "1795342086", "n[1-2,4]"));
  EXPECT_EQ(state_on(told, "n2"), State::active);
  EXPECT_EQ(state_on(told, "n3"), State::given_up);
  EXPECT_EQ(state_on(told, ""), State::active) << "its name is not known";
  EXPECT_EQ(state_on(now_of(line("7", "7", "CANCELLED")), "n3"), State::cut_off);
}

// What is too long for its column runs into the next one, and one whose end is missing has fewer.
TEST(AllocationStates, of_a_list_of_nodes_that_was_cut_nothing_is_known) {
  for (const auto& [nodes, number] :
       std::vector<std::pair<std::string, std::string>>{{"n[1-2]", "3"},
                                                        {"n[1-", "3"},
                                                        {"n1,n2,", "2"},
                                                        {"n[1-3]", "0"},
                                                        {"n[1-3]", "many"},
                                                        {"", "3"},
                                                        {"(null)", "3"}}) {
    const AllocationNow told =
        now_of(line("7", "7", "RUNNING", "alpha", "1795342086", nodes, number));
    EXPECT_EQ(state_on(told, "n3"), State::unknown) << nodes;
  }
  EXPECT_EQ(state_of("7 7 alpha n[1-3]3 RUNNING 1795342086 1795349000\n"), State::unknown);
  std::string cut = line("7", "7", "RUNNING", "alpha", "1795349999");
  cut.pop_back();
  EXPECT_EQ(state_of(cut), State::unknown) << "the last line does not end";
}

// It says when it began to who lives in it, and nothing against anybody.
TEST(AllocationStates, one_whose_start_is_not_known_can_only_be_found_to_run) {
  const Allocation vague = of("7", "alpha", {});
  EXPECT_EQ(now_of(line("7", "7", "RUNNING"), vague).start, kStart);
  for (const char* state : {"COMPLETED", "TIMEOUT", "NODE_FAIL", "PENDING"})
    EXPECT_EQ(state_of(line("7", "7", state), vague), State::unknown) << state;
}

TEST(NodeName, is_known_only_where_the_allocation_has_a_node_of_that_name) {
  EXPECT_EQ(node_name("n3", "n[1-4]"), "n3");
  EXPECT_EQ(node_name("n3.site", "n[1-4]"), "");
  EXPECT_EQ(node_name("n3", "n[1-4"), "");
  EXPECT_EQ(node_name(std::nullopt, "n[1-4]"), "");
  EXPECT_EQ(node_name("n3", std::nullopt), "");
}

TEST(AllocationStates, what_is_not_fully_named_is_not_asked_about) {
  RecordedSlurm slurm;
  const std::vector<Allocation> vague{of("7", ""), of("", "alpha")};
  for (const auto& [asked, now] : ask_about(slurm.run(), vague))
    EXPECT_EQ(now.state, State::unknown);
  EXPECT_TRUE(slurm.asked().empty());
}

TEST(AllocationStates, a_controller_that_is_away_ends_nothing) {
  RecordedSlurm slurm;
  EXPECT_EQ(states_of(ask_about(slurm.run(), {of("7")})), (States{{of("7"), State::unknown}}));
  EXPECT_EQ(slurm.asked().size(), 1U) << "no second question to a controller that does not answer";
  slurm.answers(squeue("7"), {1, line("7", "7", "COMPLETED"), "Zero Bytes were transmitted\n"});
  EXPECT_EQ(states_of(ask_about(slurm.run(), {of("7")})), (States{{of("7"), State::unknown}}));
}

TEST(AllocationStates, without_slurm_everything_is_unknown) {
  const RunProgram missing = [](const auto&) -> Result<CommandOutput> {
    return CommandOutput{127, "", ""};
  };
  EXPECT_EQ(states_of(ask_about(missing, {of("7")})), (States{{of("7"), State::unknown}}));
  const RunProgram failing = [](const auto&) -> Result<CommandOutput> {
    return Error{ErrorKind::busy, "squeue did not answer within 10 s", ""};
  };
  EXPECT_EQ(states_of(ask_about(failing, {of("7")})), (States{{of("7"), State::unknown}}));
}

TEST(AllocationStates, garbage_ends_nothing) {
  for (const std::string& garbage :
       {std::string("Loading site profile ...\n7 7\n\0\xff\n", 33), line("7", "7", "COMPLETED BY"),
        std::string("7 7 COMPLETED\n"), std::string("7 7 alpha n1 1 COMPLETED\n"),
        line("77", "77", "COMPLETED"), line("7", "7", "COMPLETE"),
        line("7", "7", "COMPLETED", "alph"), line("7", "7", "COMPLETED", "alpha", "179534208"),
        line("7", "7", "COMPLETED", "alpha", "1795342086s")})
    EXPECT_EQ(state_of(garbage), State::unknown) << garbage;
}

TEST(AllocationStates, elements_of_an_array_are_found_by_either_number) {
  RecordedSlurm slurm;
  slurm.answers(squeue("30_1,31"),
                {0, line("31", "30_0", "RUNNING") + line("32", "30_1", "FAILED"), ""});
  EXPECT_EQ(states_of(ask_about(slurm.run(), {of("30_1"), of("31")})),
            (States{{of("31"), State::active}, {of("30_1"), State::ended}}));
}

TEST(AllocationStates, a_slurm_that_prints_local_time_is_understood) {
  std::tm parts{};
  parts.tm_year = 126, parts.tm_mon = 10, parts.tm_mday = 21;
  parts.tm_hour = 5, parts.tm_min = 12, parts.tm_sec = 46, parts.tm_isdst = -1;
  EXPECT_EQ(state_of(line("7", "7", "COMPLETED", "alpha", "2026-11-21T05:12:46"),
                     of("7", "alpha", at(std::mktime(&parts)))),
            State::ended);
}

TEST(AllocationStates, what_is_no_job_id_never_reaches_a_command_line) {
  RecordedSlurm slurm;
  std::vector<Allocation> strange;
  for (const char* id : {"", "--help", "7;rm", "a", "_1"}) strange.push_back(of(id));
  for (const auto& [asked, now] : ask_about(slurm.run(), strange))
    EXPECT_EQ(now.state, State::unknown) << asked.id;
  EXPECT_TRUE(slurm.asked().empty());
}

constexpr WallTime kNow = std::chrono::seconds(1795239001);
const std::string kAskTimes = squeue("7", "JobID:24,Cluster:64,StartTime:32,EndTime:32");

TEST(AllocationTimes, the_variables_answer_without_asking_slurm) {
  RecordedSlurm slurm;
  const auto times =
      allocation_times(slurm.run(), "alpha", "7", {"1795239000", "1795239166"}, kNow);
  EXPECT_EQ(times.start, at(1795239000));
  EXPECT_EQ(times.end, at(1795239166));
  EXPECT_TRUE(slurm.asked().empty());
}

TEST(AllocationTimes, near_the_end_that_the_variables_tell_slurm_knows_whether_it_has_moved) {
  const AllocationVariables told{"1795239000", "1795239166"};
  for (const auto now : {at(1795239000) + kJustBegun, at(1795239166), at(1795249166)}) {
    RecordedSlurm slurm;
    const auto alone = allocation_times(slurm.run(), "alpha", "7", told, now);
    EXPECT_EQ(alone.end, at(1795239166));
    EXPECT_FALSE(alone.asked);
    slurm.answers(kAskTimes, {0, "7 alpha 1795239000 1795259166\n", ""});
    const auto times = allocation_times(slurm.run(), "alpha", "7", told, now);
    EXPECT_EQ(times.end, at(1795259166));
    EXPECT_EQ(times.start, at(1795239000));
    EXPECT_TRUE(times.asked);
    for (const char* other : {"7 alpha 1795239000 N/A\n", "7 alpha 1795249000 1795259166\n"}) {
      slurm.answers(kAskTimes, {0, other, ""});
      const auto as_told = allocation_times(slurm.run(), "alpha", "7", told, now);
      EXPECT_EQ(as_told.end, at(1795239166)) << other;
      EXPECT_EQ(as_told.start, at(1795239000)) << other;
    }
  }
}

TEST(AllocationTimes, of_an_answer_that_was_cut_nothing_is_taken) {
  RecordedSlurm slurm;
  slurm.answers(kAskTimes, {0, "7 alpha 1795239000 17952391", ""});
  EXPECT_EQ(allocation_times(slurm.run(), "alpha", "7", {}, kNow).end, std::nullopt);
}

TEST(AllocationTimes, without_a_usable_variable_squeue_is_asked) {
  RecordedSlurm slurm;
  slurm.answers(kAskTimes, {0, "7 alpha 1795239000 1795239166\n", ""});
  for (const auto& end : {std::optional<std::string>(), std::optional<std::string>("soon"),
                          std::optional<std::string>("0")}) {
    const auto times = allocation_times(slurm.run(), "alpha", "7", {{}, end}, kNow);
    EXPECT_EQ(times.end, at(1795239166));
    EXPECT_EQ(times.start, at(1795239000));
  }
}

TEST(AllocationTimes, of_another_cluster_or_another_element_of_the_array_nothing_is_taken) {
  RecordedSlurm slurm;
  slurm.answers(kAskTimes, {0,
                            "8 alpha 1795230000 1795230166\n7 alpha 1795239000 1795239166\n"
                            "7 beta 1795231000 1795231166\n",
                            ""});
  EXPECT_EQ(allocation_times(slurm.run(), "alpha", "7", {}, kNow).end, at(1795239166));
  slurm.answers(kAskTimes, {0, "7 beta 1795231000 1795231166\n", ""});
  EXPECT_EQ(allocation_times(slurm.run(), "alpha", "7", {}, kNow).end, std::nullopt);
  const auto vague = allocation_times(slurm.run(), "", "7", {}, kNow);
  EXPECT_EQ(vague.end, at(1795231166)) << "better than no end";
  EXPECT_EQ(vague.start, std::nullopt) << "nothing may be concluded from it";
}

TEST(AllocationTimes, no_limit_and_no_answer_are_no_end) {
  for (const auto* end :
       {"NONE", "N/A", "", "Unknown", "two words", "-5", "2026-11-21T05", "99999999999999999999"}) {
    RecordedSlurm slurm;
    slurm.answers(kAskTimes, {0, std::string("7 alpha 1795239000 ") + end + "\n", ""});
    EXPECT_EQ(allocation_times(slurm.run(), "alpha", "7", {}, kNow).end, std::nullopt) << end;
  }
  RecordedSlurm slurm;
  EXPECT_EQ(allocation_times(slurm.run(), "alpha", "7", {}, kNow).end, std::nullopt);
  EXPECT_EQ(allocation_times(slurm.run(), "alpha", "", {}, kNow).end, std::nullopt);
}

// Times far from now would be reckoned into the past.
TEST(AllocationTimes, what_no_clock_shows_is_no_end) {
  for (const char* end : {"253402300799", "9223372036854775807", "99999999999999999999", "-5", "0"})
    EXPECT_EQ(allocation_times({}, "alpha", "7", {{}, end, {}}, kNow).end, std::nullopt) << end;
  EXPECT_EQ(time_of("9999-12-31T23:59:59"), std::nullopt);
  EXPECT_EQ(time_of("253402300799"), std::nullopt);
  EXPECT_NE(time_of("2036-11-23T14:41:29"), std::nullopt);
}

TEST(AllocationTimes, without_an_answer_the_walltime_of_the_script_counts) {
  const AllocationVariables script{{}, {}, "1795239900"};
  for (const auto* answer : {"", "slurm_load_jobs error\n", "Welcome to alpha!\n",
                             "8 alpha 1795239000 1795239166\n", "7 alpha 1795239000"}) {
    RecordedSlurm slurm;
    slurm.answers(kAskTimes, {0, answer, ""});
    const auto times = allocation_times(slurm.run(), "alpha", "7", script, kNow);
    EXPECT_EQ(times.end, at(1795239900)) << answer;
    EXPECT_TRUE(times.assumed);
    EXPECT_EQ(times.start, std::nullopt) << "an assumption names no run of an allocation";
  }
  RecordedSlurm slurm;  // it fails
  EXPECT_EQ(allocation_times(slurm.run(), "alpha", "7", script, kNow).end, at(1795239900));
  EXPECT_EQ(allocation_times({}, "alpha", "7", script, kNow).end, at(1795239900))
      << "nobody may ask";
  slurm.answers(kAskTimes, {0, "7 alpha 1795239000 1795239166\n", ""});
  const auto told = allocation_times(slurm.run(), "alpha", "7", script, kNow);
  EXPECT_EQ(told.end, at(1795239166));
  EXPECT_FALSE(told.assumed);
}

// As Slurm 22.05 prints it, shortened.
TEST(GrantedMemory, is_what_slurm_says_of_this_job_and_node) {
  const std::string question = "env -u SLURM_CLUSTERS scontrol show job -d -o 6";
  const auto granted = [&](const std::string& out, const std::string& node, int exit_code = 0) {
    RecordedSlurm slurm;
    slurm.answers(question, {exit_code, out, ""});
    return granted_memory(slurm.run(), "6", node);
  };
  const std::string line =
      "JobId=6 JobName=interactive NodeList=n[1-3] TRES=cpu=4,mem=500M,node=3   Nodes=n[1-2] "
      "CPU_IDs=0 Mem=100 GRES=   Nodes=n3 CPU_IDs=0-1 Mem=300 GRES= MinCPUsNode=1 \n";
  EXPECT_EQ(granted(line, "n2"), mebibytes(100));
  EXPECT_EQ(granted(line, "n3"), mebibytes(300));
  EXPECT_EQ(told_memory(line, "6", "n3"), mebibytes(300)) << "of an answer that was kept";
  EXPECT_EQ(granted(line, "n4"), std::nullopt);
  EXPECT_EQ(granted(line, ""), std::nullopt);
  EXPECT_EQ(granted(line, "n2", 1), std::nullopt);
  EXPECT_EQ(granted("", "n2"), std::nullopt);
  EXPECT_EQ(granted("JobId=6 Nodes=n2 CPU_IDs=0 Mem=10", "n2"), std::nullopt) << "it was cut";
  EXPECT_EQ(granted("JobId=7 Nodes=n2 CPU_IDs=0 Mem=100 GRES=\n", "n2"), std::nullopt);
  EXPECT_EQ(granted("JobId=6 Nodes=n2 CPU_IDs=0 Mem=0 GRES=\n", "n2"), std::nullopt)
      << "this Slurm does not count memory";
  EXPECT_EQ(granted("JobId=6 Nodes=n2 CPU_IDs=0 Mem=1 Nodes=n2 CPU_IDs=0 Mem=100 GRES=\n", "n2"),
            std::nullopt)
      << "two answers are none: a name can look like a part";
  EXPECT_EQ(granted("JobId=6 Nodes=n2 CPU_IDs=0 Mem=99999999999999999999 GRES=\n", "n2"),
            std::nullopt);
}

TEST(ClusterTimes, are_what_the_configuration_says) {
  RecordedSlurm slurm;
  EXPECT_EQ(cluster_times(slurm.run()).kill_wait, std::nullopt) << "the controller is away";
  slurm.answers("env -u SLURM_CLUSTERS scontrol show config",
                {0,
                 "Configuration data as of 2024-05-01T12:00:00\n"
                 "KeepAliveTime           = SYSTEM_DEFAULT\n"
                 "KillOnBadExit           = 0\n"
                 "KillWait                = 45 sec\n"
                 "LaunchParameters        = (null)\n"
                 "SlurmdTimeout           = 300 sec\n",
                 ""});
  EXPECT_EQ(cluster_times(slurm.run()).kill_wait, std::chrono::seconds(45));
  EXPECT_EQ(cluster_times(slurm.run()).slurmd_timeout, std::chrono::seconds(300));
  slurm.answers("env -u SLURM_CLUSTERS scontrol show config",
                {0, "KillWait = soon\nKillWait\nKillWait = 4", ""});
  EXPECT_EQ(cluster_times(slurm.run()).kill_wait, std::nullopt);
}

}  // namespace
}  // namespace torc::slurm
