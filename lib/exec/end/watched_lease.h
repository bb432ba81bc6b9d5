// What a worker tells its watchdog and the watchdog tells it, in a page of memory that both
// processes have. The worker says when its lease was last renewed. When that is too long ago, or
// the two are to be stopped, the lease is *paused*: its jobs are stopped, and go on only when the
// worker has asked the store and the lease still stands. When it was lost, or the store has not
// answered in time, it is *fenced*: its jobs are ended, whatever the worker does. Without a
// watchdog the same object does no harm.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/machine/machine.h"

namespace torc::exec {

// A pause, as the worker saw it before it asked the store: an answer counts for that pause only.
enum class Pause : std::uint64_t {};

// Any thread of either process; all zero at first, as the kernel gives the page: no lease.
class LeasePage {
 public:
  enum class Phase : std::uint64_t { none = 0, held = 1, fenced = 2, paused = 3 };

  [[nodiscard]] Phase phase() const { return phase_of(word_); }
  [[nodiscard]] bool fenced() const { return phase() == Phase::fenced; }
  [[nodiscard]] bool paused() const { return phase() == Phase::paused; }
  // Pauses a lease that was not renewed in time, fences one whose pause has found no answer in
  // time.
  Phase look(BootTime now);
  // When look() will do something unless something else happens; nullopt: never.
  [[nodiscard]] std::optional<BootTime> due() const;
  // When the newest pause began.
  [[nodiscard]] BootTime paused_since() const { return BootTime(paused_since_); }

  // --- the worker ---
  // A lease begins that was surely held at `renewed`; not renewed for `limit` it is paused. Waits
  // for the end of a sweep, which shall not hit the jobs of the new lease.
  void hold(BootTime renewed, std::chrono::nanoseconds limit);
  // From here on this lease is paused so long before `limit`; that the store has not answered
  // counts from `limit` on all the same. Whether that is another moment than before.
  bool pause_early(std::chrono::nanoseconds by);
  void renew(BootTime at);  // the lease was surely held then; an earlier moment changes nothing
  void lose();    // before anything is ended: what ran in the name of the lease counts no more
  void let_go();  // nothing runs in its name, and it is not needed any more
  // For who can only read memory: what tells whether something may begin in the name of the lease.
  struct Terms {
    const volatile std::uint64_t* word = nullptr;  // null: nothing is asked
    const volatile std::int64_t* renewed = nullptr;
    const volatile std::int64_t* pause_after = nullptr;
  };
  [[nodiscard]] Terms terms() const {
    return {reinterpret_cast<const volatile std::uint64_t*>(&word_),
            reinterpret_cast<const volatile std::int64_t*>(&renewed_),
            reinterpret_cast<const volatile std::int64_t*>(&pause_after_)};
  }
  // Whether it may at `now`, of the boot clock, by what they point to: there is no lease, or it is
  // held and was renewed in time. The phase alone does not tell it: when worker and watchdog stood
  // still together, the worker may go on before the watchdog has looked.
  [[nodiscard]] static constexpr bool permits(std::uint64_t word, std::int64_t renewed,
                                              std::int64_t pause_after, std::int64_t now) {
    const std::uint64_t phase = word & kPhaseMask;
    return phase == static_cast<std::uint64_t>(Phase::none) ||
           (phase == static_cast<std::uint64_t>(Phase::held) && now - renewed < pause_after);
  }
  // The pause that is to be asked about now.
  [[nodiscard]] std::optional<Pause> pause() const;
  // A commit that was begun after pause() gave this one found the lease in force: it is held again.
  // False: it was paused anew meanwhile, or fenced, and nothing goes on.
  bool confirm(Pause asked);

  // --- the watchdog ---
  // Before it stops, with the worker. What the worker asked before counts no more. False: there is
  // no lease that could be paused.
  bool begin_pause(BootTime now);
  // It goes on: the worker has from now on time to ask.
  void go_on(BootTime now);
  // Before and after the processes of a lease in this phase, paused or fenced, are stopped or
  // ended. False: it is in another one, nothing may be done.
  [[nodiscard]] bool begin_sweep(Phase phase);
  void end_sweep() { sweeping_ = false; }

