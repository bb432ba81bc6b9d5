// One registration of a worker: from its epoch to its release or the loss of its lease. It tells
// the state machine (lib/worker/machine/step.h) what happens, and does what that orders; it decides
// nothing itself. One thread; the store is talked to through the Committer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/exec/end/watched_lease.h"
#include "lib/exec/node/node_ledger.h"
#include "lib/exec/run/process_host.h"
#include "lib/worker/bell/udp_bell.h"
#include "lib/worker/lease/committer.h"
#include "lib/worker/loop/commands.h"
#include "lib/worker/loop/registration.h"
#include "lib/worker/loop/worker.h"
#include "lib/worker/machine/step.h"

namespace torc::worker {

class Session {
 public:
  // `ledger`: of the node; null: the worker has all of its machine. All outlive this.
  Session(const workflow::Context& context, const WorkerSetup& setup, const WorkerEvents& events,
          exec::ProcessHost& host, exec::NodeLedger* ledger);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // What fails once it was told to stop is in the summary; an Error may be tried again.
  Result<WorkerSummary> run(std::unique_ptr<store::Store> store);
  // Something was said to the store that it has not answered yet.
  [[nodiscard]] bool awaits_store() const {
    return committer_ != nullptr && (committer_->busy() || committer_->asking());
  }

 private:
  Result<WorkerSummary> live(std::unique_ptr<store::Store> store);
  Result<void> come(std::unique_ptr<store::Store> store);

  // The three steps of the loop.
  void turn();
  Result<void> wait();
  void feed(Event event);

  [[nodiscard]] std::optional<Event> carry_out(Command& order);
  [[nodiscard]] event::GoodbyeAnswer say_goodbye(const command::Goodbye& order);
  [[nodiscard]] event::GangCleared end_gang(const command::EndGang& order) const;
  void close_shop();
  void leave(const command::Leave& order);
  void look_at_lease();
  [[nodiscard]] bool is_share_there() const;
  void check_share();
  void look_at_share();
  void watch_bell(bool watch);
  void hear_signals();
  void hear_store();
  void hear_bells();
  void move_end(WallTime ends_at);
  void tell(const Notice& notice);
  void describe();
  [[nodiscard]] Moment now() const { return {clock_.boot_now(), clock_.wall_now()}; }
  void notice(const std::string& line) const {
    if (events_.notice && !line.empty()) events_.notice(line);
  }

  const workflow::Context& context_;
  Clock& clock_;
  const WorkerSetup& setup_;
  const WorkerEvents& events_;
  exec::ProcessHost& host_;
  exec::NodeLedger* ledger_;
  int watched_bell_ = -1;
  exec::WatchedLease own_lease_;  // when nobody watches
  exec::WatchedLease& lease_;
  int signal_fd_;
  std::string mounted_;  // mountinfo at the start
  Path directory_;       // of the store
  std::string store_id_;
  BootTime begun_;

  std::vector<claim::Action> actions_;
  std::unique_ptr<JobPreparer> preparer_;
  std::unique_ptr<UdpBell> bell_;  // null: it only looks now and then
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<HostedCommands> commands_;
  std::unique_ptr<store::Store> store_;  // after the committer's end
  State state_;
  Commands orders_;
  RepeatedSignals asked_;  // by a person, what goes on
  bool halted_ = false;    // as WorkerEvents::halt said
  std::optional<Error> failure_;
};

}  // namespace torc::worker
