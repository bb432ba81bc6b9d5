// One simulated worker process: its main thread, which is the loop around the state machine, the
// thread of its store, its watchdog, and the jobs that it runs.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/worker/lease/store_side.h"
#include "lib/worker/machine/step.h"
#include "tests/simulation/cluster.h"

namespace torc::simulation {

class Process final : public Waiter {
 public:
  Process(Cluster& cluster, Node& node, std::uint64_t pid, std::string allocation, int starters);
  ~Process() override;

  [[nodiscard]] Node& node() const { return node_; }
  [[nodiscard]] std::uint64_t pid() const { return pid_; }
  [[nodiscard]] const std::string& allocation() const { return allocation_; }
  [[nodiscard]] WallTime allocation_start() const { return allocation_start_; }
  // When its time ends, as its worker has it.
  [[nodiscard]] std::optional<Time> ends_at() const;
  [[nodiscard]] std::string name() const;
  // Its worker's epoch, while it has one.
  [[nodiscard]] std::uint64_t epoch() const;

  void begin();
  void signal(int number);
  // Its jobs end with it: their parent's death kills them, and the watchdog all that they started.
  void kill();
  void stand_still_until(Time until);
  // It did, for so long; its host notices.
  void stood_still(Time time);
  // The watchdog looks at the lease, and at whether the node runs.
  void look_at_lease();
  // A signal to the processes of its jobs, within so many nanoseconds.
  void signal_jobs(int number, std::uint64_t spread);
  void neighbour_ended(std::uint64_t pid);
  [[nodiscard]] bool has_ended() const { return !alive_; }
  // SIGKILL to what it runs of that gang.
  void kill_gang(const claim::ClaimToken& token);
  // What it runs of that gang fails, by itself.
  void fail_gang(const claim::ClaimToken& token);
  [[nodiscard]] Time stood_until() const { return stands_until_; }
  // Whether its lease stands it does not know.
  [[nodiscard]] bool is_in_doubt() const;
  [[nodiscard]] bool was_killed() const { return killed_; }
  // It alone, by SIGSTOP.
  [[nodiscard]] bool stands_still() const { return stands_until_ > world_.now(); }
  [[nodiscard]] bool has_runs() const { return life_ != nullptr && !life_->runs.empty(); }
  // Of the node's ledger.
  void hear_bell();
  // Whatever came to its port.
  void hear_datagram(const std::string& bytes);
  // At the state of the moment, as nobody in this world could.
  void look(const std::function<void(const store::Reader&)>& body) const;
  // Where it hears; none: nowhere.
  [[nodiscard]] std::optional<claim::BellPlace> bell() const;

  // --- Waiter, for the thread of its store ---
  [[nodiscard]] bool alive() const override { return alive_; }
  void wait(Time time) override;
  void wait_for_filesystem() override;
  [[nodiscard]] bool loses_replies() const override;

 private:
  // A command that runs, of a job or another.
  struct HostedRun {
    worker::Run run{};
    Time left{};
    Time since{};
    bool active = false;
    std::uint64_t version = 0;     // of the event that ends it
    std::optional<int> exit_code;  // none: it takes its worker with it
    bool timed_out = false;        // it will have been
    bool stopping = false;
    bool in_lane = false;
    std::optional<claim::ClaimToken> gang;
    std::optional<claim::ClaimToken> token;  // of a job of one node
  };
  struct Life {
    exec::WatchedLease lease;
    std::unique_ptr<worker::StoreSide> side;
    worker::State state;
    bool born = false;
    // For the thread of the store:
    std::optional<claim::Exchange> request;
    std::optional<worker::command::Goodbye> goodbye;
    bool asked = false;
    bool looks = false;  // at its allocation
    bool closing = false;
    std::vector<std::uint64_t> dead_neighbours;
    // For the main thread:
    std::vector<worker::Event> news;       // of the store
    std::vector<worker::Event> lane_news;  // what the host's threads began
    std::vector<worker::event::Ended> ends;
    bool blocked = false;                      // in its last words
    bool bell = false;                         // rang
    std::unique_ptr<exec::NodeLedger> ledger;  // none: it has its part of the node to itself
    BootTime turned{};
    std::map<worker::Run, HostedRun> runs;
    std::set<claim::ClaimToken> told;  // to its worker: it must end them
    // For the host's threads: what they begin next, and how many at the same time.
    std::deque<std::pair<worker::Run, claim::ClaimToken>> lane;
    std::size_t lane_width = 0;
  };

  // At a time when it runs, if it is the same life then.
  void at(Time when, std::function<void()> what);
  [[nodiscard]] Time world_time(BootTime boot) const;
  [[nodiscard]] worker::Moment moment() const;

  // --- the main thread ---
  void wake_at(Time when);
  void turn();
  void feed(worker::Event event);
  [[nodiscard]] std::optional<worker::Event> carry_out(worker::Command& order);
  void look_at_share();
  void end_life();

  // --- the thread of the store ---
  void serve();
  // False: it must be tried again.
  bool wait_for_turn();
  bool register_self();
  [[nodiscard]] claim::WorkerInfo describe() const;
  void be_born(worker::Birth birth, const claim::WorkerInfo& info, BootTime registered);
  void answer_requests();
  void check_allocation();
  void say_goodbye();
  void poke();
  void resume();

  // --- jobs ---
  enum class From : std::uint8_t { queue, lane };
  [[nodiscard]] worker::event::StartAnswer start(worker::Run run, const claim::ClaimToken& token,
                                                 From from);
  [[nodiscard]] worker::event::StartAnswer start_part(const worker::command::StartJob& order);
  [[nodiscard]] worker::event::GangCleared end_gang(const worker::command::EndGang& order);
  [[nodiscard]] worker::event::StartAnswer start(const worker::command::StartRecovery& order);
  [[nodiscard]] worker::event::StartAnswer start(const worker::command::StartAction& order);
  // Whether the node starts anything now; says so in the answer.
  enum class Lease : std::uint8_t { needed, not_needed };
  bool can_start(worker::event::StartAnswer& answer, Lease lease);
  // Its file cannot be had: the answer to its start has said so.
  void run_in_vain(worker::Run run);
  void begin_run(HostedRun run);
  void note_told(const std::vector<claim::ClaimToken>& tokens);
  void check_told(const claim::ClaimToken& token, int seconds);
  void stop_run(worker::Run run, std::chrono::nanoseconds lead);
  void kill_run(worker::Run run);
  void run_lane();
  void update_runs();
  void set_active(HostedRun& run, bool active);
  void end_run(worker::Run run, exec::Ending how, int code);
  void kill_runs();
  [[nodiscard]] exec::Ended ended(exec::Ending how, int code) const;
  void watch_lease();

  Cluster& cluster_;
  World& world_;
  Node& node_;
  std::uint64_t pid_;
  std::string allocation_;
  WallTime allocation_start_{};
  int starters_;
  bool alive_ = true;
  bool killed_ = false;
  Time stands_until_{};  // SIGSTOP
  std::vector<int> signals_;
  int lives_ = 0;
  std::unique_ptr<Life> life_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Fiber> thread_;
  bool in_thread_ = false;
  bool serving_ = false;  // its thread waits for something to do
  std::uint64_t resume_version_ = 0;
  std::uint64_t wake_version_ = 0;
  Time wake_due_ = Time::max();
  Time lease_due_ = Time::max();
};

}  // namespace torc::simulation
