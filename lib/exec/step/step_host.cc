#include "lib/exec/step/step_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/exec/start/program_path.h"
#include "lib/exec/step/step_judge.h"

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10min;       // with steps that cannot be made
constexpr auto kLongestPause = 30s;     // before one is tried again
constexpr auto kSrunToReturn = 10s;     // when the keeper has told the end
constexpr auto kKeeperToEnd = 3s;       // all that it runs, once that is killed
constexpr auto kKeeperToSpeak = 2s;     // when srun has returned
constexpr auto kAccountingLimit = 10s;  // for one answer of sacct
constexpr auto kAskAgain = 2s;          // when it did not know the end yet
constexpr int kMostQuestions = 4;
constexpr std::size_t kMostWords = 8192;
constexpr std::size_t kMostText = 16 << 20;

// Beyond those of the inner host.
constexpr std::uint64_t kOwnIds = std::uint64_t{1} << 63;

// What the node lacks, and not the job: but for the environment, all that is executed is srun.
bool is_of_srun(const Ended& none) {
  return none.failed_at == StartStep::execute && none.os_errno != E2BIG;
}

std::optional<BootTime> earlier(std::optional<BootTime> a, std::optional<BootTime> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

}  // namespace

Result<std::unique_ptr<ProcessHost>> StepHost::create(std::unique_ptr<ProcessHost> inner,
                                                      const Clock& clock, StepTerms terms) {
  TORC_ASSIGN(Descriptor listener, listen_for_steps(terms.name));
  TORC_TRY(inner->watch(listener.get()));
  return std::unique_ptr<ProcessHost>(
      new StepHost(std::move(inner), clock, std::move(terms), std::move(listener)));
}

StepHost::StepHost(std::unique_ptr<ProcessHost> inner, const Clock& clock, StepTerms terms,
                   Descriptor listener)
    : inner_(std::move(inner)),
      clock_(clock),
      terms_(std::move(terms)),
      listener_(std::move(listener)) {}

// Keepers end all when their worker has gone.
StepHost::~StepHost() = default;

Result<RunId> StepHost::launch(Step& step) {
  Command srun;
  srun.line = shell_word(terms_.srun);
  for (const std::string& option : step.command.step) srun.line += " " + shell_word(option);
  step.key = ++last_key_;
  for (const std::string& word :
       {terms_.program, std::string("--keep-step"), terms_.name, std::to_string(step.key)})
    srun.line += " " + shell_word(word);
  srun.env = step.command.env;
  srun.common_env = step.command.common_env;
  srun.directory = step.command.directory;
  srun.umask = step.command.umask;
  step.words = Descriptor(memfd_create("srun", MFD_CLOEXEC));
  if (step.words && step.words.get() > 2) srun.stdout_fd = srun.stderr_fd = step.words.get();
  step.srun.reset();
  step.due.reset();
  step.called = false;
  ++step.tries;
  TORC_ASSIGN(const RunId id, inner_->start(srun));
  step.launcher = id;
  return id;
}

Result<RunId> StepHost::start(const Command& command) {
  if (command.step.empty()) return inner_->start(command);
  Step step;
  step.command = command;
  step.asked_at = clock_.wall_now();
  step.first = clock_.boot_now();
  const auto keep = [](int fd) { return Descriptor(fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1); };
  step.out = keep(command.stdout_fd);
  step.err = keep(command.stderr_fd);
  if ((command.stdout_fd >= 0 && !step.out) || (command.stderr_fd >= 0 && !step.err))
    return os_error(errno, "cannot keep the output of a job open");
  refused_.reset();
  if (command.line.size() > kLongestStepLine) {
    Ended& none = refused_.emplace();
    none.id = RunId{kOwnIds + ++refusals_};
    none.how = Ending::not_started;
    none.failed_at = StartStep::execute;
    none.os_errno = E2BIG;
    none.started_at = none.ended_at = step.asked_at;
    news_.ended.push_back(none);
    return none.id;
  }
  TORC_ASSIGN(const RunId id, launch(step));
  const auto none = inner_->not_started(id);
  if (none && !is_of_srun(*none)) return id;
  if (none) {
    inner_->forget(id);
    step.launcher.reset();
    step.srun.emplace();
    try_later(step);
  }
  steps_.emplace(id, std::move(step));
  return id;
}

std::optional<Ended> StepHost::not_started(RunId id) const {
  return refused_ && refused_->id == id ? refused_ : inner_->not_started(id);
}

