#include "lib/worker/loop/session.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lib/base/overloaded.h"
#include "lib/base/quantities.h"
#include "lib/claim/rules/lease.h"
#include "lib/worker/jobs/gang_tag.h"
#include "lib/worker/loop/goodbye.h"
#include "lib/worker/loop/notice_text.h"
#include "lib/worker/loop/state_text.h"
#include "lib/worker/loop/terms.h"
#include "lib/worker/text/node_holders.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

int make_signal_fd() {
  const sigset_t set = worker_signals();
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

exec::Leftovers end_tagged_processes(const std::vector<std::string>& tags,
                                     const exec::Origin& origin) {
  return exec::kill_tagged(tags, origin);
}

// What is to be said then, and nothing of what could not be started there.
bool is_missing(const Path& store) {
  std::error_code error;
  return std::filesystem::status(store, error).type() == std::filesystem::file_type::not_found;
}

event::Answered to_event(CommitReply reply) {
  return {std::move(reply.error),   std::move(reply.answer), std::move(reply.jobs),
          reply.commit.wrote,       reply.commit.cost,       reply.newest,
          std::move(reply.gang_job)};
}

}  // namespace

Session::Session(const workflow::Context& context, const WorkerSetup& setup,
                 const WorkerEvents& events, exec::ProcessHost& host, exec::NodeLedger* ledger)
    : context_(context),
      clock_(context.clock),
      setup_(setup),
      events_(events),
      host_(host),
      ledger_(ledger),
      lease_(context.watched != nullptr ? *context.watched : own_lease_),
      signal_fd_(make_signal_fd()),
      mounted_(setup.mountinfo ? setup.mountinfo() : std::string()),
      begun_(clock_.boot_now()) {}

Session::~Session() {
  close(signal_fd_);
}

Result<WorkerSummary> Session::run(std::unique_ptr<store::Store> store) {
  auto lived = live(std::move(store));
  if (lived || state_.summary.interrupted_by == 0) return lived;
  state_.summary.end = state_.end.value_or(WorkerEnd::interrupted);
  state_.summary.failure = std::move(lived).error();
  return state_.summary;
}

Result<WorkerSummary> Session::live(std::unique_ptr<store::Store> store) {
  TORC_TRY(host_.watch(signal_fd_));
  TORC_ASSIGN(const int told, wait_for_turn(context_, setup_, host_, signal_fd_, *store));
  if (told != 0) {
    host_.unwatch(signal_fd_);
    state_.summary.end = WorkerEnd::interrupted;
    state_.summary.interrupted_by = told;
    return state_.summary;
  }
  directory_ = store->directory();
  TORC_TRY(come(std::move(store)));
  for (turn(); !state_.leaving.over; turn()) TORC_TRY(wait());
  host_.unwatch(signal_fd_);
  if (state_.summary.end == WorkerEnd::broken && is_missing(directory_)) {
    return Error{
        ErrorKind::not_found,
        fmt::format("{} is not there any more: it was deleted or moved", directory_.string()),
        "if it was moved, go on with it at its new place: torc worker PLACE"};
  }
  if (failure_) return *failure_;
  return state_.summary;
}

// --- the beginning ---

