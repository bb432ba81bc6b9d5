// torc wait: until the workflow, or some of its jobs, are over, whoever works for it and on
// whatever node.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/look/look_pace.h"
#include "bin/commands/run/chosen.h"
#include "bin/commands/run/failures.h"
#include "bin/commands/run/working.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/transactions/reset.h"
#include "lib/report/job_view.h"
#include "lib/report/situation_text.h"

namespace torc::cli {
namespace {

struct WaitOptions {
  std::vector<std::string> words;  // [STORE] [NAME…]
  std::optional<std::chrono::seconds> timeout;
  bool quiet = false;
};

// Of so many looks one is at workers too: there may be many, and Slurm is asked for them.
constexpr std::uint64_t kLooksAtPresence = 5;

// What is waited for, at one look.
struct Look {
  claim::WorkflowState workflow;
  std::optional<ChosenCounts> chosen;  // of the jobs that were named
  std::optional<ChosenCounts> needed;  // of these and all that they wait for

  [[nodiscard]] const claim::Counts& counts() const {
    return chosen ? chosen->counts : workflow.counts;
  }
  // Also where nothing can bring them further.
  [[nodiscard]] bool is_over() const {
    if (workflow.finished() || !chosen) return workflow.finished();
    std::uint64_t over = 0;
    for (const claim::JobState s : claim::all_states())
      over += claim::is_terminal(s) ? chosen->of(s) : 0;
    return over == chosen->jobs() && chosen->ending == 0;
  }
  // Whether a job that waits was never reached, or may be yet, is said by what it waits for.
  [[nodiscard]] Exit exit() const {
    if (!chosen) return exit_of(workflow);
    const Exit alone = exit_of(*chosen);
    const bool waits = alone != Exit::ok && chosen->of(claim::JobState::blocked) > 0;
    return waits && needed ? exit_of(*needed) : alone;
  }
};

// Where it is over, with what those that were named wait for.
Result<Look> look(store::Store& store, const ChosenJobs& chosen) {
  Look look;
  if (chosen) {
    TORC_ASSIGN(look.chosen, count_chosen(store, *chosen));
  }
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(look.workflow, claim::read_workflow(reader));
    auto counted = claim::leave_out_removed(reader, look.workflow);
    if (!counted.ok() || !chosen || !look.is_over()) return counted;
    TORC_ASSIGN(const auto upstreams, claim::with_upstreams(reader, *chosen));
    claim::Change left;
    TORC_ASSIGN(const auto needed, claim::in_the_file(reader, upstreams, left));
    TORC_ASSIGN(look.needed, count_chosen(reader, needed));
    return {};
  }));
  return look;
}

Result<ChosenJobs> jobs_named(store::Store& store, const std::vector<std::string>& names) {
  if (names.empty()) return ChosenJobs();
  std::vector<claim::JobRange> jobs;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const auto named, select_jobs(reader, Selection{names, "", {}, false}));
    claim::Change left;
    TORC_ASSIGN(jobs, claim::in_the_file(reader, named, left));
    if (jobs.empty() && left.removed > 0) return all_removed();
    return {};
  }));
  return std::make_shared<const std::vector<claim::JobRange>>(std::move(jobs));
}

// "wf is", "3 jobs of wf are"
std::string subject_of(const Look& look) {
  const std::string workflow = printable(look.workflow.name);
  if (!look.chosen) return workflow + " is";
  const std::uint64_t jobs = look.chosen->jobs();
  return fmt::format("{} of {} {}", plural(jobs, "job"), workflow, jobs == 1 ? "is" : "are");
}

