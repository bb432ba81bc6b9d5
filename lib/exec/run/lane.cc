#include "lib/exec/run/lane.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMostBlanks = 256;
constexpr int kShellSaysKilled = 128 + SIGKILL;

// Until the child has ended, which stays to be reaped.
siginfo_t await_end(pid_t pid) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  return info;
}

// For lack of memory, it may be: the owner counts what the kernel killed.
bool may_be_killed(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return info.si_status == kShellSaysKilled;
  return info.si_status == SIGKILL;
}

enum class SlotState : std::uint8_t { idle, starting, young, known };

struct Slot {
  SlotState state = SlotState::idle;
  Leader leader;
  bool done = false;  // its thread has ended
};

}  // namespace

struct Lane::Shared {
  explicit Shared(const Clock& c) : clock(c), fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Shared() { close(fd); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  void wake() const {
    const std::uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);
  }
  [[nodiscard]] bool is_alone() const {
    return std::all_of(orphans.begin(), orphans.end(),
                       [](const auto& file) { return file->is_empty(); });
  }

  // Who calls it has the mutex.
  void refuse_what_waits() {
    for (const auto& order : orders)
      news.refused.push_back({order->key, {0, EAGAIN, StartStep::none}});
    orders.clear();
    wake();
  }

  const Clock& clock;
  const int fd;
  std::vector<std::unique_ptr<ChildrenFile>> orphans;

  std::mutex mutex;  // guards the rest
  std::condition_variable changed;
  std::deque<std::unique_ptr<Order>> orders;
  std::vector<std::unique_ptr<Order>> blanks;
  std::deque<Slot> slots;  // in place: a slot's thread has a reference
  std::size_t width = 0;
  std::size_t running = 0;  // slots that are taken
  bool refusing = false;
  bool lacks_slots = false;  // no thread could be had for one
  bool stopping = false;
  LaneNews news;
};

Lane::Lane(const Clock& clock, const std::vector<pid_t>& orphans)
    : shared_(std::make_shared<Shared>(clock)) {
  for (const pid_t thread : orphans)
    shared_->orphans.push_back(std::make_unique<ChildrenFile>(thread));
}

Lane::~Lane() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->stopping = true;
    shared_->orders.clear();
  }
  shared_->changed.notify_all();
  const auto all_done = [this] {
    return std::all_of(shared_->slots.begin(), shared_->slots.end(),
                       [](const Slot& slot) { return slot.done; });
  };
  bool done = false;
  {
    std::unique_lock lock(shared_->mutex);
    done = shared_->changed.wait_for(lock, kPatience, all_done);
  }
  for (std::thread& thread : threads_) done ? thread.join() : thread.detach();
}

void Lane::set_width(std::size_t width) {
  width = std::min(width, kMostSlots);
  // They take no signals: those are for the threads that wait for them.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->width = width;
    shared_->lacks_slots = false;
    while (shared_->slots.size() < width) {
      const std::size_t number = shared_->slots.size();
      shared_->slots.emplace_back();
      try {
        threads_.emplace_back([shared = shared_, number] { serve(shared, number); });
      } catch (const std::system_error&) {
        shared_->slots.pop_back();
        shared_->lacks_slots = true;
        shared_->refuse_what_waits();
        break;
      }
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  shared_->changed.notify_all();
}

std::unique_ptr<Order> Lane::blank() {
  {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->blanks.empty()) {
      std::unique_ptr<Order> order = std::move(shared_->blanks.back());
      shared_->blanks.pop_back();
      return order;
    }
  }
  return std::make_unique<Order>();
}

void Lane::add(std::unique_ptr<Order> order) {
  bool idle = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->orders.push_back(std::move(order));
    if (shared_->lacks_slots) shared_->refuse_what_waits();
    idle = shared_->running < shared_->width;
  }
  if (idle) shared_->changed.notify_one();
}

std::vector<RunKey> Lane::take_back() {
  std::vector<RunKey> keys;
  const std::lock_guard lock(shared_->mutex);
  for (const auto& order : shared_->orders) keys.push_back(order->key);
  shared_->orders.clear();
  return keys;
}

void Lane::resume() {
  const std::lock_guard lock(shared_->mutex);
  shared_->refusing = false;
  shared_->changed.notify_all();
}