 private:
  static constexpr std::uint64_t kPhaseBits = 2;
  static constexpr std::uint64_t kPhaseMask = (1U << kPhaseBits) - 1;
  static Phase phase_of(std::uint64_t word) { return static_cast<Phase>(word & kPhaseMask); }
  // Of the same number; with another number for a new lease and for each pause.
  static std::uint64_t same(std::uint64_t word, Phase phase) {
    return word >> kPhaseBits << kPhaseBits | static_cast<std::uint64_t>(phase);
  }
  static std::uint64_t next(std::uint64_t word, Phase phase) {
    return ((word >> kPhaseBits) + 1) << kPhaseBits | static_cast<std::uint64_t>(phase);
  }
  static void raise(std::atomic<std::int64_t>& value, std::int64_t to);

  // The number, so that one lease or pause is never taken for the next, and the phase.
  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::int64_t> renewed_{0};
  std::atomic<std::int64_t> limit_{0};
  std::atomic<std::int64_t> pause_after_{0};
  std::atomic<std::int64_t> paused_since_{0};
  std::atomic<std::int64_t> answer_by_{0};
  std::atomic<bool> sweeping_{false};
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "two processes share them");
  static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t), "see terms()");
  static_assert(sizeof(std::atomic<std::int64_t>) == sizeof(std::int64_t), "see terms()");
};

// How long a lease may be paused without an answer of the store before its jobs are ended. One that
// was noticed as soon as it was due: so that they have ended, and hold nothing, before others may
// begin them (after a whole lease, of which `limit` is 0.6). One that was noticed late, because
// nothing ran for a while, or that began with a stop: the lease may be another's already, and is
// asked about for as long as a whole one.
[[nodiscard]] std::chrono::nanoseconds patience_in_time(std::chrono::nanoseconds limit);
[[nodiscard]] std::chrono::nanoseconds patience_too_late(std::chrono::nanoseconds limit);

// The worker's end of the page.
class WatchedLease {
 public:
  // Nobody watches; the worker is known by its own process.
  WatchedLease();
  // `page` outlives this; `wake_fd` (an eventfd, owned from here on) wakes the watchdog, `news_fd`
  // (the same) the worker; `watchdog`: the process that the worker is known by. -1: nobody.
  WatchedLease(LeasePage& page, int wake_fd, int news_fd, ProcessIdentity watchdog);
  ~WatchedLease();
  WatchedLease(const WatchedLease&) = delete;
  WatchedLease& operator=(const WatchedLease&) = delete;

  void hold(BootTime renewed, std::chrono::nanoseconds limit);
  void pause_early(std::chrono::nanoseconds by);
  void renew(BootTime at) { page_.renew(at); }
  void lose();
  void let_go() { page_.let_go(); }
  [[nodiscard]] bool fenced() const { return page_.fenced(); }
  [[nodiscard]] bool paused() const { return page_.paused(); }
  [[nodiscard]] BootTime paused_since() const { return page_.paused_since(); }
  void look(BootTime now);
  [[nodiscard]] const LeasePage& page() const { return page_; }
  [[nodiscard]] std::optional<BootTime> due() const { return page_.due(); }
  [[nodiscard]] std::optional<Pause> pause() const { return page_.pause(); }
  bool confirm(Pause asked);
  // Readable when the watchdog paused or fenced the lease; -1: nobody does.
  [[nodiscard]] int news_fd() const { return news_fd_; }
  void clear_news();
  // The confirming look: whether the lease is still this worker's to speak for, before an end of a
  // job is taken for the job's own, and again before it is committed. Whoever ends the jobs of a
  // worker says so first: in the page, or by being gone (the watchdog: its end is the worker's).
  [[nodiscard]] bool stands();
  // When this process has gone, nothing of the worker or its jobs is left.
  [[nodiscard]] const ProcessIdentity& process() const { return process_; }

 private:
  void wake();

  std::unique_ptr<LeasePage> own_;
  LeasePage& page_;
  int wake_fd_ = -1;
  int news_fd_ = -1;
  ProcessIdentity process_;
};

}  // namespace torc::exec