Result<void> Session::come(std::unique_ptr<store::Store> store) {
  claim::Pace pace(sharing_of(*store));
  bell_ = open_bell(setup_, *store, context_.world2.entropy,
                    [this](const std::string& line) { notice(line); });
  TORC_ASSIGN(Registration me,
              register_self(context_, setup_, lease_.process(),
                            bell_ ? std::optional(bell_->place()) : std::nullopt, *store));
  if (me.namesake) notice(show_namesake(*me.namesake));
  // So that it claims enough at once.
  pace.saw({me.at, claim::raw(me.self), me.load.workers, 0ns, me.load.job_time, me.load.ready,
            roll(context_.world2.entropy)});
  lease_.hold(me.at, claim::fencing_limit(setup_.lease_ttl));
  exec::Machine handed_out = setup_.machine;
  if (setup_.max_parallel_jobs) handed_out.gpu_variable.clear();  // jobs take what they find
  Birth birth;
  birth.terms = terms_of(me, setup_, ledger_, clock_, begun_);
  birth.seed = context_.world2.entropy.next();
  birth.pace = pace;
  birth.workflow = std::move(me.workflow);
  store_id_ = store->identity().instance_hex();
  Path directory = setup_.directory.empty() ? me.settings.directory.path : setup_.directory;
  preparer_ = std::make_unique<JobPreparer>(
      store->directory(), store->identity().instance_hex(), std::move(me.settings),
      std::move(directory), setup_.output_dir, context_.environment, handed_out, me.self);
  if (preparer_->settings().run.execution.enable_cpu_bind && !setup_.max_parallel_jobs) {
    if (auto cpus = cpus_to_bind(setup_, ledger_)) {
      birth.cpu_pool = *std::move(cpus);
    } else {
      notice(fmt::format("jobs are not bound to CPUs: {}", cpus.error().what));
    }
  }
  if (me.info.claims_from > me.info.registered_at) {
    const WallTime turn = me.info.claims_from - me.info.registered_at;
    birth.first_claim = me.at + turn;
    notice(fmt::format("its turn to claim comes in {} (staggered_start)", show_duration(turn)));
  }
  actions_ = std::move(me.actions);
  if (bell_) bell_->listen(store->identity().instance);  // known since the registration
  committer_ =
      std::make_unique<Committer>(context_, std::move(store), me.self, me.info, me.at, *preparer_,
                                  setup_.run_program, lease_, setup_.slurm, bell_.get());
  TORC_TRY(committer_->start());
  commands_ = std::make_unique<HostedCommands>(HostedCommands::World{
      context_, setup_, events_, host_, lease_, *committer_, *preparer_, actions_, me.self,
      mounted_, [this](const std::string& line) { notice(line); }});
  TORC_TRY(host_.watch(committer_->fd()));
  if (bell_) TORC_TRY(host_.watch(bell_->fd()));
  if (lease_.news_fd() >= 0) TORC_TRY(host_.watch(lease_.news_fd()));
  state_ = be_born(std::move(birth), now());
  return {};
}

// --- the loop ---

void Session::feed(Event event) {
  step(state_, std::move(event), now(), orders_);
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    Command order = std::move(orders_[i]);
    if (auto answer = carry_out(order)) step(state_, *std::move(answer), now(), orders_);
  }
  orders_.clear();
}

// Everything that has happened was told.
void Session::turn() {
  if (store_ == nullptr) look_at_lease();
  check_share();
  const BootTime at = clock_.boot_now();
  if (const auto look = state_.share.wake_at(); look && at >= *look) look_at_share();
  if (const auto show = events_.show_at ? events_.show_at() : std::nullopt; show && at >= *show)
    events_.show();
  const Halt halt = events_.halt ? events_.halt() : Halt::no;
  if (halt != Halt::no && !std::exchange(halted_, true)) feed(event::Halt{halt == Halt::now});
  feed(event::Turn{ledger_ != nullptr ? ledger_->owed_to_others() : 0});
}

Result<void> Session::wait() {
  const BootTime at = clock_.boot_now();
  if (committer_ != nullptr) committer_->turn(at);
  BootTime until = wake_at(state_, at);
  if (const auto show = events_.show_at ? events_.show_at() : std::nullopt)
    until = std::min(until, *show);
  TORC_ASSIGN(const exec::ProcessHost::Wakeup wakeup, host_.wait(until));
  if (wakeup.stood_still.count() > 0) {
    commands_->stand_still(wakeup.stood_still);
    feed(event::StoodStill{wakeup.stood_still});
  }
  // What runs; then what this worker was told, and what became of its jobs: the one explains the
  // other.
  for (Event& event : commands_->news(wakeup)) feed(std::move(event));
  const auto is_readable = [&](int fd) {
    return std::find(wakeup.readable.begin(), wakeup.readable.end(), fd) != wakeup.readable.end();
  };
  if (is_readable(signal_fd_)) hear_signals();
  if (watched_bell_ >= 0 && is_readable(watched_bell_)) look_at_share();
  if (store_ != nullptr) return {};
  // Jobs that the watchdog ended, or its end, have not failed. Looked at after they were reaped:
  // who kills them says so before.
  look_at_lease();
  for (const exec::Ended& how : wakeup.ended) {
    if (auto ended = commands_->ended(how)) feed(*std::move(ended));
  }
  if (is_readable(committer_->fd())) hear_store();
  if (bell_ && is_readable(bell_->fd())) hear_bells();
  return {};
}

