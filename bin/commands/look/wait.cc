// torc wait: until the workflow is over, whoever works for it and on whatever node.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "bin/commands/commands.h"
#include "bin/commands/look/look_pace.h"
#include "bin/commands/run/failures.h"
#include "bin/commands/run/working.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/quantities.h"
#include "lib/claim/queries/queries.h"
#include "lib/report/job_view.h"
#include "lib/report/situation_text.h"

namespace torc::cli {
namespace {

struct WaitOptions {
  std::string store;
  std::optional<std::chrono::seconds> timeout;
  bool quiet = false;
};

// Of so many looks one is at workers too: there may be many, and Slurm is asked for them.
constexpr std::uint64_t kLooksAtPresence = 5;

Result<claim::WorkflowState> look(store::Store& store) {
  claim::WorkflowState workflow;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(workflow, claim::read_workflow(reader));
    return {};
  }));
  return workflow;
}

void tell_end(const App& app, const claim::WorkflowState& w, const Path& store, bool quiet) {
  const std::string shown = workflow::shown_path(app, store);
  if (quiet) return print(app.err, first_failures(app, store, w), shown, "torc run " + shown);
  say(app.out, "{}: {} of {} job(s) completed: {}\n", printable(w.name),
      show_count(w.of(claim::JobState::completed)), show_count(w.jobs),
      report::show_counts(w.counts));
  if (w.of(claim::JobState::blocked) > 0)
    say(app.out, "{} job(s) {}\n", show_count(w.of(claim::JobState::blocked)),
        report::show_blocked(w));
  if (w.of(claim::JobState::held) > 0)
    say(app.out, "held jobs run when they are released: torc release {} --all\n", shown);
  if (w.halted())
    say(app.out, "nothing more was started after {} failure(s): max_failures is {}\n",
        show_count(report::failures(w)), show_count(w.max_failures));
  print(app.out, first_failures(app, store, w), shown, "torc run " + shown);
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
  TORC_ASSIGN(const auto store, open_store(app, options.store));
  const BootTime begun = app.clock.boot_now();
  Presence presence(app);
  for (bool first = true;; first = false) {
    TORC_ASSIGN(const auto workflow, look(*store));
    if (workflow.finished()) {
      tell_end(app, workflow, store->directory(), options.quiet);
      return exit_of(workflow);
    }
    const BootTime waited = app.clock.boot_now() - begun;
    if (options.timeout && waited >= *options.timeout) {
      say(app.err, "torc: {} is not finished after {}: {}\n", printable(workflow.name),
          show_exactly(*options.timeout), report::show_counts(workflow.counts));
      return Exit::unfinished;
    }
    if (!options.quiet) {
      if (first)
        say(app.err, "torc: waiting until {} is over: {}\n", printable(workflow.name),
            report::show_counts(workflow.counts));
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
  c.about("Wait until the workflow is over, whoever runs it, and say how it ended");
  c.argument("STORE", o.store, "store");
  c.option("--timeout", o.timeout, parse_duration,
           "wait no longer than this, e.g. 4h: exit code 3 when it is not over by then")
      .value("TIME");
  c.flag("-q,--quiet", o.quiet, "print failed jobs and errors alone, on standard error");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
