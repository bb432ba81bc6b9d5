// The simulated world of one node: its clock, its way to the heartbeats, its way to the shared
// state. All of them ask the Simulator what time it is and whether the filesystem answers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "bench/simulation.h"
#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"

namespace torc::bench {

using SimTime = std::chrono::nanoseconds;  // since the beginning

enum class EventKind : std::uint8_t {
  start,
  turn,
  list,
  publish,
  answer,
  tick,
  job_end,
  fence,
  trouble
};
struct Event {
  SimTime at{};
  std::uint64_t order = 0;  // of those at the same time, the first made first
  std::uint32_t node = 0;
  EventKind kind = EventKind::turn;
  std::uint64_t detail = 0;
  bool operator<(const Event& o) const {  // the queue gives the greatest first
    return at != o.at ? at > o.at : order > o.order;
  }
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void handle(const Event& event) = 0;
};

// Time, the events to come, the shared state and what it costs to get at it.
class Simulator {
 public:
  Simulator(const Scenario& scenario, const JournalCost& cost) : scenario_(scenario), cost_(cost) {}

  [[nodiscard]] SimTime now() const { return now_; }
  void at(SimTime when, std::uint32_t node, EventKind kind, std::uint64_t detail = 0);
  // Handles events until `until`, or until stop(). Calls may be nested: that is how a call of one
  // node hangs while others go on.
  void run_until(SimTime until, EventSink& sink);
  void stop() { stopped_ = true; }
  [[nodiscard]] bool stopped() const { return stopped_; }

  // Until when calls of the node to the filesystem hang, or the node itself stands still; now() or
  // earlier: they do not.
  [[nodiscard]] SimTime filesystem_hangs(std::uint64_t node) const;
  [[nodiscard]] SimTime stands_still(std::uint64_t node) const;
  void wait_for_filesystem(std::uint64_t node);

  // The time that so many requests take, one after the other.
  [[nodiscard]] SimTime latency(double requests);
  void count_requests(double n);
  void count_beat();
  void count_commit();

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const JournalCost& cost() const { return cost_; }
  [[nodiscard]] SeededEntropy& entropy() { return entropy_; }
  [[nodiscard]] double dice() { return static_cast<double>(entropy_.next() >> 11) * 0x1p-53; }

  std::unique_ptr<store::Store> state;  // the shared one
  EventSink* sink = nullptr;
  std::map<Path, std::map<std::uint64_t, std::string>> beats;  // by file and offset
  Figures figures;

 private:
  struct PerMinute {
    std::uint64_t minute = 0;
    double count = 0;
    double most = 0;
    void add(SimTime now);
  };
  [[nodiscard]] bool measured() const { return now_ >= scenario_.measured_from; }

  const Scenario& scenario_;
  const JournalCost& cost_;
  SeededEntropy entropy_{scenario_.seed};
  SimTime now_{};
  bool stopped_ = false;
  std::uint64_t made_ = 0;
  std::priority_queue<Event> events_;
  PerMinute commits_;
  PerMinute beats_;
};

class SimClock final : public Clock {
 public:
  SimClock(const Simulator& simulator, std::uint64_t node)
      : simulator_(simulator), booted_(std::chrono::seconds(3600 + 977 * node)) {}
  [[nodiscard]] BootTime boot_now() const override { return simulator_.now() + booted_; }
  [[nodiscard]] WallTime wall_now() const override;
  void sleep_for(std::chrono::nanoseconds) override {}
  void lose(std::chrono::nanoseconds time) { booted_ -= time; }
  [[nodiscard]] SimTime at(BootTime boot) const { return boot - booted_; }

 private:
  const Simulator& simulator_;
  BootTime booted_;
};

// Of the Disk only what heartbeats need.
class BeatDisk final : public store::Disk {
 public:
  BeatDisk(Simulator& simulator, std::uint64_t node) : simulator_(simulator), node_(node) {}
  Result<store::FileHandle> open_read(const Path& file) override;
  Result<store::FileHandle> open_update(const Path& file) override;
  Result<std::string> read(store::FileHandle file, std::uint64_t at, std::size_t n) override;
  Result<void> write(store::FileHandle file, std::uint64_t at, std::string_view bytes) override;
  Result<void> close(store::FileHandle file) override;
  Result<void> unlink(const Path& file) override;
  // Costs a request and shows nothing: what is asked for next is answered by what is there.
  Result<std::vector<std::string>> list(const Path& directory) override;

  Result<store::FileHandle> create(const Path&) override { return no(); }
  Result<store::FileHandle> create_unnamed(const Path&) override { return no(); }
  Result<void> sync(store::FileHandle, store::Sync) override { return no(); }
  Result<void> link(const Path&, const Path&) override { return no(); }
  Result<void> link_unnamed(store::FileHandle, const Path&) override { return no(); }
  Result<void> make_directory(const Path&) override { return no(); }
  Result<void> remove_directory(const Path&) override { return no(); }
  Result<void> rename(const Path&, const Path&, store::Replace) override { return no(); }
  Result<void> sync_directory(const Path&) override { return no(); }
  Result<store::FileStatus> status(const Path&) override { return no(); }
  Result<std::uint64_t> filesystem(const Path&) override { return no(); }
  Result<bool> try_lock(store::FileHandle) override { return no(); }
  Result<void> unlock(store::FileHandle) override { return no(); }

 private:
  static Error no() { return Error{ErrorKind::unsupported, "not in this world", {}}; }
  void request();

  Simulator& simulator_;
  std::uint64_t node_;
  Path open_;  // one at a time
};

// The shared state as one node gets at it.
class NodeStore final : public store::Store {
 public:
  NodeStore(Simulator& simulator, std::uint64_t node) : simulator_(simulator), node_(node) {}
  Result<store::Commit> commit(std::uint64_t author, const Body& body) override;
  Result<void> view(store::Freshness freshness,
                    const std::function<Result<void>(const store::Reader&)>& body) override;
  Result<void> maintain() override { return {}; }
  [[nodiscard]] int changes_fd() const override { return -1; }
  void clear_changes() override {}
  [[nodiscard]] const store::Identity& identity() const override {
    return simulator_.state->identity();
  }
  [[nodiscard]] const Path& directory() const override { return simulator_.state->directory(); }
  void forget_copy() override {}
  [[nodiscard]] const std::string& note() const override { return simulator_.state->note(); }

  // The commits that this node has not read: the requests for it. From then on it has.
  double catch_up();
  [[nodiscard]] std::uint64_t newest();
  void has_seen(std::uint64_t sequence) { seen_ = sequence; }

 private:
  Simulator& simulator_;
  std::uint64_t node_;
  std::uint64_t seen_ = 0;
};

}  // namespace torc::bench