void StepHost::forget(RunId id) {
  if (!refused_ || refused_->id != id) return inner_->forget(id);
  std::erase_if(news_.ended, [&](const Ended& how) { return how.id == id; });
  refused_.reset();
}

Result<RunId> StepHost::queue(const Command& command) {
  if (command.step.empty()) return inner_->queue(command);
  return Error{ErrorKind::unsupported, "it is to have a step of its own", "start it"};
}

// --- the keeper ---

void StepHost::take_calls() {
  for (;;) {
    Descriptor caller = accept_step(listener_.get());
    if (!caller) return;
    const int socket = caller.get();
    if (inner_->watch(socket)) callers_.emplace(socket, std::move(caller));
  }
}

void StepHost::hear_caller(int socket) {
  const auto at = callers_.find(socket);
  Received first = receive_message(socket);
  if (first.what == Received::What::nothing) return;
  Descriptor caller = std::move(at->second);
  callers_.erase(at);
  const auto hello = decode_hello(first.bytes);
  const auto found = std::ranges::find_if(
      steps_, [&](const auto& s) { return hello && s.second.key == hello->key; });
  const pid_t srun =
      found != steps_.end() && found->second.launcher ? inner_->leader(*found->second.launcher) : 0;
  const bool wanted = srun > 0 && !found->second.called && !found->second.stopped;
  if (!wanted) {
    inner_->unwatch(socket);
    return;
  }
  Step& step = found->second;
  step.called = true;
  step.keeper = std::move(caller);
  StepBegin begin{step.command, srun};
  begin.command.stdout_fd = step.out.get();
  begin.command.stderr_fd = step.err.get();
  std::vector<int> files;
  if (step.out) files.push_back(step.out.get());
  if (step.err) files.push_back(step.err.get());
  if (send_message(socket, encode(begin), files) != Sent::yes) drop_keeper(found->first, step);
}

// What it has said by now counts: a keeper that cannot say any more that the command begins does
// not let it.
void StepHost::drop_keeper(RunId id, Step& step) {
  if (!step.keeper) return;
  inner_->unwatch(step.keeper.get());
  hear_no_more(step.keeper.get());
  for (;;) {
    const Received last = receive_message(step.keeper.get());
    if (last.what != Received::What::message) break;
    hear(id, step, last);
  }
  step.keeper.reset();
}

void StepHost::hear(RunId id, Step& step, const Received& message) {
  if (is_begun(message.bytes)) {
    step.begun = true;
  } else if (const auto sample = decode_sample(message.bytes)) {
    Sample one = sample->sample;
    one.id = id;
    news_.samples.push_back(one);
  } else if (auto ended = decode_ended(message.bytes)) {
    step.told = ended->how;
    step.due = clock_.boot_now() + kSrunToReturn;
  }
}

void StepHost::hear_keeper(Steps::iterator at) {
  Step& step = at->second;
  while (step.keeper) {
    Received next = receive_message(step.keeper.get());
    if (next.what == Received::What::nothing) return;
    if (next.what == Received::What::end) {
      drop_keeper(at->first, step);
      if (!step.launcher) step.due.reset();  // nothing more is waited for
      if (step.launcher && !step.due) step.due = clock_.boot_now() + kSrunToReturn;
      break;
    }
    hear(at->first, step, next);
  }
  settle(at);
}

// --- srun ---

void StepHost::take_srun_end(Steps::iterator at, const Ended& how) {
  Step& step = at->second;
  step.launcher.reset();
  step.srun = how;
  step.due.reset();  // this was waited for
  // What it said last may be on its way.
  if (step.keeper && !step.told) step.due = clock_.boot_now() + kKeeperToSpeak;
  settle(at);
}

void StepHost::end_launcher(Step& step) {
  if (step.launcher) inner_->kill(*step.launcher);
}

// --- what the accounting knows of it ---

std::string StepHost::name_of(const Step& step) {
  constexpr std::string_view kName = "--job-name=";
  for (const std::string& option : step.command.step) {
    if (option.starts_with(kName)) return option.substr(kName.size());
  }
  return {};
}

