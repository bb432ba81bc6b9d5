// Which processes belong to which run, and signals to all of them.
//
// The leader of a command leads a session and a process group. When the leader has ended, the group
// is killed while its number is still held by the unreaped leader. Processes that left the group
// have lost all their living ancestors by then, or lose them now, and become children of this
// process, which is a subreaper; they are found in the list of its children, attributed to their
// command and killed, one generation after the other. The tree has ended when the group has no
// members and no adopted process is left.
//
// Internal to lib/exec: include process_host.h.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "lib/exec/run/lane_runs.h"
#include "lib/exec/run/own_children.h"
#include "lib/exec/run/run_table.h"
#include "lib/exec/run/run_tag.h"
#include "lib/exec/run/strays.h"

namespace torc::exec {

// All calls from the host's thread. Keys are of runs in the table, but where it says otherwise.
// Signals that cannot be sent (the process has gone, or is another user's) are lost without a word.
class RunTrees {
 public:
  // All of these outlive it; `lane` is asked for what it began before anything is attributed.
  RunTrees(RunTable& runs, OwnChildren& children, const RunTag& tag, LaneRuns& lane)
      : runs_(runs), children_(children), tag_(tag), lane_(lane) {}

  [[nodiscard]] RunTable& runs() { return runs_; }
  [[nodiscard]] const Strays& strays() const { return strays_; }

  // Attributes the children of this process that came to it since the last time. One of a command
  // whose end was reported is killed.
  void adopt();
  // The run that a child of this process belongs to, perhaps none of the table any more; nullopt:
  // it hides whose it is, or is no command's.
  [[nodiscard]] std::optional<RunKey> owner_of(pid_t pid) const;
  // An adopted one was reaped. Of others, nothing.
  void forget(pid_t pid) { strays_.remove(pid); }
  // Gives the oldest run what can be nobody else's of those that hide; nothing if it is not `key`.
  void claim_hidden(RunKey key);

  // The whole tree as it is now; each after its parent.
  [[nodiscard]] std::vector<pid_t> processes_of(RunKey key) const;
  // Those of them that have left the group of the leader.
  [[nodiscard]] std::vector<pid_t> outside_group(RunKey key) const;
  // Of one without a leader: nothing else is left of it either.
  [[nodiscard]] bool is_gone(RunKey key);

  // To every process of it.
  void signal(RunKey key, int signal);
  // SIGKILL to its group and to what was adopted of it; it is in Phase::killed from then on. What
  // has left the group is found, and killed, once its parents have ended.
  void kill(RunKey key);
  // What cannot be killed (it runs as another user) is given up.
  void kill_strays(RunKey key);
  void kill_all_strays() const;

  // A tree without a leader may have ended without a child of this process to tell of it.
  [[nodiscard]] bool are_unsettled() const { return unsettled_; }
  void set_unsettled(bool unsettled) { unsettled_ = unsettled; }

 private:
  void adopt_one(pid_t pid);
  static void signal_group(Run& run, int signal);

  RunTable& runs_;
  OwnChildren& children_;
  const RunTag& tag_;
  LaneRuns& lane_;
  Strays strays_;
  bool unsettled_ = false;
};

}  // namespace torc::exec
