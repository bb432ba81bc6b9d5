#include "lib/claim/rules/pace.h"

#include <algorithm>
#include <cmath>

namespace torc::claim {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kUrgent = 250us;  // between commits while a slot is idle
constexpr nanoseconds kCalm = 5ms;      // between commits while every slot has work; longer where
constexpr int kCostShare = 20;          // a commit takes more than this part of that time,
constexpr nanoseconds kCalmest = 20ms;  // but not so long that other workers wait for what ended;
constexpr int kCostShareAlone = 100;    // where there are none, only status waits, and what a crash
constexpr nanoseconds kCalmestAlone = 50ms;  // would let run again
constexpr double kMostPrefetch = 8192;
constexpr double kWorthHolding = 0.25;         // ends in a window, below which no job is prefetched
constexpr nanoseconds kQueueLimit = 2s;        // that a queue may stand, and a window;
constexpr nanoseconds kLongestPatience = 30s;  // longer each time when nobody wants it
constexpr nanoseconds kFirstPoll = 1s;
constexpr nanoseconds kLastPoll = 30s;
// Between two looks of the same worker on a shared filesystem, for each worker: so many together
// look four times a second, until kLastPoll is more. A look that finds nothing is no commit.
constexpr nanoseconds kPollShare = 250ms;

// How much longer than its equal part of the budget a worker's window may be. While others come,
// each of whom registers and claims, a third of the budget is left for those who are there: as much
// as they ask for with such windows.
constexpr double kMostShares = 3;
constexpr double kMostSharesOfFew = 2;  // where one second is enough for all of them
// The exponent by which the window follows the load, and the damping that goes with it: of all that
// are stable the fastest (docs/maintainer/claims.md).
constexpr double kSteepness = 3;
constexpr double kDamping = 1 / (1 + kSteepness);
// Who held back that much comes down no faster than by the cube root: most of a crowd that has come
// hold back alike, and would all begin to talk at the same time.
constexpr double kHeldBack = 1.5;
// Windows of many workers are so much longer or shorter at random, so that those who came together
// do not talk together ever after.
constexpr double kSpread = 0.5;
// Where windows are longer than a minute, chance decides how many of them end in one: 1,200 +-35.
// So that hardly any minute has more than a twentieth too many, so much of the budget is left.
constexpr double kHeadroom = 0.03;
constexpr double kCounted = 60;  // seconds
// How much shorter than an equal part at most, so that many that begin to work all at once are seen
// in time.
constexpr double kLeastShares = 0.01;
constexpr double kLeastShare = 1e-3;  // seconds
constexpr nanoseconds kSample = 1s;   // the shortest time over which a load is measured

// Registering and the first claims are two commits, and those who came before have things to say.
constexpr double kPartsOfRegistrationDelay = 3;
constexpr int kMostLooks = 8;             // of one that wants to register
constexpr std::uint64_t kFewEnough = 20;  // workers: they may all register within a second

constexpr nanoseconds kLongestDeparture = 5s;
constexpr std::uint64_t kMostInDeparture = 1'000'000;  // more make no difference

double seconds_of(nanoseconds t) {
  return std::chrono::duration<double>(t).count();
}
nanoseconds nanoseconds_of(double seconds) {
  return nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}

// The window with which every worker alike would keep the budget.
double equal_share(std::uint64_t live_workers) {
  return static_cast<double>(std::max<std::uint64_t>(1, live_workers)) / kCommitsPerSecond;
}

// What a worker aims at, as a part of the budget.
double aim_of(double equal_share) {
  return 1 - kHeadroom * std::min(1.0, equal_share / kCounted);
}

// Commits made between two looks, as a part of the budget.
double load_of(std::uint64_t newest, std::uint64_t before, double elapsed) {
  return static_cast<double>(newest - std::min(newest, before)) / elapsed / kCommitsPerSecond;
}

}  // namespace

void Pace::saw(const Seen& seen) {
  live_workers_ = std::max<std::uint64_t>(1, seen.live_workers);
  if (seen.cost.count() > 0) cost_ = (3 * cost_ + seen.cost) / 4;
  hint_ = seconds_of(seen.job_time);
  scarce_ = seen.ready < 2 * live_workers_;
  if (sharing_ == Sharing::local) return;
  const bool few = live_workers_ < kFewEnough;
  const double most = few ? kMostSharesOfFew : kMostShares;
  if (!shares_) {
    shares_ = most;  // others may be coming too
  } else {
    if (seen.at - seen_at_ < kSample) return;
    const double before = *shares_;
    const double load =
        load_of(seen.sequence, seen_sequence_, seconds_of(seen.at - seen_at_)) / aim_of(equal());
    const double least = std::max(kLeastShare / equal(), kLeastShares);
    const double goal = std::max(std::pow(std::min(load, 1.0), kSteepness), least);
    double next = std::pow(before, 1 - kDamping) * std::pow(goal, kDamping);
    if (load > 1) next = std::max(next, before * load);
    if (before > kHeldBack) next = std::max(next, std::cbrt(before));
    shares_ = std::clamp(next, least, most);
  }
  spread_ = few ? 1 : 1 + kSpread * (2 * seen.dice - 1);
  seen_at_ = seen.at;
  seen_sequence_ = seen.sequence;
}

double Pace::equal() const {
  return sharing_ == Sharing::local ? 0 : equal_share(live_workers_);
}

// In shares, not in seconds: while a crowd grows, so do the windows of all who are in it.
nanoseconds Pace::share() const {
  return nanoseconds_of(shares_.value_or(1) * equal());
}