// Whether its end is still to be asked about. Beside all else: others go on meanwhile.
bool StepHost::ask_accounting(Step& step) {
  if (step.inquiry || step.due) return true;
  const bool unclear = step.judged->how == Ending::signaled && !step.stopped;
  if (!unclear || terms_.sacct.empty() || step.questions >= kMostQuestions) return false;
  ++step.questions;
  Command sacct;
  sacct.env = step.command.env;
  sacct.common_env = step.command.common_env;
  const char* allocation = variable(sacct.env, "SLURM_JOB_ID");
  if (allocation == nullptr && sacct.common_env)
    allocation = variable(*sacct.common_env, "SLURM_JOB_ID");
  if (allocation == nullptr) return false;
  sacct.line = fmt::format(
      "{} --noheader --parsable2 --duplicates --format=JobName,State,ExitCode --jobs={}",
      shell_word(terms_.sacct), shell_word(allocation));
  sacct.directory = "/";
  sacct.time_limit = kAccountingLimit;
  sacct.termination_lead = 0s;
  step.answer = Descriptor(memfd_create("sacct", MFD_CLOEXEC));
  if (!step.answer || step.answer.get() <= 2) return false;
  sacct.stdout_fd = sacct.stderr_fd = step.answer.get();
  const auto id = inner_->start(sacct);
  if (!id || inner_->not_started(*id)) {
    if (id) inner_->forget(*id);
    return false;
  }
  step.inquiry = *id;
  return true;
}

void StepHost::take_accounting(Steps::iterator at, const Ended& how) {
  Step& step = at->second;
  step.inquiry.reset();
  const std::string answer = text_of(step.answer);
  const bool is_told = how.how == Ending::exited && how.exit_code == 0;
  if (!is_told && has_no_accounting(answer)) {
    step.questions = kMostQuestions;
  } else if (auto known = is_told ? judge_accounted(answer, name_of(step)) : std::nullopt) {
    known->ended_at = step.judged->ended_at;
    step.judged = *known;
    step.questions = kMostQuestions;
  } else if (step.questions < kMostQuestions) {
    step.due = clock_.boot_now() + kAskAgain;
  }
  settle(at);
}

std::string StepHost::text_of(const Descriptor& file) {
  std::string text;
  std::string part(kMostWords, '\0');
  while (file && text.size() < kMostText) {
    const ssize_t got =
        pread(file.get(), part.data(), part.size(), static_cast<off_t>(text.size()));
    if (got <= 0) break;
    text.append(part, 0, static_cast<std::size_t>(got));
  }
  return text;
}

// --- ends ---

void StepHost::tell(RunId id, Step& step, Ended how) {
  drop_keeper(id, step);
  how.id = id;
  if (how.started_at == WallTime{}) how.started_at = step.asked_at;
  if (how.ended_at == WallTime{}) how.ended_at = clock_.wall_now();
  news_.ended.push_back(how);
}

// What is known of it by now may be all that there is to know.
void StepHost::settle(Steps::iterator at) {
  Step& step = at->second;
  if (!step.srun) return;  // Slurm has not let go of what the step has
  if (step.told) {
    tell(at->first, step, *step.told);
  } else if (step.keeper) {
    return;
  } else if (step.begun) {
    if (!step.judged) {
      if (terms_.end_leftovers) terms_.end_leftovers(step.command);
      step.judged = judge_step(text_of(step.words), *step.srun);
      step.judged->ended_at = clock_.wall_now();
    }
    if (ask_accounting(step)) return;
    Ended end = of_job(*step.judged, step.command.time_limit, clock_.boot_now() - step.first);
    if (step.stopped) end.how = Ending::stopped;
    tell(at->first, step, end);
  } else if (step.stopped || clock_.boot_now() >= step.first + kPatience) {
    Ended end;
    end.how = step.stopped ? Ending::stopped : Ending::not_started;
    if (!step.stopped) end.os_errno = EAGAIN;
    tell(at->first, step, end);
  } else {
    try_later(step);
    return;
  }
  steps_.erase(at);
}

bool StepHost::is_to_be_tried(const Step& step) {
  return !step.launcher && !step.keeper && !step.begun && !step.told;
}

void StepHost::try_later(Step& step) {
  const auto pause =
      std::min<std::chrono::nanoseconds>(1s * (1 << std::min(step.tries - 1, 5)), kLongestPause);
  if (!step.due) step.due = clock_.boot_now() + pause;
}

void StepHost::look_at_times() {
  const BootTime now = clock_.boot_now();
  for (auto next = steps_.begin(); next != steps_.end();) {
    const auto at = next++;
    Step& step = at->second;
    if (!step.due || now < *step.due) continue;
    step.due.reset();
    if (step.launcher) {  // it does not return
      end_launcher(step);
      if (step.told) {
        tell(at->first, step, *step.told);
        steps_.erase(at);
      }
    } else if (step.keeper) {  // and it says no more
      drop_keeper(at->first, step);
      settle(at);
    } else if (!is_to_be_tried(step) || step.stopped) {
      settle(at);
    } else if (const auto again = launch(step); !again || inner_->not_started(*again)) {
      if (again) inner_->forget(*again);
      step.launcher.reset();
      step.srun.emplace();
      settle(at);
    }
  }
}

