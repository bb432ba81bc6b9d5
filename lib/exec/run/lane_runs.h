// The owner's side of a lane (lane.h): the commands that are queued in it or run there. Until one
// has run for a while, or needs something that a slot does not do, it is no run here; then it
// becomes one like all others. Internal to lib/exec: include process_host.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/run/events.h"
#include "lib/exec/run/lane.h"
#include "lib/exec/run/run_table.h"

namespace torc::exec {

// All calls from the host's thread. A command is *of the lane* from add() until it is taken back,
// declined or settled. Without open() nothing is of the lane, and all calls do nothing.
class LaneRuns {
 public:
  // What becomes a run is put into `runs`. Both outlive it.
  LaneRuns(const Clock& clock, RunTable& runs) : clock_(clock), runs_(runs) {}

  [[nodiscard]] bool is_open() const { return lane_ != nullptr; }
  // `orphans` as Lane takes them; news wakes `events`. After an Error it is not open.
  Result<void> open(const std::vector<pid_t>& orphans, Events& events);
  // Waits for what runs there, see ~Lane. Then nothing is of the lane any more.
  void close();

  // As of Lane.
  void set_width(std::size_t width);
  [[nodiscard]] std::unique_ptr<Order> blank();
  void add(std::unique_ptr<Order> order);
  std::vector<RunKey> take_back();
  [[nodiscard]] bool is_news(int fd) const { return lane_ != nullptr && fd == lane_->fd(); }
  void clear_news() const { lane_->clear_fd(); }
  [[nodiscard]] bool is_busy() const { return lane_ != nullptr && lane_->is_busy(); }

  [[nodiscard]] bool is_of_lane(RunKey key) const { return terms_.contains(key); }
  // Commands that run, with those that are runs and not of the lane.
  [[nodiscard]] std::size_t running() const;

  // Makes runs of those that have run for `age`; from then on their ends are the owner's matter.
  void make_runs(std::chrono::nanoseconds age);
  // The same of one, unless it is a run already.
  void make_run(const Leader& leader);

  struct Told {
    std::vector<Leader> begun;
    std::vector<LeaderEnd> ended;
    std::vector<RunKey> declined;
  };
  // What has become of them since the last look. Makes runs of those that have run for long enough
  // to be looked at. Of each that ended, settle() says when its end was reported.
  [[nodiscard]] Told look();
  // A tree has ended whose leader the slot did not see off alone: the slot is free. Of others than
  // of the lane, nothing.
  void settle(RunKey key);
  // The same of one that was whole: its slot is free already.
  void forget(RunKey key) { terms_.erase(key); }

  // How an end was asked for: the lead of its termination signal; nothing: it is to be killed.
  using Lead = std::optional<std::chrono::nanoseconds>;
  // To end one that is of the lane and no run. False: it is a run, perhaps since now, or not of the
  // lane: the caller ends it. True: its process is being made, and it is in take_asked() when it is
  // there; or it has not begun, or has ended, and nothing is to be done.
  [[nodiscard]] bool ask_later(RunKey key, Lead lead);
  // Kills all of them so.
  void kill_later();
  // Those that have become runs since they were asked to end.
  [[nodiscard]] std::vector<std::pair<RunKey, Lead>> take_asked();

 private:
  const Clock& clock_;
  RunTable& runs_;
  std::unique_ptr<Lane> lane_;  // null: nothing was queued yet
  std::size_t width_ = 0;
  std::unordered_map<RunKey, RunTerms> terms_;  // of what is of the lane
  std::unordered_map<RunKey, Lead> asked_;      // to end before their process was there
};

}  // namespace torc::exec
