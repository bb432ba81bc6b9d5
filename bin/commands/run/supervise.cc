// torc supervise: starts the workers of an allocation by a command (srun), and again when that, or
// its step, was killed. It is the batch script's last command, and ends with what it started.
#include "bin/commands/run/supervise.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/run/working.h"
#include "bin/flags.h"
#include "bin/guard.h"
#include "lib/base/number.h"
#include "lib/base/quantities.h"
#include "lib/exec/watchdog/kept_child.h"
#include "lib/slurm/own_allocation.h"
#include "lib/worker/setup/worker_setup.h"

namespace torc::cli {
namespace {

using namespace std::chrono_literals;
using exec::KeptChild;

constexpr auto kAskLimit = 5s;         // squeue and scancel answer in milliseconds or not at all
constexpr auto kLookAgain = 500ms;     // at the step whose srun has gone
constexpr auto kHandOver = 20s;        // for its workers to end their jobs
constexpr auto kPatience = 30s;        // for the step to go at all
constexpr auto kForSrunToReturn = 3s;  // when the last worker has left
constexpr auto kCollectLimit = 15s;    // sacct, and a file in the store

struct SuperviseOptions {
  std::vector<std::string> words;
  std::string collect;
};

class Supervisor {
 public:
  Supervisor(const App& app, std::vector<std::string> argv)
      : app_(app),
        argv_(std::move(argv)),
        run_program_(worker::query_program(app, kAskLimit)),
        allocation_(slurm::own_allocation(app.env)) {
    for (char** entry = app.environment; entry != nullptr && *entry != nullptr; ++entry)
      environment_.emplace_back(*entry);
    if (const auto name = app.env("SLURM_JOB_NAME"))
      environment_.push_back("TORC_ALLOCATION_NAME=" + *name);
  }

  Result<Exit> run() {
    auto argv = argv_;
    for (auto start = exec::Start::first;; start = exec::Start::replacement) {
      auto environment = environment_;
      const auto now = std::chrono::floor<std::chrono::seconds>(app_.clock.wall_now());
      environment.push_back(
          fmt::format("{}={}", kSupervised, is_batch_script() ? std::to_string(now.count()) : ""));
      TORC_TRY(child_.start(argv, environment));
      wait_for_end();
      if (all_left_ && ended_here_) return Exit::ok;
      const bool again = !all_left_ && exec::step_was_killed(child_.end(), stopped(), start);
      if (!again || !may_start_again()) return exit_code();
      if (child_.end().signal != 0) wait_for_step_to_go();
      if (all_left_) return Exit::ok;
      if (stopped()) return exit_code();
      argv = argv_;
      if (const auto left = nodes()) argv = slurm::with_nodes(std::move(argv), *left);
    }
  }

 private:
  [[nodiscard]] bool stopped() const { return child_.told_to_stop(); }
  // What the last worker tells the batch script reaches this process then, and Slurm ends what is
  // left with it.
  [[nodiscard]] bool is_batch_script() const {
    return app_.env("SLURM_TASK_PID") == std::to_string(getpid());
  }

  template <class... Args>
  void tell(fmt::format_string<Args...> format, Args&&... args) {
    say(app_.err, "{} torc: {}\n", show_time(app_.clock.wall_now()),
        fmt::format(format, std::forward<Args>(args)...));
    std::fflush(app_.err);
  }

  void wait_for_end() {
    std::optional<std::chrono::nanoseconds> patience;
    for (;;) {
      const int number = child_.wait(patience);
      if (number == SIGCHLD) return;
      if (number == 0) {
        tell("all workers have left, but {} does not return: ending it", argv_.front());
        ended_here_ = true;
        patience.reset();
        child_.send(SIGKILL);
      } else if (number == SIGURG) {
        // The last worker waits for this word, and leaves; srun returns then, unless it waits for
        // one that nobody tells it of.
        all_left_ = true;
        child_.send(SIGUSR2);
        patience = kForSrunToReturn;
      } else if (number == SIGUSR1 || number == SIGUSR2 || !child_.from_parent()) {
        // What Slurm sends to stop all is sent to all, and srun answers it by killing its tasks.
        child_.send(number);
      }
    }
  }

  [[nodiscard]] std::string how() const {
    const exec::ChildEnd& end = child_.end();
    return end.signal != 0 ? fmt::format("was killed by signal {}", end.signal)
                           : fmt::format("ended with exit code {}", end.exit_code);
  }

  bool may_start_again() {
    const BootTime now = app_.clock.boot_now();
    const bool may = replacements_.allow(now);
    const auto within = show_duration(exec::kReplacementsWithin);
    if (may) {
      tell("{} {}; starting the workers again ({} of at most {} times within {})", argv_.front(),
           how(), replacements_.recent(now), exec::kMostReplacements, within);
    } else {
      tell("{} {}, again after {} new starts within {}: this allocation is given up", argv_.front(),
           how(), exec::kMostReplacements, within);
    }
    return may;
  }