nanoseconds Pace::calm(nanoseconds share) const {
  const bool alone = live_workers_ <= 1;
  const nanoseconds by_cost = alone ? std::min(kCostShareAlone * cost_, kCalmestAlone)
                                    : std::min(kCostShare * cost_, kCalmest);
  return std::max({kCalm, by_cost, 2 * cost_, share});
}

nanoseconds Pace::window(Need need) const {
  const nanoseconds mine = nanoseconds_of(spread_ * seconds_of(share()));
  return need == Need::work ? std::max({kUrgent, cost_ / 4, mine}) : calm(mine);
}

void Pace::job_started(BootTime now) {
  ++running_;
  last_change_ = now;
  queue_moves(now);
}

void Pace::job_ended(nanoseconds ran, BootTime now) {
  // The mean of the newest few dozen: by Little's law the arithmetic one is what counts.
  constexpr std::uint64_t kMemory = 32;
  ended_ = std::min(ended_ + 1, kMemory);
  mean_run_ += (seconds_of(ran) - mean_run_) / static_cast<double>(ended_);
  running_ -= std::min<std::uint64_t>(running_, 1);
  last_change_ = now;
}

double Pace::ends_within(nanoseconds time, std::uint64_t running, BootTime now) const {
  double mean = ended_ > 0 ? mean_run_ : hint_;
  if (mean <= 0) return 0;
  // Nothing has started or ended for longer than that: what runs now runs longer.
  if (running_ > 0) mean = std::max(mean, seconds_of(now - last_change_));
  return static_cast<double>(running) / std::max(mean, 1e-6) * seconds_of(time);
}

std::uint64_t Pace::prefetch(std::uint64_t running, BootTime now) const {
  const double ends = ends_within(std::max(calm(share()), nanoseconds_of(equal())), running, now);
  if (ends < kWorthHolding) return 0;
  return static_cast<std::uint64_t>(std::min(std::ceil(2 * ends), kMostPrefetch));
}

std::uint64_t Pace::next_window(std::uint64_t running, BootTime now) const {
  return static_cast<std::uint64_t>(
      std::min(ends_within(window(Need::report), running, now), kMostPrefetch));
}

void Pace::queue_moves(BootTime now) {
  queue_moved_ = now;
  queue_patience_ = kQueueLimit;
}

BootTime Pace::queue_stands_at() const {
  return queue_moved_ + std::max(queue_patience_, kQueueLimit) + window(Need::report);
}

std::uint64_t Pace::keep(std::uint64_t queued, std::uint64_t running, BootTime now) {
  if (queued > 0 && now >= queue_stands_at()) {
    queue_moved_ = now;
    queue_patience_ = std::min(2 * std::max(queue_patience_, kQueueLimit), kLongestPatience);
    return 0;
  }
  return scarce_ ? std::min(queued, 1 + next_window(running, now)) : queued;
}

nanoseconds Pace::run_time() const {
  return ended_ == 0 ? 0ns : std::max<nanoseconds>(1us, nanoseconds_of(mean_run_));
}

std::chrono::milliseconds Pace::job_time() const {
  if (ended_ == 0) return 0ms;
  return std::max(1ms,
                  std::chrono::duration_cast<std::chrono::milliseconds>(nanoseconds_of(mean_run_)));
}

// On its own disk a host hears of every change, and looks only in case that it did not.
nanoseconds Pace::next_poll(double dice) {
  nanoseconds first = kFirstPoll;
  nanoseconds last = kLastPoll;
  if (sharing_ == Sharing::shared) {
    constexpr std::uint64_t kMany = kLastPoll / kPollShare;
    const nanoseconds shared = nanoseconds_of(equal());
    const nanoseconds together =
        kPollShare * static_cast<std::int64_t>(std::min(live_workers_, kMany));
    first = std::max(kFirstPoll, shared / 4);
    last = std::max({first, together, shared});
  }
  const nanoseconds base = std::min<nanoseconds>(last, first * (1LL << std::min(polls_, 16U)));
  ++polls_;
  return nanoseconds_of(seconds_of(base) * (0.75 + 0.5 * dice));
}

nanoseconds RegistrationDelay::delay(double dice) const {
  if (sharing_ == Sharing::local || starters_ <= 1) return 0ns;
  return nanoseconds_of(dice * kPartsOfRegistrationDelay * equal_share(starters_));
}

nanoseconds RegistrationDelay::wait(BootTime now, std::uint64_t sequence,
                                    std::uint64_t live_workers, double dice) {
  const int look = looks_++;
  if (sharing_ == Sharing::local || look >= kMostLooks) return 0ns;
  if (look == 0 && live_workers < kFewEnough) return 0ns;
  if (look > 0) {
    if (load_of(sequence, sequence_, std::max(seconds_of(now - looked_at_), 1e-6)) <= 1) return 0ns;
    patience_ =
        std::min(2 * patience_, std::max(nanoseconds_of(equal_share(live_workers)), kSample));
  }
  looked_at_ = now;
  sequence_ = sequence;
  return nanoseconds_of(seconds_of(patience_) * (0.5 + dice));
}

nanoseconds departure_delay(std::uint64_t live_workers, nanoseconds left, double dice) {
  const nanoseconds spread = nanoseconds_of(equal_share(std::min(live_workers, kMostInDeparture)));
  const nanoseconds most = std::min({kLongestDeparture, spread, std::max(left, 0ns) / 4});
  return nanoseconds_of(seconds_of(most) * dice);
}

WallTime turn_to_claim(WallTime before, WallTime now, std::uint64_t starters) {
  const WallTime longest = kLongestStagger;
  const WallTime step =
      std::min<WallTime>(std::chrono::seconds(1),
                         longest / static_cast<std::int64_t>(std::max<std::uint64_t>(1, starters)));
  return std::clamp(before + step, now, now + longest);
}

}  // namespace torc::claim
