// Time, what is still to happen, and the nodes of a simulated cluster: each with its clocks, its
// way to the shared filesystem, and a moment from which it runs again when it stands still.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/store/testing/test_nfs.h"
#include "tests/property/fiber.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/shared_node.h"
#include "tests/simulation/store_cost.h"

namespace torc::simulation {

class World;

// Over the time that is measured.
struct Measured {
  double commits = 0;
  double requests = 0;
  double heartbeats = 0;
  double starts = 0;
  double busy = 0;            // seconds of slots
  std::vector<double> waits;  // of dependents for the end before them to be told, and their start
  std::vector<double> ready_waits;  // for their start alone; both in seconds
  std::uint64_t bells = 0;          // datagrams
  std::uint64_t conflicts = 0;
  double most_commits = 0;  // a second, in the worst minute of all
};

// Of one thread of a simulated process that waits for the filesystem.
class Waiter {
 public:
  virtual ~Waiter() = default;
  [[nodiscard]] virtual bool alive() const = 0;
  // Stops here and goes on when `time` has passed and its process runs. Not from the outside.
  virtual void wait(Time time) = 0;
  // Until the filesystem answers its node.
  virtual void wait_for_filesystem() = 0;
  [[nodiscard]] virtual bool loses_replies() const = 0;
};

class Node final {
 public:
  Node(World& of, int n);

  // It is there and does not stand still.
  [[nodiscard]] bool runs() const;

  World& world;
  int number;
  std::string name;
  bool dead = false;
  bool lost_time = false;  // its clock of time since boot has missed some
  Time stands_until{};
  Time cut_off_until{};  // from the filesystem
  Time loses_replies_until{};
  Time lost{};  // by its clock of time since boot
  Time dead_mount_until{};
  SharedNode shared;
  bool lost_ledger = false;  // workers may have taken what others used, until all had found out
  WallTime wall_offset{};
  std::unique_ptr<Clock> clock;
  std::unique_ptr<store::testing::NfsDisk> disk;
};

// One event at a time, in the order of their times, and of their making.
class World final : public store::testing::Network {
 public:
  explicit World(std::uint64_t seed, bool tells);

  [[nodiscard]] Time now() const { return now_; }
  // As clocks tell it that go right.
  [[nodiscard]] static WallTime wall(Time time);
  void at(Time when, std::function<void()> what);
  // When the node runs. Not at all when it dies first.
  void at(Time when, const Node& node, std::function<void()> what);
  // Until nothing is left to happen, `until` has come, or `is_over` says so after an event.
  void run(Time until, const std::function<bool()>& is_over);

  std::uint64_t pick(std::uint64_t below) { return random_.next() % below; }
  double part() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
  bool one_in(std::uint64_t n) { return pick(n) == 0; }
  Entropy& random() { return random_; }
  // That a request takes.
  [[nodiscard]] Time latency();
  // Of so many, one after the other.
  [[nodiscard]] Time latency(double requests);

  // The history, for who reads it.
  [[nodiscard]] bool tells() const { return tells_; }
  void tell(const std::string& line);
  [[nodiscard]] const std::vector<std::string>& history() const { return history_; }
  // The first promise that was broken ends the history.
  void violate(const std::string& what);
  [[nodiscard]] const std::string& violation() const { return violation_; }

  // Who calls a disk now.
  Waiter* caller = nullptr;
  bool in_transaction = false;  // nothing may wait there
  bool calm = false;            // nothing goes wrong any more
  bool full = false;            // nothing can be written
  std::uint64_t requests = 0;
  StoreCost cost;
  Measured measured;
  store::testing::FileServer::Inode heartbeats_directory = 0;
  Time measured_from{};
  void count_requests(double n);
  void count_commit();
  [[nodiscard]] bool measures() const { return now_ >= measured_from; }
  // In the directory of the heartbeats.
  [[nodiscard]] std::uint64_t heartbeat_files() const;
  std::uint64_t events = 0;
  // In one second of simulated time more than these break a promise, too; 0: any number is good.
  std::uint64_t most_events_a_second = 0;

  store::testing::NfsServer& server() { return server_; }

  // --- store::testing::Network ---
  store::testing::RequestFate fate(const store::testing::Request& request) override;
  void answered() override {}
  int error() override;
  void later(std::function<void()> act) override;
  [[nodiscard]] bool alive() override { return caller == nullptr || caller->alive(); }
  [[nodiscard]] int process() override { return 0; }
  bool coin() override { return one_in(2); }

 private:
  class ServerClock;
  struct Entry {
    Time at{};
    std::uint64_t order = 0;
    std::function<void()> what;
  };
  static bool later_than(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  SeededEntropy random_;
  bool tells_;
  Time now_{};
  std::uint64_t made_ = 0;
  std::vector<Entry> entries_;  // a heap
  std::vector<std::string> history_;
  std::string violation_;
  void count_event();

  std::int64_t second_ = 0;
  std::uint64_t events_in_second_ = 0;
  std::int64_t minute_ = 0;
  double commits_in_minute_ = 0;
  std::unique_ptr<Clock> server_clock_;
  store::testing::NfsServer server_;
};

}  // namespace torc::simulation
