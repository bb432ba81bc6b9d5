// The `lock` file of a store: a hint that keeps hosts from racing for the same number, never needed
// for correctness. It is asked for only while races are being seen, waits little, and is left alone
// for a while after it failed, so a filesystem on which locks fail, are silently local or are never
// released costs speed and nothing else. The dearer a try is, the rarer are those of who waits: a
// server is asked every 100 ms, the kernel of this host every 2 ms.
#pragma once

#include <chrono>
#include <optional>

#include "lib/base/clock.h"
#include "lib/store/disk/disk.h"

namespace torc::store {

class AdvisoryLock {
 public:
  AdvisoryLock(Disk& disk, Clock& clock, Entropy& entropy, Path file)
      : disk_(&disk), clock_(&clock), entropy_(&entropy), file_(std::move(file)) {}

  // Tells that another host was first.
  void saw_conflict() { conflict_at_ = clock_->boot_now(); }
  [[nodiscard]] bool contended() const;
  // Takes the lock if races were seen lately; waits at most `patience`. Whether it has it is
  // nobody's business.
  void acquire(std::chrono::nanoseconds patience);
  void release();

 private:
  bool try_once();
  [[nodiscard]] std::chrono::nanoseconds longest_pause() const;
  void give_up();

  Disk* disk_;
  Clock* clock_;
  Entropy* entropy_;
  Path file_;
  std::optional<OpenFile> open_;
  bool held_ = false;
  // Not the newest one: on a busy machine that may have waited for its turn.
  std::chrono::nanoseconds cheapest_try_ = std::chrono::seconds(1);
  std::optional<BootTime> conflict_at_;
  std::optional<BootTime> failed_at_;
};

}  // namespace torc::store
