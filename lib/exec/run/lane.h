// Short commands one after the other: a thread for each slot starts one, blocks until it has ended,
// sees that nothing is left of it, and starts the next that is queued, without the thread that owns
// the host. Internal to lib/exec: include process_host.h.
//
// A slot ends by itself only what is plain: the leader of a command that the owner has not looked
// at yet, that was not killed, whose process group is empty once it is reaped, while no orphan of
// anything has come to this process. All else is left to the owner, who has the means for it
// (reaper.h). So a tree has ended, when this says so, by the same signs as there.
//
// Which of the two reaps a leader is settled by one word a slot: a slot takes only what is `young`,
// and the owner makes it `known` first.
#pragma once

#include <sys/resource.h>

#include <memory>
#include <thread>
#include <vector>

#include "lib/base/clock.h"
#include "lib/exec/run/order.h"
#include "lib/exec/run/run.h"
#include "lib/exec/start/launch.h"

namespace torc::exec {

enum class Left : std::uint8_t {
  nothing,   // of the whole tree
  something  // perhaps: the leader was reaped, and the owner looks for the rest
};

struct LeaderEnd {
  Leader leader;
  bool reaped = true;         // false: it was known to the owner, who does that
  Left left = Left::nothing;  // these three: when it was reaped
  bool group_gone = true;     // nobody has the number of its group any more
  int status = 0;
  struct rusage usage {};
  WallTime ended_at{};

  // The command has ended, and nothing is left to be done about it.
  [[nodiscard]] bool is_whole() const { return reaped && left == Left::nothing; }
};

// What has become of orders since the last look, in the order in which it happened in each slot.
struct LaneNews {
  std::vector<Leader> begun;
  std::vector<LeaderEnd> ended;
  // Nothing is begun any more after the first of these, until resume().
  struct Refused {
    RunKey key = 0;
    Launched launched;
  };
  std::vector<Refused> refused;
};

// All calls but the constructor's from the owner's thread. The slots' threads start children, which
// the kernel kills when these threads end.
class Lane {
 public:
  static constexpr std::size_t kMostSlots = 256;

  // `orphans`: the lists to which the kernel adds what has lost its parents. `clock` outlives all
  // threads.
  Lane(const Clock& clock, const std::vector<pid_t>& orphans);
  // Waits for the ends of what runs, but no longer than for `kPatience`: a slot that hangs in the
  // kernel is left to the end of the process.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // At most so many orders run at the same time; those that run already go on. Where no thread can
  // be had for one of them, what waits and what is added is refused until the next call.
  void set_width(std::size_t width);
  // One that has been begun, to be filled anew, so that its memory is used again; else a new one.
  std::unique_ptr<Order> blank();
  void add(std::unique_ptr<Order> order);
  // Those that no slot has begun; the newest last.
  std::vector<RunKey> take_back();
  void resume();

  [[nodiscard]] LaneNews take_news();
  // Readable when there is news that should not wait: a slot without an order, or an end that the
  // owner has to look after.
  [[nodiscard]] int fd() const;
  void clear_fd() const;
  // Something may happen here that fd() does not tell.
  [[nodiscard]] bool is_busy() const;
  // Orders that were begun and whose end is not in the news yet, or not settled().
  [[nodiscard]] std::size_t running() const;

  // Makes leaders known, which the owner reaps from then on: those that have run for `age`.
  std::vector<Leader> know(std::chrono::nanoseconds age);
  // An order whose process is being made: who it will be is told as begun.
  [[nodiscard]] bool is_starting(RunKey key) const;
  // The owner has seen to the rest of what it was left: its slot is free.
  void settled();

 private:
  struct Shared;
  static void serve(const std::shared_ptr<Shared>& shared, std::size_t slot);
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace torc::exec
