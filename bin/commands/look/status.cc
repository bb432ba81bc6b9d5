// torc status: counts, workers, failures; from any node, once or until the workflow is over.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/commands.h"
#include "bin/commands/look/screen.h"
#include "bin/commands/look/status_at.h"
#include "bin/commands/look/status_picture.h"
#include "bin/commands/run/working.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/quantities.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

struct StatusOptions {
  std::string store;
  bool submit = false;
  bool json = false;
  bool stages = false;     // how far each is
  bool exit_code = false;  // the exit code tells how the workflow is
  bool watch = false;
  std::string at;  // an earlier time, or a commit; empty: now
  std::chrono::seconds every{2};
};

// What `print` says to App::out.
template <class Print>
std::string printed(const App& app, const Print& print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const stream = ::open_memstream(&text, &size);
  if (stream == nullptr) return {};
  App printing = app;
  printing.out = stream;
  printing.color = Color::never;  // what is drawn anew is cut by its columns
  print(printing);
  std::fclose(stream);
  std::string out(text, size);
  std::free(text);
  return out;
}

Exit asked_exit(const App& app, const StatusOptions& options,
                const claim::WorkflowState& workflow) {
  if (!options.exit_code) return Exit::ok;
  if (!workflow.finished()) say(app.err, "torc: the workflow is not finished\n");
  return exit_of(workflow);
}

// On a terminal in place of the look before, else below it. Escapes to a terminal alone.
void show(const App& app, const StatusPicture& picture, const store::Store& store, bool first) {
  App as_wide = app;
  if (app.columns) as_wide.terminal_columns = app.columns();
  const std::string text = printed(as_wide, [&](const App& a) { print_status(a, picture, store); });
  if (!app.out_is_terminal) {
    write_raw(app.out, (first ? "" : "\n") + text);
  } else {
    const Window window{app.rows ? app.rows() : 0, as_wide.terminal_columns};
    // The last look stands there whole.
    write_raw(app.out, redrawn(text, picture.workflow.finished() ? Window{} : window, first));
  }
  std::fflush(app.out);
}

Result<Exit> watch(const App& app, const StatusOptions& options, store::Store& store) {
  for (bool first = true;; first = false) {
    TORC_ASSIGN(const auto picture,
                look_at_status(app, store, app.clock.wall_now(), options.stages));
    show(app, picture, store, first);
    if (picture.workflow.finished()) return asked_exit(app, options, picture.workflow);
    if (std::ferror(app.out) != 0) return Exit::ok;  // main says that it cannot be written
    app.clock.sleep_for(options.every);
  }
}

Result<Exit> run(const App& app, const StatusOptions& options) {
  if (options.every.count() == 0)
    return Error{ErrorKind::invalid, "--every 0 would look again without a pause",
                 "give it at least 1s"};
  TORC_ASSIGN(auto store, open_store(app, options.store));
  if (!options.at.empty()) return status_at(app, *store, options.at, options.json);
  if (options.submit) {
    TORC_ASSIGN(const auto pass, pass_here(app, *store, allocate::Turn::now));
    if (!options.json) print_pass(app, pass);
  }
  if (options.watch) return watch(app, options, *store);
  const WallTime now = app.clock.wall_now();
  TORC_ASSIGN(const auto picture, look_at_status(app, *store, now, options.stages));
  if (options.json)
    say(app.out, "{}\n", report::json_text(status_json(app, picture, *store, now)));
  else
    print_status(app, picture, *store);
  return asked_exit(app, options, picture.workflow);
}

}  // namespace

void add_status(Command& c) {
  auto& o = c.options<StatusOptions>();
  c.about("Show progress, workers and failures");
  c.argument("STORE", o.store, "store");
  const Flag submit = c.flag("--submit", o.submit,
                             "first submit the allocations that wait for it, as torc submit does");
  const Flag stages = c.flag("--stages", o.stages,
                             "also how far the jobs of each entry are; every job is looked at");
  const Flag exit_code = c.flag(
      "--exit-code", o.exit_code,
      "exit code 0 when all jobs have completed; 1 when some failed or will not be reached; 3 "
      "when it is not finished");
  const Flag watch = c.flag("--watch", o.watch, "show it again and again until it is over");
  c.option("--every", o.every, parse_duration, "with --watch: the time between two looks")
      .value("TIME")
      .needs(watch);
  c.flag("--json", o.json, "machine-readable output").excludes(watch);
  c.option("--at", o.at,
           "how far it was at an earlier time: 2h ago, at '2026-05-01 12:00', or when commit N was "
           "made")
      .value("TIME|N")
      .excludes(watch)
      .excludes(submit)
      .excludes(stages)
      .excludes(exit_code);
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