std::optional<Event> Session::carry_out(Command& order) {
  using Answer = std::optional<Event>;
  return std::visit(
      Overloaded{
          [&](const command::StartJob& o) -> Answer { return commands_->start(o); },
          [&](const command::StartRecovery& o) -> Answer {
            if (is_share_there()) return commands_->start(o);
            return event::StartAnswer{o.run, event::StartAnswer::What::refused, {}, {}, kShareLost};
          },
          [&](const command::StartAction& o) -> Answer { return commands_->start(o); },
          [&](const command::ArmJobs& o) -> Answer { return commands_->arm(o); },
          [&](const command::TakeBack&) -> Answer { return commands_->take_back(); },
          [&](const command::LetRun& o) -> Answer {
            host_.let_run(o.jobs);
            return {};
          },
          [&](const command::StopRun& o) -> Answer {
            commands_->stop(o.run, o.lead);
            return {};
          },
          [&](const command::KillRun& o) -> Answer {
            commands_->kill(o.run);
            return {};
          },
          [&](const command::ForgetRun& o) -> Answer {
            commands_->forget(o.run);
            return {};
          },
          [&](const command::EndGang& o) -> Answer { return end_gang(o); },
          [&](const command::LookAtOutputs& o) -> Answer { return commands_->look(o); },
          [&](const command::CloseOutput& o) -> Answer {
            commands_->close_output(o.run, o.completed);
            return {};
          },
          [&](command::Submit& o) -> Answer {
            committer_->submit(std::move(o.exchange));
            return {};
          },
          [&](const command::AskStore&) -> Answer {
            committer_->ask();
            return {};
          },
          [&](const command::LookAtAllocation&) -> Answer {
            committer_->look_at_allocation();
            return {};
          },
          [&](const command::LoseLease&) -> Answer {
            lease_.lose();
            commands_->kill_all();
            return {};
          },
          [&](const command::LetGoOfLease&) -> Answer {
            lease_.let_go();
            return {};
          },
          [&](const command::TakeShare& o) -> Answer {
            const exec::NodeLedger::Taken taken = ledger_->take(o.want);
            return event::ShareTaken{ledger_->holding(), taken.complete, taken.again};
          },
          [&](const command::KeepShare& o) -> Answer {
            ledger_->keep(o.rest);
            return event::ShareHeld{ledger_->holding()};
          },
          [&](const command::WaitForShare& o) -> Answer {
            ledger_->wait_for_more(o.waits);
            watch_bell(o.waits);
            return event::ShareHeld{ledger_->holding()};
          },
          [&](const command::Tell& o) -> Answer {
            tell(o.notice);
            return {};
          },
          [&](const command::ShowProgress&) -> Answer {
            if (events_.progress) events_.progress(state_.summary.workflow);
            return {};
          },
          [&](const command::TellJobOver& o) -> Answer {
            if (events_.ended)
              events_.ended({o.finished.token, state_.summary.epoch, o.load->label,
                             o.finished.state, o.finished.outcome});
            return {};
          },
          [&](const command::TellFailure& o) -> Answer {
            if (events_.failure)
              events_.failure(o.load->job.name, show_end_of(*o.load, o.outcome, *preparer_));
            return {};
          },
          [&](const command::CloseShop&) -> Answer {
            close_shop();
            return {};
          },
          [&](const command::Goodbye& o) -> Answer { return say_goodbye(o); },
          [&](const command::Leave& o) -> Answer {
            leave(o);
            return {};
          },
      },
      order);
}

// --- what happens ---

void Session::look_at_lease() {
  if (state_.lost_lease()) return;
  if (lease_.news_fd() >= 0) lease_.clear_news();
  const bool asked = committer_->asking();
  auto no_answer = committer_->take_no_answer();
  if (asked && !committer_->asking()) feed(event::AskAnswered{std::move(no_answer)});
  lease_.look(clock_.boot_now());
  feed(event::LeaseSeen{lease_.stands(), lease_.fenced(), lease_.paused(), lease_.paused_since(),
                        lease_.due()});
}

void Session::hear_signals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGUSR1) {
      if (asked_.is_new(number, clock_.boot_now())) describe();
    } else {
      feed(event::Signal{number});
    }
  }
}

void Session::hear_store() {
  committer_->clear_fd();
  // The answer may be older than the change.
  if (auto reply = committer_->take_reply()) feed(to_event(*std::move(reply)));
  if (committer_ != nullptr && committer_->take_changed()) feed(event::Changed{});
  if (committer_ != nullptr) {
    if (auto gang = committer_->take_gang())
      feed(event::GangSeen{gang->commit, std::move(gang->part), std::move(gang->job)});
  }
  if (committer_ != nullptr) feed(event::Revoked{committer_->take_revoked()});
  if (committer_ != nullptr) {
    if (const auto ends_at = committer_->take_moved_end()) move_end(*ends_at);
  }
  if (committer_ != nullptr) {
    if (const auto seen = committer_->take_allocation()) feed(*seen);
  }
  if (const auto lost = committer_->lost(); lost && !state_.lost_lease())
    feed(event::LeaseLost{*lost});
}

