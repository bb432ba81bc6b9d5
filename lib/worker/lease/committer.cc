#include "lib/worker/lease/committer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/store/mount/mount_facts.h"
#include "lib/worker/jobs/load.h"

namespace torc::worker {
namespace {

// A busy worker listens to the commits of others no oftener than this: it mostly hears its own.
constexpr auto kLookInterval = std::chrono::seconds(1);
// A commit of another process can be heard a moment before it can be read: the last write of the
// file is not its last step.
constexpr auto kSettling = std::chrono::milliseconds(2);

void signal_fd(int fd) {
  const std::uint64_t one = 1;
  (void)!write(fd, &one,
               sizeof one);  // an eventfd refuses only when it is full, which is readable too
}

void drain_fd(int fd) {
  std::uint64_t value = 0;
  (void)!read(fd, &value, sizeof value);
}

}  // namespace

Committer::Committer(const workflow::Context& context, std::unique_ptr<store::Store> store,
                     claim::WorkerEpoch self, claim::WorkerInfo info, BootTime registered,
                     const JobPreparer& preparer, slurm::RunProgram run_program,
                     exec::WatchedLease& lease, const SlurmTerms& slurm, Datagrams* datagrams)
    : clock_(context.world.clock),
      preparer_(preparer),
      lease_(lease),
      patience_(info.lease_ttl / 2),
      side_(
          context.world, std::move(store), self, std::move(info), registered,
          [this](const claim::Reader& reader,
                 const claim::Grant& grant) -> std::optional<ClaimedJob> {
            auto job = preparer_.prepare(book_, reader, grant);
            if (!job) return std::nullopt;
            return claimed(*std::move(job));
          },
          std::make_unique<SystemProcesses>(),
          std::make_unique<AllocationInquiry>(std::move(run_program)),
          store::facts_of(context.world.disk, store->directory()), lease, slurm, datagrams),
      notify_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      request_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  last_confirmed_ = side_.confirmed().count();
  turn(clock_.boot_now());
}

Result<void> Committer::start() {
  // Without them its lease would be renewed, and what is asked of it never heard.
  if (notify_fd_ < 0 || request_fd_ < 0 || side_.keeper().answer_fd() < 0) {
    return Error{ErrorKind::busy, "cannot make a descriptor for the worker",
                 "look at the limit of open files (ulimit -n)"};
  }
  try {
    thread_ = std::thread([this] { serve(); });
  } catch (const std::system_error& failure) {
    Error error = os_error(failure.code().value(), "cannot make a thread for the worker",
                           "look at the limits of processes (ulimit -u) and memory");
    error.kind = ErrorKind::busy;
    return error;
  }
  return {};
}

Committer::~Committer() {
  (void)stop();
  close(notify_fd_);
  close(request_fd_);
}

std::unique_ptr<store::Store> Committer::stop() {
  if (thread_.joinable()) {
    stopping_ = true;
    signal_fd(request_fd_);
    thread_.join();
  }
  return side_.give_back();
}

void Committer::submit(claim::Exchange exchange) {
  {
    const std::lock_guard lock(mutex_);
    request_ = std::move(exchange);
  }
  busy_ = true;
  signal_fd(request_fd_);
}

void Committer::ask() {
  turn(clock_.boot_now());
  if (std::exchange(asking_, true)) return;
  asked_ = true;
  signal_fd(request_fd_);
}

void Committer::look_at_allocation() {
  asked_of_allocation_ = true;
  signal_fd(request_fd_);
}

std::optional<event::AllocationSeen> Committer::take_allocation() {
  const std::lock_guard lock(mutex_);
  return std::exchange(allocation_, std::nullopt);
}

std::optional<Error> Committer::take_no_answer() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(answered_, false)) asking_ = false;
  return std::exchange(no_answer_, std::nullopt);
}

void Committer::clear_fd() {
  drain_fd(notify_fd_);
}

std::optional<CommitReply> Committer::take_reply() {
  const std::lock_guard lock(mutex_);
  if (reply_) busy_ = false;
  return std::exchange(reply_, std::nullopt);
}