void tell_end(const App& app, const Look& look, const Path& store, const ChosenJobs& chosen,
              bool quiet) {
  const claim::WorkflowState& w = look.workflow;
  const std::string shown = workflow::shown_path(app, store);
  const std::string again = "torc run " + shown;
  if (const std::string outdated = report::show_outdated(w); !outdated.empty())
    say(app.err, "torc: {}\n", outdated);
  if (quiet) return print(app.err, first_failures(app, store, w, chosen), shown, again);
  if (look.chosen) {
    say(app.out, "{}: {}\n", printable(w.name), show(*look.chosen));
    if (look.needed && look.needed->of(claim::JobState::held) > 0)
      say(app.out, "held jobs run when they are released: torc release {} --all\n", shown);
    return print(app.out, first_failures(app, store, w, chosen), shown, again);
  }
  say(app.out, "{}: {} of {} completed: {}\n", printable(w.name),
      show_count(w.of(claim::JobState::completed)), plural(w.jobs, "job"),
      report::show_counts(w.counts));
  if (w.of(claim::JobState::blocked) > 0) say(app.out, "{}\n", report::show_blocked(w));
  if (w.of(claim::JobState::held) > 0)
    say(app.out, "held jobs run when they are released: torc release {} --all\n", shown);
  if (w.halted())
    say(app.out, "nothing more was started after {}: max_failures is {}\n",
        plural(report::failures(w), "failure"), show_count(w.max_failures));
  print(app.out, first_failures(app, store, w), shown, again);
}

// Whether somebody brings it to its end; told when that changes.
class Presence {
 public:
  explicit Presence(const App& app) : app_(app) {}
  Result<void> look(store::Store& store) {
    if (looks_++ % kLooksAtPresence != 0) return {};
    TORC_ASSIGN(const auto around, report::look_around(app_, store, report::AskSlurm::yes));
    const std::string nobody =
        report::say_nobody(app_, around, workflow::shown_path(app_, store.directory()));
    if (nobody != told_ && !nobody.empty()) say(app_.err, "torc: {}", nobody);
    told_ = nobody;
    return {};
  }

 private:
  const App& app_;
  std::uint64_t looks_ = 0;
  std::string told_;
};

Result<Exit> run(const App& app, const WaitOptions& options) {
  TORC_ASSIGN(const StoreAndNames where, locate_store_and_names(app, options.words));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  TORC_ASSIGN(const ChosenJobs chosen, jobs_named(*store, where.names));
  const BootTime begun = app.clock.boot_now();
  Presence presence(app);
  for (bool first = true;; first = false) {
    TORC_ASSIGN(const Look now, look(*store, chosen));
    if (now.is_over()) {
      tell_end(app, now, store->directory(), chosen, options.quiet);
      return now.exit();
    }
    const BootTime waited = app.clock.boot_now() - begun;
    if (options.timeout && waited >= *options.timeout) {
      say(app.err, "torc: {} not finished after {}: {}\n", subject_of(now),
          show_exactly(*options.timeout), report::show_counts(now.counts()));
      return Exit::unfinished;
    }
    if (!options.quiet) {
      if (first)
        say(app.err, "torc: waiting until {} over: {}\n", subject_of(now),
            report::show_counts(now.counts()));
      TORC_TRY(presence.look(*store));
    }
    std::chrono::nanoseconds pause = pause_after(waited);
    if (options.timeout) pause = std::min<BootTime>(pause, *options.timeout - waited);
    app.clock.sleep_for(pause);
  }
}

}  // namespace

void add_wait(Command& c) {
  auto& o = c.options<WaitOptions>();
  c.about("Wait until the workflow, or some jobs, are over, whoever runs it; say how they ended");
  c.argument("NAME", o.words,
             "[STORE] [NAME…]: until these jobs are over, by name, by #NUMBER, 'align_*', "
             "stage:align, @FILE or - (default: all)")
      .value("[STORE] [NAME…]");
  c.option("--timeout", o.timeout, parse_duration,
           "wait no longer than this, e.g. 4h: exit code 3 when it is not over by then")
      .value("TIME");
  c.flag("-q,--quiet", o.quiet, "print failed jobs and errors alone, on standard error");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
