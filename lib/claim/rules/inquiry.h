// Who of all workers of a workflow asks the batch system, when, and what it said: so that a
// thousand workers with a suspect ask it once. The record lies in the store. Clocks of nodes are
// never compared: each worker times on its own how long the record has stayed the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/worker.h"

namespace torc::claim {

// What the batch system says of a worker that it has no longer. Each is for good, of that worker.
enum class Gone : std::uint8_t {
  ended,    // its allocation, and its processes with it
  cut_off,  // the same, by the time limit or on somebody's word: not by what ran in it
  given_up  // nothing is heard of its node, or the allocation begins another run
};

// The end of the time of one run of an allocation, as the batch system says it.
struct RunEnd {
  std::string cluster;
  std::string allocation;
  WallTime start{};  // as WorkerInfo::allocation_start
  WallTime end{};    // 0: no limit, or not told
  bool operator==(const RunEnd&) const = default;
};

struct Inquiry {
  std::uint64_t asked = 0;           // how many times, by anybody; said before it is asked
  std::uint64_t answered = 0;        // of these, so that something was told; said after it
  std::map<WorkerEpoch, Gone> gone;  // live workers alone; a fact stays until its worker is none
  std::vector<RunEnd> ends;          // as of the newest answer that told anything of their cluster
  bool operator==(const Inquiry&) const = default;
};

// What is known of the run that a worker belongs to; nullopt: nothing. One that does not know when
// its allocation began lives in the one that runs.
[[nodiscard]] std::optional<RunEnd> end_of(const Inquiry& inquiry, const WorkerInfo& worker);

// One worker's turn to ask. A value; it is told what the record says whenever that was read.
inline constexpr std::chrono::seconds kAskInterval{10};
class AskTurn {
 public:
  explicit AskTurn(std::chrono::nanoseconds interval = kAskInterval) : interval_(interval) {}
  void saw(std::uint64_t asked, BootTime now);
  // Nobody has asked for so long that somebody may: the interval, by this worker's clock, from its
  // first look on.
  [[nodiscard]] bool may_ask(BootTime now) const;
  [[nodiscard]] BootTime next() const;

 private:
  std::chrono::nanoseconds interval_;
  std::optional<std::uint64_t> asked_;
  BootTime since_{};
};

// When a worker wants to know anew how long its allocation has. `dice` in [0, 1): the first of many
// to want it asks for all.
class EndWish {
 public:
  // Its end was told, or is not known at all; at its begin, or by an answer.
  void told(BootTime now, double dice);
  void unknown(BootTime now, double dice);
  // Somebody has asked: the answer is waited for.
  void asked(BootTime now, double dice);
  // This process did not run for a while: the end may have moved with it.
  void at_once(BootTime now) { due_ = now; }
  [[nodiscard]] bool is_due(BootTime now) const { return now >= due_; }

 private:
  BootTime due_ = BootTime::max();  // it has no allocation
};

}  // namespace torc::claim