std::optional<BootTime> StepHost::next_time() const {
  std::optional<BootTime> next;
  for (const auto& [id, step] : steps_) next = earlier(next, step.due);
  return next;
}

Result<ProcessHost::Wakeup> StepHost::wait(std::optional<BootTime> deadline) {
  const bool has_news = !news_.ended.empty() || !news_.samples.empty();
  TORC_ASSIGN(Wakeup inner,
              inner_->wait(has_news ? clock_.boot_now() : earlier(deadline, next_time())));
  Wakeup mine = std::exchange(news_, {});
  std::vector<int> readable;
  for (const int fd : inner.readable) {
    const auto step = std::ranges::find_if(
        steps_, [&](const auto& s) { return s.second.keeper && s.second.keeper.get() == fd; });
    if (fd == listener_.get()) {
      take_calls();
    } else if (callers_.contains(fd)) {
      hear_caller(fd);
    } else if (step != steps_.end()) {
      hear_keeper(step);
    } else {
      readable.push_back(fd);
    }
  }
  inner.readable = std::move(readable);
  std::vector<Ended> ended;
  for (const Ended& how : inner.ended) {
    const auto step =
        std::ranges::find_if(steps_, [&](const auto& s) { return s.second.launcher == how.id; });
    const auto asked =
        std::ranges::find_if(steps_, [&](const auto& s) { return s.second.inquiry == how.id; });
    if (step != steps_.end()) {
      take_srun_end(step, how);
    } else if (asked != steps_.end()) {
      take_accounting(asked, how);
    } else {
      ended.push_back(how);
    }
  }
  inner.ended = std::move(ended);
  look_at_times();
  for (Wakeup* more : {&mine, &news_}) {
    inner.ended.insert(inner.ended.end(), more->ended.begin(), more->ended.end());
    inner.samples.insert(inner.samples.end(), more->samples.begin(), more->samples.end());
  }
  news_ = {};
  return inner;
}

// --- orders ---

void StepHost::stop(RunId id, std::chrono::nanoseconds lead) {
  const auto at = steps_.find(id);
  if (at == steps_.end()) return inner_->stop(id, lead);
  Step& step = at->second;
  if (step.told) return;
  step.stopped = step.stopped ? std::min(*step.stopped, lead) : lead;
  if (is_to_be_tried(step)) {
    step.due.reset();
    return settle(at);
  }
  if (!step.called) return end_launcher(step);
  if (step.keeper) (void)send_message(step.keeper.get(), encode(StepStop{lead}));
  const BootTime last =
      clock_.boot_now() + std::min<std::chrono::nanoseconds>(lead, 24h) + kKeeperToEnd;
  step.due = earlier(step.due, last);
}

void StepHost::kill(RunId id) {
  const auto at = steps_.find(id);
  if (at == steps_.end()) return inner_->kill(id);
  Step& step = at->second;
  if (!step.called || is_to_be_tried(step)) return stop(id, 0s);
  if (step.told) return;
  step.stopped = 0s;
  if (step.keeper) (void)send_message(step.keeper.get(), encode(StepKill{}));
  step.due = earlier(step.due, clock_.boot_now() + kKeeperToEnd);
}

// The keepers see that their srun has gone, too, when this process cannot say anything any more.
void StepHost::kill_all() {
  for (auto next = steps_.begin(); next != steps_.end();) {
    const auto at = next++;
    Step& step = at->second;
    step.stopped = 0s;
    if (step.keeper) (void)send_message(step.keeper.get(), encode(StepKill{}));
    if (!is_to_be_tried(step)) continue;
    step.due.reset();
    settle(at);
  }
  inner_->kill_all();
}

std::size_t StepHost::running() const {
  std::size_t waiting = 0;
  for (const auto& [id, step] : steps_) waiting += step.launcher ? 0 : 1;
  return inner_->running() + waiting;
}

pid_t StepHost::leader(RunId id) {
  const auto at = steps_.find(id);
  if (at == steps_.end()) return inner_->leader(id);
  return at->second.launcher ? inner_->leader(*at->second.launcher) : 0;
}

}  // namespace torc::exec
