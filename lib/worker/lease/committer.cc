#include "lib/worker/lease/committer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/exchange.h"

namespace torc::worker {
namespace {

// A busy worker listens to the commits of others no oftener than this: it mostly hears its own.
constexpr auto kLookInterval = std::chrono::seconds(1);
// A commit of another process can be heard a moment before it can be read: the last write of the
// file is not its last step.
constexpr auto kSettling = std::chrono::milliseconds(2);

bool says_something(const claim::Exchange& e) {
  return !e.starts.empty() || !e.finishes.empty() || !e.returns.empty() || !e.actions.empty();
}

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
                     exec::WatchedLease& lease)
    : context_(context),
      world_(context.world),
      store_(std::move(store)),
      self_(self),
      preparer_(preparer),
      lease_(lease),
      fencing_limit_(claim::fencing_limit(info.lease_ttl)),
      patience_(info.lease_ttl / 2),
      keeper_(world_, *store_, self, std::move(info), registered, std::move(run_program),
              store::facts_of(world_.disk, store_->directory())),
      notify_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      request_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  confirm();
  turn(world_.clock.boot_now());
  thread_ = std::thread([this] { serve(); });
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
  return std::move(store_);
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
  turn(world_.clock.boot_now());
  if (std::exchange(asking_, true)) return;
  asked_ = true;
  signal_fd(request_fd_);
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

void Committer::confirm() {
  last_confirmed_ = (keeper_.fenced_at() - fencing_limit_).count();
  lease_.renew(last_confirmed());
}

std::vector<claim::ClaimToken> Committer::take_revoked() {
  const std::lock_guard lock(mutex_);
  return std::exchange(revoked_, {});
}

void Committer::notify() {
  signal_fd(notify_fd_);
}

void Committer::serve() {
  bool idle = false;  // the newest exchange asked for jobs and got none
  BootTime next_look = world_.clock.boot_now();
  BootTime last_look = BootTime::max();  // once more after the newest that was heard
  while (!stopping_) {
    std::vector<pollfd> fds{{request_fd_, POLLIN, 0}};
    const bool listens = idle || world_.clock.boot_now() >= next_look;
    if (listens && store_->changes_fd() >= 0) fds.push_back({store_->changes_fd(), POLLIN, 0});
    const std::size_t answer = fds.size();
    fds.push_back({keeper_.answer_fd(), POLLIN, 0});
    for (const int fd : keeper_.neighbour_fds()) fds.push_back({fd, POLLIN, 0});
    BootTime until = std::min(last_look, keeper_.next_tick());
    if (!listens) until = std::min(until, next_look);
    const auto wait = std::max<BootTime>(until - world_.clock.boot_now(), BootTime(0));
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
        CommitReply reply = process(*std::move(exchange), Purpose::exchange);
        idle = asked && reply.jobs.empty();
        {
          const std::lock_guard lock(mutex_);
          reply_ = std::move(reply);
        }
        notify();
      }
    } else if (answer == 2 && fds[1].revents != 0) {
      world_.clock.sleep_for(kSettling);
      look(idle);
      next_look = world_.clock.boot_now() + kLookInterval;
      last_look = next_look;
    } else if (world_.clock.boot_now() >= last_look) {
      last_look = BootTime::max();
      look(idle);
    }
    const bool by_itself = may_ask();
    if (asked_.exchange(false) || by_itself) renew_paused();
    if (fds[answer].revents != 0) keeper_.answered();
    for (std::size_t i = answer + 1; i < fds.size(); ++i) {
      if (fds[i].revents != 0) keep_lease(keeper_.neighbour_died(fds[i].fd));
    }
    if (world_.clock.boot_now() >= keeper_.next_tick()) {
      const BootTime turned{main_turned_.load()};
      keep_lease(keeper_.tick(last_commit_, world_.clock.boot_now() - turned < patience_
                                                ? LeaseKeeper::Beat::yes
                                                : LeaseKeeper::Beat::no));
      confirm();
      look_for_revoked();
      (void)store_->maintain();  // what failed is due again at the next tick
    }
  }
}

// A failed beat or look is not yet a lost lease: the worker fences itself when none succeeds for
// long enough.
void Committer::keep_lease(const Result<void>& outcome) {
  if (outcome || outcome.error().kind != ErrorKind::fenced) return;
  {
    const std::lock_guard lock(mutex_);
    lost_ = outcome.error();
  }
  notify();
}

// A poll of this or another process of the node that only applied what was known already, or a
// commit of our own, wakes nobody.
bool Committer::others_committed() {
  std::uint64_t newest = 0;
  const Result<void> seen =
      store_->view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
        newest = reader.sequence();
        return {};
      });
  if (!seen || newest <= seen_sequence_) return false;
  seen_sequence_ = newest;
  return true;
}

void Committer::look(bool idle) {
  store_->clear_changes();
  const bool news = !idle || others_committed();
  if (idle && news) {
    changed_ = true;
    notify();
  }
  // One that asked for jobs and got none may have all its slots full: it has jobs to end, too.
  if (news) look_for_revoked();
}

void Committer::look_for_revoked() {
  std::vector<claim::ClaimToken> found;
  const Result<void> seen =
      store_->view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
        found = claim::read_revoked(reader, self_);
        return {};
      });
  if (!seen || found.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    revoked_ = std::move(found);
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
    claim::Exchange words;
    words.worker = self_;
    words.now = world_.clock.wall_now();
    reply = process(std::move(words), Purpose::renewal);
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

CommitReply Committer::process(claim::Exchange exchange, Purpose purpose) {
  CommitReply reply;
  const std::optional<exec::Pause> pause = lease_.pause();  // before it is asked
  bool nothing_to_do = false;  // says the body that ran last: its Error is none
  const BootTime begun = world_.clock.boot_now();
  exchange.ttl = keeper_.ttl(begun);
  store_->clear_changes();
  auto committed = store_->commit(raw(self_), [&](claim::Transaction& tx) -> Result<void> {
    nothing_to_do = false;
    reply.jobs.clear();
    // The last look before it counts. An end that this worker itself brings about is not told.
    if (!lease_.stands()) {
      return Error{ErrorKind::fenced, "this worker lost its lease, or its watchdog died",
                   "its jobs are ended, and others take them over"};
    }
    reply.newest = tx.sequence() - 1;
    TORC_ASSIGN(reply.answer, claim::exchange(tx, exchange));
    for (const claim::Grant& grant : reply.answer.grants) {
      auto job = preparer_.prepare(book_, tx, grant);
      if (!job) {
        return Error{ErrorKind::corrupt, "a job's recipe in the store cannot be read",
                     "run `torc verify` on the store"};
      }
      reply.jobs.push_back(*std::move(job));
    }
    if (reply.answer.grants.empty() && reply.answer.actions.empty() && !says_something(exchange) &&
        !reply.answer.took_spares && !reply.answer.promoted && purpose == Purpose::exchange) {
      // An idle worker that finds nothing must not write a commit to say so.
      nothing_to_do = true;
      return Error{ErrorKind::busy, "nothing to do", ""};
    }
    return {};
  });
  if (committed) {
    reply.commit = *committed;
    reply.newest = committed->sequence;
    last_commit_ = begun;
    keeper_.renewed(begun, reply.answer.living);
    confirm();
    reply.ended_pause = pause && lease_.confirm(*pause);
    (void)store_->maintain();  // a checkpoint that fails is tried again after the next commit
  } else if (!nothing_to_do) {
    reply.error = std::move(committed).error();
    reply.jobs.clear();
  }
  reply.refused = reply.answer.refused;
  return reply;
}

}  // namespace torc::worker