LaneNews Lane::take_news() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->news, {});
}

int Lane::fd() const {
  return shared_->fd;
}

void Lane::clear_fd() const {
  std::uint64_t value = 0;
  (void)!read(shared_->fd, &value, sizeof value);
}

bool Lane::is_busy() const {
  const std::lock_guard lock(shared_->mutex);
  return !shared_->orders.empty() || !shared_->news.begun.empty() || !shared_->news.ended.empty() ||
         std::any_of(shared_->slots.begin(), shared_->slots.end(), [](const Slot& slot) {
           return slot.state == SlotState::starting || slot.state == SlotState::young;
         });
}

std::size_t Lane::running() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->running;
}

std::vector<Leader> Lane::know(std::chrono::nanoseconds age) {
  std::vector<Leader> found;
  const BootTime now = shared_->clock.boot_now();
  const std::lock_guard lock(shared_->mutex);
  for (Slot& slot : shared_->slots) {
    if (slot.state != SlotState::young || slot.leader.since + age > now) continue;
    slot.state = SlotState::known;
    found.push_back(slot.leader);
  }
  return found;
}

bool Lane::is_starting(RunKey key) const {
  const std::lock_guard lock(shared_->mutex);
  return std::any_of(shared_->slots.begin(), shared_->slots.end(), [&](const Slot& slot) {
    return slot.state == SlotState::starting && slot.leader.key == key;
  });
}

void Lane::settled() {
  {
    const std::lock_guard lock(shared_->mutex);
    --shared_->running;
  }
  shared_->changed.notify_one();
}

void Lane::serve(const std::shared_ptr<Shared>& shared, std::size_t number) {
  Shared& s = *shared;
  auto launcher = Launcher::create();
  std::unique_lock lock(s.mutex);
  Slot& slot = s.slots[number];
  const auto may_begin = [&s] {
    return s.stopping || (!s.orders.empty() && s.running < s.width && !s.refusing);
  };
  for (;;) {
    s.changed.wait(lock, may_begin);
    if (s.stopping) break;
    std::unique_ptr<Order> order = std::move(s.orders.front());
    s.orders.pop_front();
    ++s.running;
    slot = {SlotState::starting, {order->key, 0, {}, {}}, false};
    const bool last = s.orders.empty();
    lock.unlock();
    if (last) s.wake();
    slot.leader.at = s.clock.wall_now();
    const Launched launched =
        launcher ? (*launcher)->launch(order->plan) : Launched{0, EMFILE, StartStep::none};
    const BootTime since = s.clock.boot_now();
    lock.lock();
    if (s.blanks.size() < kMostBlanks) s.blanks.push_back(std::move(order));
    if (launched.pid == 0) {
      s.refusing = true;
      s.news.refused.push_back({slot.leader.key, launched});
      slot.state = SlotState::idle;
      --s.running;
      s.wake();
      continue;
    }
    slot.leader.pid = launched.pid;
    slot.leader.since = since;
    slot.state = SlotState::young;
    s.news.begun.push_back(slot.leader);
    lock.unlock();
    const siginfo_t info = await_end(launched.pid);
    LeaderEnd end;
    lock.lock();
    end.leader = slot.leader;
    end.reaped = slot.state == SlotState::young && !may_be_killed(info);
    // From here on who is known no more is not the owner's.
    slot.state = SlotState::idle;
    if (end.reaped) {
      lock.unlock();
      // A dead leader keeps the number of its group from others until it is reaped.
      ::kill(-launched.pid, SIGKILL);
      end.status = SIGKILL;  // an end that nobody can tell of was no success
      while (wait4(launched.pid, &end.status, 0, &end.usage) < 0 && errno == EINTR) {
      }
      end.group_gone = ::kill(-launched.pid, 0) != 0;
      end.left = end.group_gone && s.is_alone() ? Left::nothing : Left::something;
      end.ended_at = s.clock.wall_now();
      lock.lock();
    }
    const bool free = end.is_whole();
    if (free) --s.running;
    s.news.ended.push_back(std::move(end));
    if (!free || s.orders.empty()) s.wake();
  }
  slot.done = true;
  s.changed.notify_all();
}

}  // namespace torc::exec
