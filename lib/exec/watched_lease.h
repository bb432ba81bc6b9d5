// What a worker tells its watchdog and the watchdog tells it, in a page of memory that both
// processes have. The worker says when its lease was last renewed; when that is too long ago, the
// watchdog *fences* it: from then on nothing runs in the name of that lease, whatever the worker
// does. Without a watchdog the same object does no harm: nobody fences.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/machine.h"

namespace torc::exec {

// Any thread of either process; all zero at first, as the kernel gives the page: no lease.
class LeasePage {
 public:
  // --- the worker ---
  // A lease begins that was surely held at `renewed`; it must be renewed every `limit`. Waits for
  // the end of a sweep, which shall not hit the jobs of the new lease.
  void hold(BootTime renewed, std::chrono::nanoseconds limit);
  void renew(BootTime at);  // the lease was surely held then; an earlier moment changes nothing
  void lose();              // what ran in the name of the lease was ended by the worker itself
  void let_go();            // nothing runs in its name, and it is not needed any more
  [[nodiscard]] bool fenced() const;  // lost, by lose() or by the watchdog

  // --- the watchdog ---
  // When the lease is to be fenced unless it is renewed; nullopt: there is none to watch.
  [[nodiscard]] std::optional<BootTime> due() const;
  // Fences a lease that is due, of exactly one of two calls at the same time with true. A lease
  // that was let go or begun anew meanwhile is left alone.
  bool fence_if_due(BootTime now);
  // Before and after the processes of a fenced lease are ended. False: it is not fenced any more,
  // nothing may be ended.
  [[nodiscard]] bool begin_sweep();
  void end_sweep() { sweeping_ = false; }

 private:
  enum class Phase : std::uint64_t { none = 0, held = 1, fenced = 2 };
  static constexpr std::uint64_t kPhaseBits = 2;
  static Phase phase_of(std::uint64_t word) {
    return static_cast<Phase>(word & ((1U << kPhaseBits) - 1));
  }
  static std::uint64_t fenced_form(std::uint64_t word) {
    return word >> kPhaseBits << kPhaseBits | static_cast<std::uint64_t>(Phase::fenced);
  }
  // The number of the lease, so that one lease is never taken for the next, and its phase.
  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::int64_t> renewed_{0};
  std::atomic<std::int64_t> limit_{0};
  std::atomic<bool> sweeping_{false};
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "two processes share them");
};

// The worker's end of the page.
class WatchedLease {
 public:
  // Nobody watches; the worker is known by its own process.
  WatchedLease();
  // `page` outlives this; `wake_fd` (an eventfd, owned from here on) wakes the watchdog;
  // `watchdog`: the process that the worker is known by.
  WatchedLease(LeasePage& page, int wake_fd, ProcessIdentity watchdog);
  ~WatchedLease();
  WatchedLease(const WatchedLease&) = delete;
  WatchedLease& operator=(const WatchedLease&) = delete;

  void hold(BootTime renewed, std::chrono::nanoseconds limit);
  void renew(BootTime at) { page_.renew(at); }
  void lose() { page_.lose(); }
  void let_go() { page_.let_go(); }
  [[nodiscard]] bool fenced() const { return page_.fenced(); }
  // When this process has gone, nothing of the worker or its jobs is left.
  [[nodiscard]] const ProcessIdentity& process() const { return process_; }

 private:
  std::unique_ptr<LeasePage> own_;
  LeasePage& page_;
  int wake_fd_ = -1;
  ProcessIdentity process_;
};

}  // namespace torc::exec