void Session::hear_bells() {
  for (const BellMessage& bell : bell_->take()) {
    committer_->expect(bell.commit);
    feed(event::Bell{bell.commit, bell.place});
  }
}

// As terms_of() does it at the beginning.
void Session::move_end(WallTime ends_at) {
  commands_->set_end(ends_at);
  notice(fmt::format("Slurm has moved the end of the allocation: jobs must end by {}",
                     show_time(ends_at)));
  const auto left = std::max<std::chrono::nanoseconds>(ends_at - clock_.wall_now(), 0ns);
  feed(event::EndMoved{clock_.boot_now() + left});
}

// Before free parts are used. Not after the ledger was lost, or the worker was stopped for long.
bool Session::is_share_there() const {
  return ledger_ == nullptr || ledger_->is_there();
}

void Session::check_share() {
  if (is_share_there()) return;
  exec::NodeHolding used = state_.share.use().in_use();
  used.waiting_since = {};
  ledger_->reenter(used);
  watch_bell(watched_bell_ >= 0);
  feed(event::ShareLost{ledger_->holding()});
}

void Session::look_at_share() {
  if (ledger_ == nullptr) return;
  ledger_->silence_bell();
  feed(event::ShareBell{ledger_->could_hold()});
}

void Session::watch_bell(bool watch) {
  const int bell = watch ? ledger_->bell() : -1;
  if (bell == watched_bell_) return;
  if (watched_bell_ >= 0) host_.unwatch(watched_bell_);
  watched_bell_ = bell >= 0 && host_.watch(bell) ? bell : -1;
}

void Session::tell(const Notice& what) {
  // That is told in the end.
  if (what.what == Notice::What::node_cannot_run && is_missing(directory_)) return;
  NoticeWorld world{*preparer_, actions_, host_.running(), {}};
  if (what.what == Notice::What::node_is_taken) {
    const auto workers = exec::NodeLedger::look(setup_.node_place);
    if (workers)
      world.holders =
          show_holders(context_, *workers, static_cast<std::uint64_t>(lease_.process().pid));
  }
  if (what.what == Notice::What::recovery_failed)
    commands_->note_in_recovery_file(*what.job, what.ended);
  notice(show_notice(what, world));
}

// What a person asks by SIGUSR1.
void Session::describe() {
  const auto tell_line = [this](const std::string& line) {
    events_.asked ? events_.asked(line) : notice(line);
  };
  const BootTime confirmed = committer_ != nullptr ? committer_->last_confirmed() : BootTime{};
  const auto leader = [this](Run run) { return host_.leader(commands_->id_of(run)); };
  for (const std::string& line : show_state(state_, clock_.boot_now(), confirmed, leader))
    tell_line(line);
}

void Session::close_shop() {
  host_.unwatch(committer_->fd());
  if (bell_) host_.unwatch(bell_->fd());
  if (lease_.news_fd() >= 0) host_.unwatch(lease_.news_fd());
  if (watched_bell_ >= 0) host_.unwatch(std::exchange(watched_bell_, -1));
  store_ = committer_->stop();
  commands_->close();
}

event::GoodbyeAnswer Session::say_goodbye(const command::Goodbye& order) {
  Goodbye said = worker::say_goodbye(context_.world, *store_, state_,
                                     offer_of(state_, clock_.boot_now()), bell_.get(), order);
  state_.summary.mismatches = std::move(said.mismatches);
  return std::move(said.answer);
}

// Of this worker's user, and younger than it: whoever started them here.
event::GangCleared Session::end_gang(const command::EndGang& order) const {
  const exec::ProcessIdentity& self = lease_.process();
  const auto end = setup_.end_tagged ? setup_.end_tagged : end_tagged_processes;
  return {order.token, end(gang_tags(store_id_, order.token),
                           {self.start, exec::ancestors_of(self), setup_.allocation})};
}

void Session::leave(const command::Leave& order) {
  failure_ = order.failure;
  if (!failure_ && state_.summary.end == WorkerEnd::workflow_finished) store_->forget_copy();
}

}  // namespace torc::worker
