// The ProcessHost of Linux. Internal to lib/exec: include process_host.h.
//
// How the end of a tree is known: the leader of a command leads a session and a process group. When
// the leader ends, the group is killed while its number is still held by the unreaped leader.
// Processes that left the group have lost all their living ancestors by then, or lose them now, and
// become children of this process, which is a subreaper; they are found in the list of its
// children, attributed to their command and killed, one generation after the other. The tree has
// ended when the group has no members and no adopted process is left.
#pragma once

#include <signal.h>

#include <unordered_set>

#include "lib/exec/end/kill_tree.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/exec/machine/cgroup.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/process/lane.h"
#include "lib/exec/process/run_table.h"
#include "lib/exec/start/launch.h"
#include "lib/exec/start/program_path.h"

namespace torc::exec {

// Whether this child has ended and is not reaped.
[[nodiscard]] bool is_dead_child(pid_t pid);

// As the command will find it; null: it is not set.
[[nodiscard]] const char* variable_of(const Command& command, std::string_view name);

class Host final : public ProcessHost {
 public:
  Host(Clock& clock, WatchedLease* lease);
  ~Host() override;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  Result<void> open();

  Result<RunId> start(const Command& command) override;
  Result<RunId> queue(const Command& command) override;
  void let_run(std::size_t commands) override;
  std::vector<RunId> take_back() override;
  [[nodiscard]] std::optional<Ended> not_started(RunId id) const override;
  void forget(RunId id) override;
  Result<void> watch(int fd) override;
  void unwatch(int fd) override;
  Result<Wakeup> wait(std::optional<BootTime> deadline) override;
  void stop(RunId id, std::chrono::nanoseconds lead) override;
  void kill(RunId id) override;
  void kill_all() override;
  [[nodiscard]] std::size_t running() const override;
  [[nodiscard]] pid_t leader(RunId id) override;

 private:
  // host_start.cc
  JobGroups* groups();  // nullptr: none to be had
  void prepare(Order& order, const JobGroup* group);
  Launched launch(Order& order);
  static void point_to_environment(const Command& command, std::string& run_tag,
                                   std::vector<char*>& environment);
  void record_start(const Leader& leader, const RunTerms& terms, std::unique_ptr<JobGroup> group);

  // host_lane.cc
  void look_at_lane();
  void know_leaders(std::chrono::nanoseconds age);
  void know_begun(const Leader& leader);
  void take_lane_end(const LeaderEnd& end);
  [[nodiscard]] bool is_of_lane(RunKey key) const { return lane_terms_.contains(key); }
  void mute_child_signals(bool mute);
  bool ask_later(RunId id, std::optional<std::chrono::nanoseconds> lead);

  // host_wait.cc
  std::optional<BootTime> tick();
  Result<void> arm(std::optional<BootTime> deadline);
  Result<void> sleep_for_events(bool at_once, Wakeup& wakeup);
  void expire_deadlines();
  void look_after_children();

  // host_pause.cc
  bool follow_lease();
  void stop_commands();
  void note_lost_time(std::optional<BootTime> alarm);
  void shift_deadlines(std::chrono::nanoseconds by);

  // host_end.cc
  bool reap();  // whether any child was
  [[nodiscard]] pid_t dead_child() const;
  void take(pid_t pid);
  void account(Run& run, const struct rusage& usage);
  static void account_io(Run& run, pid_t pid, bool is_leader);
  void adopt();
  [[nodiscard]] std::vector<pid_t> children() const;
  void adopt_one(pid_t pid);
  [[nodiscard]] std::optional<RunKey> owner_of(pid_t pid) const;
  void settle();
  void claim_hidden(RunKey key);
  [[nodiscard]] bool tree_gone(Run& run);
  [[nodiscard]] ByteCount peak_of(const Run& run);
  void report(RunKey key);
  void report_run(RunKey key, const Run& run, WallTime ended_at);

  // host_signal.cc
  void terminate(RunKey key, Ending cause, std::chrono::nanoseconds lead);
  void kill_run(RunKey key);
  void signal_run(RunKey key, int signal);
  [[nodiscard]] static bool has_ended(const Run& run);
  void signal_group(Run& run, int signal);
  void kill_strays(RunKey key);
  [[nodiscard]] std::vector<pid_t> outside_group(RunKey key, const Run& run) const;
  void end_everything();

  // host_memory.cc
  void watch_memory(RunKey key, ByteCount limit);
  void look_at_memory();
  void look_at_memory_of(RunKey key, Run& run, BootTime now);
  void look_at_io(Run& run, const std::vector<pid_t>& processes);
  void sample(RunKey key, Run& run, const std::vector<pid_t>& processes, ByteCount memory);
  [[nodiscard]] std::vector<pid_t> processes_of(RunKey key, const Run& run) const;
  [[nodiscard]] bool killed_by_kernel(const Run& run);
  [[nodiscard]] bool killed_in_group(const Run& run);

  Clock& clock_;
  WatchedLease* lease_;       // null: none
  bool paused_ = false;       // with the lease: all commands are stopped
  StoppedProcesses stopped_;  // by this process
  BootTime next_tick_{};
  std::chrono::nanoseconds stood_still_{};  // for the next wait()
  std::optional<BootTime> next_stop_;       // not all that is to stand still could be looked at
  pid_t process_ = 0;
  pid_t thread_ = 0;
  std::string identity_;  // "<pid>-<start time>-<moment>": names this host in TORC_RUN_ID
  sigset_t signals_before_{};
  bool opened_ = false;
  int epoll_ = -1;
  int child_signals_ = -1;
  int timer_ = -1;
  std::optional<BootTime> armed_;
  std::unique_ptr<Launcher> launcher_;
  std::vector<std::unique_ptr<ChildrenFile>> children_files_;  // empty: this kernel has none
  std::unordered_set<pid_t> earlier_children_;
  ProgramPaths paths_;

  RunKey last_key_ = 0;
  RunTable runs_;
  std::unordered_map<pid_t, Stray> strays_;
  std::vector<RunKey> leaderless_;  // runs whose leader has ended and whose end is not reported
  bool adopted_ = false;            // since wait() was entered
  bool unsettled_ = false;          // a tree without a leader was killed: look whether it is gone
  BootTime paid_until_{};           // processor time of looks, at their share of all time
  std::optional<BootTime> next_look_;  // at the memory of trees
  OomKills oom_kills_{"/"};
  bool asked_for_groups_ = false;
  std::unique_ptr<JobGroups> groups_;  // null: not asked for yet, or not to be had
  ByteCount own_peak_;                 // of this process's memory, when it was last looked at
  std::unique_ptr<Lane> lane_;         // null: nothing was queued yet
  std::unordered_map<RunKey, RunTerms> lane_terms_;  // of what is queued, or runs there
  // Told to end before their process was there; nothing: to be killed.
  std::unordered_map<RunKey, std::optional<std::chrono::nanoseconds>> asked_later_;
  std::size_t lane_width_ = 0;
  bool muted_ = false;        // ends of children do not wake it
  std::vector<Begun> begun_;  // these three: for the next wait()
  std::vector<Declined> declined_;
  std::vector<Ended> ended_;
  std::vector<Sample> samples_;
};

}  // namespace torc::exec