  // Of an srun that was killed, whose workers may live on without it. One that returned has seen to
  // that, and its step may be shown for ever: where nobody tells of its end (slurmstepd).
  void wait_for_step_to_go() {
    if (!allocation_) return;
    const BootTime begin = app_.clock.boot_now();
    bool asked = false;
    bool killed = false;
    const char* word = nullptr;  // that srun would have passed on
    for (;;) {
      const auto steps = slurm::steps_of(run_program_, *allocation_);
      bool any = !steps;  // not known
      for (const auto& step : steps.value_or(std::vector<slurm::Step>())) {
        if (step.name != slurm::kWorkerStep) continue;
        any = true;
        const auto waited = app_.clock.boot_now() - begin;
        if (word) slurm::signal_step(run_program_, step.id, word);
        if (!asked) slurm::signal_step(run_program_, step.id, "TERM");
        if (waited > kHandOver && !killed) {
          killed = true;
          slurm::signal_step(run_program_, step.id, "KILL");
        }
      }
      asked = asked || (steps && any);
      if (!any || app_.clock.boot_now() - begin > kPatience) return;
      const int number = child_.wait(kLookAgain);
      if (stopped()) return;
      all_left_ = all_left_ || number == SIGURG;
      word = nullptr;
      if (number == SIGUSR1) word = "USR1";
      if (number == SIGUSR2 || number == SIGURG) word = "USR2";
    }
  }

  // That the allocation still has.
  [[nodiscard]] std::optional<std::uint64_t> nodes() const {
    if (!allocation_) return std::nullopt;
    const auto left = slurm::nodes_of(run_program_, *allocation_);
    return left && *left > 0 ? left : std::nullopt;
  }

  [[nodiscard]] Exit exit_code() const {
    const exec::ChildEnd& end = child_.end();
    return end.signal != 0 ? exit_by_signal(end.signal) : static_cast<Exit>(end.exit_code);
  }

  const App& app_;
  std::vector<std::string> argv_;
  std::vector<std::string> environment_;
  slurm::RunProgram run_program_;
  std::optional<std::string> allocation_;
  KeptChild child_;
  exec::Replacements replacements_;
  bool all_left_ = false;    // the last worker has said so
  bool ended_here_ = false;  // and srun did not return
};

// What the accounting tells of the steps of this allocation, kept in the store for results. Nobody
// waits for it but the allocation's end; where it comes to nothing torc's own figures stay.
void collect(const App& app, const std::string& store) {
  const auto allocation = slurm::own_allocation(app.env);
  if (!allocation) return;
  (void)worker::query_program(app, kCollectLimit)(
      {app.program.string(), "slurm", "collect", store, "--allocation", *allocation});
}

}  // namespace

Result<Exit> supervise(const App& app, std::vector<std::string> argv) {
  return Supervisor(app, std::move(argv)).run();
}

std::optional<std::vector<std::string>> srun_of_workers(const App& app,
                                                        const std::vector<std::string>& worker) {
  // From here on they are not of tasks that srun was told of: the batch script, a shell of salloc.
  constexpr std::uint32_t kFirstOfSlurm = 0xfffffff0;
  const auto step = whole_number<std::uint32_t>(app.env("SLURM_STEP_ID").value_or(""));
  const auto nodes = whole_number<std::uint32_t>(app.env("SLURM_JOB_NUM_NODES").value_or("1"));
  const bool is_on_node = !app.env("SLURMD_NODENAME").value_or("").empty();
  const bool is_task = step && *step < kFirstOfSlurm;
  if (slurm::allocation_name(app.env).empty() || is_task || app.env("TORC_RUN_ID") || !nodes ||
      (*nodes == 1 && is_on_node) || app.env("SLURM_HET_SIZE"))
    return std::nullopt;
  std::vector<std::string> argv{"srun",
                                fmt::format("--nodes={}", *nodes),
                                fmt::format("--ntasks={}", *nodes),
                                "--ntasks-per-node=1",
                                "--cpus-per-task=1",
                                "--overlap",
                                "--cpu-bind=none",
                                "--mem=0",
                                "--mpi=none",
                                "--export=ALL",
                                "--no-kill",
                                "--kill-on-bad-exit=0",
                                "--wait=0",
                                fmt::format("--job-name={}", slurm::kWorkerStep)};
  argv.insert(argv.end(), worker.begin(), worker.end());
  return argv;
}

void add_supervise(Command& c) {
  auto& o = c.options<SuperviseOptions>();
  c.about(
      "Start the workers of an allocation, and again if they are killed (batch scripts use this)");
  c.argument("COMMAND", o.words, "-- srun [OPTIONS…] torc worker STORE")
      .value("-- COMMAND…")
      .required();
  c.option("--collect", o.collect,
           "at the end, keep in this store what Slurm's accounting says about the jobs' steps")
      .value("STORE");
  c.footer(fmt::format(
      "The last command of a batch script: exec torc supervise -- srun … torc worker STORE\n"
      "When srun, or its step, was killed it is started again on the nodes that are "
      "left, at most {} times\nwithin {}. The exit code is that of COMMAND.",
      exec::kMostReplacements, show_duration(exec::kReplacementsWithin)));
  c.run([&o](const App& app) -> Result<Exit> {
    TORC_ASSIGN(const Exit exit, supervise(app, o.words));
    // Most allocations end with jobs left.
    const bool left_by_workers = exit == Exit::ok || exit == Exit::unfinished;
    if (left_by_workers && !o.collect.empty()) collect(app, o.collect);
    return exit;
  });
}

}  // namespace torc::cli
