// When a worker talks to the store and how many jobs it prefetches: the policy that keeps any
// number of workers within the budgets of a shared filesystem and still busy. A value that is told
// what happened; it has no clock and does nothing. docs/maintainer/claims.md ("Pace") derives the
// rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lib/base/clock.h"

namespace torc::claim {

// Commits a second that all workers of a workflow together ask of a shared filesystem.
inline constexpr double kCommitsPerSecond = 20;

enum class Sharing : std::uint8_t {
  local,  // one host's own disk: nobody else pays for commits
  shared  // a filesystem of many hosts: all workers together keep kCommitsPerSecond
};

class Pace {
 public:
  // What a worker learns whenever it has talked to the store.
  struct Seen {
    BootTime at{};
    std::uint64_t sequence = 0;            // newest commit of anybody
    std::uint64_t live_workers = 1;        // workers
    std::chrono::nanoseconds cost{};       // of its own commit; 0: it wrote none
    std::chrono::milliseconds job_time{};  // how long jobs run, as others say; 0: not known
    std::uint64_t ready = 0;               // jobs
    double dice = 0.5;                     // in [0, 1): windows of many workers differ by it
  };

  explicit Pace(Sharing sharing) : sharing_(sharing) {}

  void saw(const Seen& seen);
  // A job of this worker was started, or ended after `ran`, at `now`.
  void job_started(BootTime now);
  void job_ended(std::chrono::nanoseconds ran, BootTime now);

  enum class Need : std::uint8_t {
    work,   // a slot is idle
    report  // every slot has work
  };
  // From the last commit of this worker to its next.
  [[nodiscard]] std::chrono::nanoseconds window(Need need) const;

  // Jobs to hold beyond the `running` ones: twice what ends within a window, since ends come in
  // bursts; of the window that it would have if everybody began to talk now.
  [[nodiscard]] std::uint64_t prefetch(std::uint64_t running, BootTime now) const;
  // Of those, what will start before the next exchange.
  [[nodiscard]] std::uint64_t next_window(std::uint64_t running, BootTime now) const;
  // The queue of jobs that are prefetched is not empty any more. (One leaves it: job_started.)
  void queue_moves(BootTime now);
  // From when on a queue that has not moved since stands: others may have room for what is in it.
  [[nodiscard]] BootTime queue_stands_at() const;
  // How many of `queued` jobs to keep; the others are to be offered as spare (Exchange::spares)
  // with the exchange that is sent now: all of a queue that stands, and while ready jobs are scarce
  // whatever will not start in time.
  std::uint64_t keep(std::uint64_t queued, std::uint64_t running, BootTime now);
  // How long jobs of this worker run; 0: none has ended.
  [[nodiscard]] std::chrono::nanoseconds run_time() const;
  // How long jobs of this worker run, for others to plan by; 0: none has ended.
  [[nodiscard]] std::chrono::milliseconds job_time() const;

  // Nothing could be claimed: the time to the next look, backing off from 1 s to as many quarters
  // of a second as there are workers (30 s on a disk of this host alone), among many workers more.
  // `dice` in [0, 1).
  std::chrono::nanoseconds next_poll(double dice);
  void found_work() { polls_ = 0; }

 private:
  [[nodiscard]] double equal() const;
  [[nodiscard]] std::chrono::nanoseconds share() const;
  [[nodiscard]] std::chrono::nanoseconds calm(std::chrono::nanoseconds share) const;
  [[nodiscard]] double ends_within(std::chrono::nanoseconds time, std::uint64_t running,
                                   BootTime now) const;

  Sharing sharing_;
  std::uint64_t live_workers_ = 1;
  std::chrono::nanoseconds cost_{std::chrono::microseconds(250)};
  std::optional<double> shares_;  // the window in equal parts of the budget; nullopt: nothing seen
  double spread_ = 1;             // of the window that goes on now
  BootTime seen_at_{};
  std::uint64_t seen_sequence_ = 0;
  double mean_run_ = 0;  // seconds
  double hint_ = 0;      // seconds
  std::uint64_t ended_ = 0;
  std::uint64_t running_ = 0;
  BootTime last_change_{};  // of what runs
  unsigned polls_ = 0;
  bool scarce_ = false;
  BootTime queue_moved_{};
  std::chrono::nanoseconds queue_patience_{};
};

// Spreads the registrations of workers that start at once, since each is a commit. Told how many
// start together (a batch system knows), it draws a moment; and it waits on while it sees that more
// commits are made than the budget has.
class RegistrationDelay {
 public:
  RegistrationDelay(Sharing sharing, std::uint64_t starters)
      : sharing_(sharing), starters_(starters) {}

  // Before the first look at the store. `dice` in [0, 1).
  [[nodiscard]] std::chrono::nanoseconds delay(double dice) const;
  // After a look: 0: register now; else look again after so long.
  std::chrono::nanoseconds wait(BootTime now, std::uint64_t sequence, std::uint64_t live_workers,
                                double dice);

 private:
  Sharing sharing_;
  std::uint64_t starters_;
  int looks_ = 0;
  BootTime looked_at_{};
  std::uint64_t sequence_ = 0;
  std::chrono::nanoseconds patience_{std::chrono::seconds(1)};
};

// Workers that are told to leave all at once spread what they still have to say: how long one of
// `live_workers` waits that has `left` to say it. `dice` in [0, 1).
[[nodiscard]] std::chrono::nanoseconds departure_delay(std::uint64_t live_workers,
                                                       std::chrono::nanoseconds left, double dice);

// When a worker that registers at `now` may claim for the first time where workers are to start one
// after the other: a second after the one before it (`before`: WorkerInfo::claims_from), or sooner
// where `starters` of them would take more than kLongestStagger so. Never later than that from now,
// whatever the clocks of other nodes say.
inline constexpr std::chrono::seconds kLongestStagger{60};
[[nodiscard]] WallTime turn_to_claim(WallTime before, WallTime now, std::uint64_t starters);

}  // namespace torc::claim