std::optional<Error> Committer::lost() {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::vector<claim::ClaimToken> Committer::take_revoked() {
  const std::lock_guard lock(mutex_);
  return std::exchange(revoked_, {});
}

std::optional<StoreSide::Orders::Gang> Committer::take_gang() {
  const std::lock_guard lock(mutex_);
  return std::exchange(gang_, std::nullopt);
}

std::optional<WallTime> Committer::take_moved_end() {
  const std::lock_guard lock(mutex_);
  return std::exchange(moved_end_, std::nullopt);
}

void Committer::notify() {
  signal_fd(notify_fd_);
}

void Committer::serve() {
  bool idle = false;  // the newest exchange asked for jobs and got none
  BootTime next_look = clock_.boot_now();
  BootTime last_look = BootTime::max();  // once more after the newest that was heard
  while (!stopping_) {
    std::vector<pollfd> fds{{request_fd_, POLLIN, 0}};
    const bool listens = idle || waits_for_gang_ || clock_.boot_now() >= next_look;
    if (listens && side_.store().changes_fd() >= 0)
      fds.push_back({side_.store().changes_fd(), POLLIN, 0});
    const std::size_t answer = fds.size();
    fds.push_back({side_.keeper().answer_fd(), POLLIN, 0});
    for (const int fd : side_.keeper().neighbour_fds()) fds.push_back({fd, POLLIN, 0});
    BootTime until = std::min(last_look, side_.keeper().next_tick());
    if (!listens) until = std::min(until, next_look);
    const auto wait = std::max<BootTime>(until - clock_.boot_now(), BootTime(0));
    const timespec timeout{static_cast<time_t>(wait.count() / 1'000'000'000),
                           static_cast<long>(wait.count() % 1'000'000'000)};
    if (ppoll(fds.data(), fds.size(), &timeout, nullptr) < 0 && errno != EINTR) continue;

    if (fds[0].revents != 0) {
      drain_fd(request_fd_);
      std::optional<claim::Exchange> exchange;
      {
        const std::lock_guard lock(mutex_);
        exchange = std::exchange(request_, std::nullopt);
      }
      if (exchange) {
        const bool asked = exchange->offer.has_value();
        idle = process(*std::move(exchange)) && asked;
      }
    } else if (answer == 2 && fds[1].revents != 0) {
      clock_.sleep_for(kSettling);
      look(idle);
      next_look = clock_.boot_now() + kLookInterval;
      last_look = next_look;
    } else if (clock_.boot_now() >= last_look) {
      last_look = BootTime::max();
      look(idle);
    }
    const bool by_itself = may_ask();
    if (asked_.exchange(false) || by_itself) renew_paused();
    if (asked_of_allocation_.exchange(false)) see_allocation();
    if (fds[answer].revents != 0) side_.keeper().answered();
    for (std::size_t i = answer + 1; i < fds.size(); ++i) {
      if (fds[i].revents != 0) lose(side_.neighbour_died(fds[i].fd));
    }
    if (clock_.boot_now() >= side_.keeper().next_tick()) tick();
  }
}

void Committer::lose(std::optional<Error> why) {
  if (!why) return;
  {
    const std::lock_guard lock(mutex_);
    lost_ = std::move(why);
  }
  notify();
}

void Committer::tick() {
  const BootTime turned{main_turned_.load()};
  StoreSide::News news = side_.tick(clock_.boot_now() - turned < patience_);
  last_confirmed_ = side_.confirmed().count();
  lose(std::move(news.lost));
  tell_orders(std::move(news.orders));
  if (!news.freed && !news.ends_at) return;
  if (news.freed) changed_ = true;
  if (news.ends_at) {
    const std::lock_guard lock(mutex_);
    moved_end_ = news.ends_at;
  }
  notify();
}

void Committer::look(bool idle) {
  side_.store().clear_changes();
  const bool news = !idle || side_.others_committed();
  if (idle && news) {
    changed_ = true;
    notify();
  }
  // One that asked for jobs and got none may have all its slots full: it has jobs to end, too.
  if (news) tell_orders(side_.look_for_orders());
}

void Committer::tell_orders(StoreSide::Orders found) {
  if (found.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (!found.revoked.empty()) revoked_ = std::move(found.revoked);
    if (found.gang) {
      // What was not taken yet may have told what the gang is about.
      if (gang_ && !found.gang->job) found.gang->job = std::move(gang_->job);
      gang_ = std::move(found.gang);
    }
  }
  notify();
}

// Not again in the same start, once that has helped.
bool Committer::may_ask() const {
  const std::uint64_t start = start_;
  return start != 0 && start != renewed_in_ && lease_.paused();
}

void Committer::renew_paused() {
  CommitReply reply;
  const std::uint64_t start = start_;
  if (lease_.paused()) {  // else another commit has told meanwhile
    reply = side_.renew_paused();
    last_confirmed_ = side_.confirmed().count();
    // What a newer pause made void has not helped, and that one is asked about.
    if (reply.ended_pause) renewed_in_ = start;
  }
  // An unknown outcome of a renewal does no harm: the next one tells.
  const bool ends = reply.error && (reply.error->kind == ErrorKind::fenced ||
                                    reply.error->kind == ErrorKind::corrupt);
  {
    const std::lock_guard lock(mutex_);
    answered_ = true;
    if (reply.error) (ends ? lost_ : no_answer_) = std::move(reply.error);
  }
  notify();
}

void Committer::see_allocation() {
  const event::AllocationSeen seen{side_.look_at_allocation()};
  {
    const std::lock_guard lock(mutex_);
    allocation_ = seen;
  }
  notify();
}

// Whether it brought no jobs.
bool Committer::process(claim::Exchange exchange) {
  side_.store().expect(expected_.exchange(0));
  CommitReply reply = side_.exchange(std::move(exchange));
  last_confirmed_ = side_.confirmed().count();
  // A gang that is not complete, or over, or has failed, waits for commits of others.
  const auto& gang = reply.answer.gang;
  waits_for_gang_ = gang && (gang->gang.stage != claim::GangStage::running || gang->gang.asks());
  const bool idle = reply.jobs.empty();
  {
    const std::lock_guard lock(mutex_);
    reply_ = std::move(reply);
  }
  notify();
  return idle;
}

}  // namespace torc::worker
