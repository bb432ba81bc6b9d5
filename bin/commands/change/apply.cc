// torc apply: the store becomes what its workflow file says now.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "bin/commands/change/apply_file.h"
#include "bin/commands/commands.h"
#include "bin/commands/job_words.h"
#include "bin/commands/selection.h"
#include "bin/flags.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"

namespace torc::cli {
namespace {

struct ApplyOptions {
  std::string file;
  std::string store;
  workflow::ApplyTerms terms;
  std::string triggers;               // as written
  std::vector<std::string> accepted;  // names
  bool dry_run = false;
  bool json = false;
};

Result<spec::RerunTriggers> triggers_in(const std::string& text) {
  spec::RerunTriggers triggers;
  for (const std::string_view word : split(text, ',')) {
    const auto trigger = spec::RerunTriggers::named(word);
    if (!trigger) {
      return Error{ErrorKind::invalid,
                   fmt::format("--rerun-triggers cannot be '{}'", printable(text)),
                   fmt::format("name some of these, with commas between them: {}",
                               fmt::join(spec::RerunTriggers::kNames, ","))};
    }
    triggers.add(*trigger);
  }
  return triggers;
}

Result<Exit> run(const App& app, const ApplyOptions& options) {
  workflow::ApplyTerms terms = options.terms;
  if (!options.triggers.empty()) {
    TORC_ASSIGN(terms.triggers, triggers_in(options.triggers));
  }
  if (!options.accepted.empty()) {
    TORC_ASSIGN(const auto names, job_words(app, options.accepted));
    terms.spared = [names](const claim::Reader& reader) {
      Selection selection;
      selection.names = names;
      return select_jobs(reader, selection);
    };
  }
  return apply_and_tell(app, {options.file, options.store, terms, options.dry_run, options.json});
}

}  // namespace

void add_apply(Command& c) {
  auto& o = c.options<ApplyOptions>();
  c.about("Bring a store up to date with its workflow file, also while workers run");
  c.argument("FILE", o.file, "workflow file").required();
  c.option("--store", o.store, "the store (default: the one that `torc run FILE` would use)")
      .value("DIR");
  c.flag("-n,--dry-run", o.dry_run,
         "say what differs and what would run again, and change nothing");
  c.flag("--checksum", o.terms.checksum,
         "compare contents, not times, where workers hashed the files (`torc init --checksum`)");
  c.option(
       "--rerun-triggers", o.triggers,
       "which changes count: some of command,inputs,params,upstream (default: `rerun_triggers` of "
       "the file, or all)")
      .value("LIST");
  c.option("--accept", o.accepted, "keep the result of this job, whatever changed; may be repeated")
      .value("JOB")
      .one_at_a_time();
  c.flag("--only-failed", o.terms.spares_completed, "accept the results of all that completed");
  c.flag("--touch", o.terms.spares_all, "accept all results");
  c.flag("--restart-running", o.terms.restarts_running,
         "also end running jobs whose result will not count, and run them again at once");
  c.flag("--json", o.json, "machine-readable output");
  c.footer(
      R"(
Jobs are matched by their names. One runs again when its command, environment, files, user data or
what it waits for changed, and with it what depends on it. Resources, priorities, labels and retries
count for what has not run yet. A job at work whose definition changes ends by what it was; say it
again then. Jobs that the file has no more are canceled; their results stay.

Examples:
  torc apply wf.yaml --dry-run    what would change
  torc apply wf.yaml              change it; `torc run wf.yaml` does so by itself
  torc apply wf.yaml --accept a   the same, but the result of job a stays)");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
