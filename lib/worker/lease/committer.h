// The thread that owns a worker's store: it commits what the worker has to say while the worker
// goes on starting and ending jobs, and keeps the lease. A filesystem that hangs stops this thread
// only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/rules/request.h"
#include "lib/claim/rules/worker.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/store/engine/store.h"
#include "lib/worker/jobs/job_command.h"
#include "lib/worker/lease/store_side.h"
#include "lib/worker/machine/event.h"
#include "lib/workflow/context/context.h"

namespace torc::worker {

class Committer {
 public:
  // Takes the store over; `self` was registered in it by a commit that began at `registered`. Says
  // every renewal to `lease` too, and rings idle workers by `datagrams` (null: nobody).
  Committer(const workflow::Context& context, std::unique_ptr<store::Store> store,
            claim::WorkerEpoch self, claim::WorkerInfo info, BootTime registered,
            const JobPreparer& preparer, slurm::RunProgram run_program, exec::WatchedLease& lease,
            const SlurmTerms& slurm = {}, Datagrams* datagrams = nullptr);
  // Starts the thread, before all else. Error busy: there can be none, or no descriptor.
  Result<void> start();
  // Ends the thread; a commit under way is waited for.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // Precondition: !busy().
  void submit(claim::Exchange exchange);
  [[nodiscard]] bool busy() const { return busy_; }
  // Somebody says that there is this commit, see Store::expect(): for the exchange that is
  // submitted next.
  void expect(std::uint64_t commit) { expected_ = std::max(expected_.load(), commit); }

  // Asks the store whether the paused lease still stands, by a commit that renews it; when it does,
  // it is held again. One attempt; what comes of it is seen at the lease, and by lost(). A commit
  // that was begun before the pause says nothing.
  void ask();
  [[nodiscard]] bool asking() const { return asking_; }
  // Looks at what the workers of its allocation have to do. fd() is readable when it has.
  void look_at_allocation();
  // Of the look that was asked for; nullopt: not yet. One without a use: it came to nothing.
  std::optional<event::AllocationSeen> take_allocation();

  // The main thread starts a command, or has done so. It waits for the new process to execute its
  // program, which is stopped with all others in a pause; then this thread asks by itself. Of each
  // start only until the lease stands again once: one that hangs must not keep it for ever.
  void starting(bool yes) { start_ = yes ? ++starts_ : 0; }
  // Ends asking() when the attempt is over: fd() is readable then. Why it came to nothing, if it
  // did and that may pass.
  std::optional<Error> take_no_answer();

  // Readable when a reply is there, another process changed the store, or the lease was lost.
  [[nodiscard]] int fd() const { return notify_fd_; }
  void clear_fd();
  // The reply to the exchange submitted; nullopt: not yet.
  std::optional<CommitReply> take_reply();
  // Somebody else may have committed since the last call.
  bool take_changed() { return changed_.exchange(false); }
  // What was canceled while this worker held it, when it had nothing to say itself: noticed within
  // a second of a commit on this node, whatever it last asked for, and with every tick of the
  // lease.
  std::vector<claim::ClaimToken> take_revoked();
  // In the same looks: of the gang that this worker is part of, when that is other than it was told
  // last.
  std::optional<StoreSide::Orders::Gang> take_gang();
  // Set once when the lease was lost outside of an exchange.
  std::optional<Error> lost();
  // By when jobs must have ended, once, when Slurm has moved that.
  std::optional<WallTime> take_moved_end();
  // The main thread turned its loop at `now`. Without it for long, no heartbeat claims that this
  // worker lives.
  void turn(BootTime now) { main_turned_ = now.count(); }
  // The moment (boot time) from which the lease that was asked for counts: the newest sure renewal,
  // later where that said more, as among many workers.
  [[nodiscard]] BootTime last_confirmed() const { return BootTime(last_confirmed_.load()); }

  // Ends the thread and gives the store back: for the last commits of the worker.
  std::unique_ptr<store::Store> stop();

 private:
  void serve();
  bool process(claim::Exchange exchange);
  void renew_paused();
  void see_allocation();
  [[nodiscard]] bool may_ask() const;
  void tick();
  void lose(std::optional<Error> why);
  void notify();
  void look(bool idle);  // at what others of this node may have committed
  void tell_orders(StoreSide::Orders found);

  Clock& clock_;
  const JobPreparer& preparer_;
  workflow::RecipeBook book_;
  exec::WatchedLease& lease_;
  std::chrono::nanoseconds patience_{};  // with a main thread that does not turn
  StoreSide side_;
  int notify_fd_ = -1;
  int request_fd_ = -1;
  bool busy_ = false;
  bool asking_ = false;
  std::uint64_t starts_ = 0;      // main thread
  bool waits_for_gang_ = false;   // this thread
  std::uint64_t renewed_in_ = 0;  // this thread: the start in which it renewed the lease by itself

  std::mutex mutex_;  // guards the next nine
  bool answered_ = false;
  std::optional<Error> no_answer_;
  std::optional<claim::Exchange> request_;
  std::optional<CommitReply> reply_;
  std::optional<Error> lost_;
  std::vector<claim::ClaimToken> revoked_;
  std::optional<StoreSide::Orders::Gang> gang_;
  std::optional<WallTime> moved_end_;
  std::optional<event::AllocationSeen> allocation_;

  std::atomic<bool> stopping_{false};
  std::atomic<bool> asked_{false};
  std::atomic<bool> asked_of_allocation_{false};
  std::atomic<std::uint64_t> start_{0};  // the number of the one under way; 0: none
  std::atomic<bool> changed_{false};
  std::atomic<std::uint64_t> expected_{0};
  std::atomic<std::int64_t> last_confirmed_{0};
  std::atomic<std::int64_t> main_turned_{0};
  std::thread thread_;
};

}  // namespace torc::worker
