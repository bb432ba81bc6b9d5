// torc check: validate only.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "bin/commands/commands.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "lib/base/quantities.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

struct CheckOptions {
  std::string spec;
  bool json = false;
};

Result<Exit> run(const App& app, const CheckOptions& options) {
  TORC_ASSIGN(auto loaded, workflow::load_spec(app, options.spec, workflow::Purpose::look));
  const bool good = loaded.expansion.has_value();
  if (options.json) {
    say(app.out, "{}\n", report::json_text(diagnostics_json(loaded)));
    return good ? Exit::ok : Exit::usage;
  }
  print_diagnostics(app, loaded);
  if (!good) return Exit::usage;
  const bool runs = std::none_of(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                                 [](const spec::Diagnostic& d) { return d.blocks_run; });
  const std::string values =
      loaded.value_files.empty()
          ? ""
          : fmt::format(", with values from {}", fmt::join(loaded.value_files, ", "));
  say(app.out, "{}: {}: workflow '{}', {} job(s) from {} entr{}{}\n", loaded.file,
      runs ? "good" : "good, but more than this version runs (see the notes)",
      loaded.workflow->name, show_count(loaded.expansion->jobs), loaded.workflow->jobs.size(),
      loaded.workflow->jobs.size() == 1 ? "y" : "ies", values);
  return Exit::ok;
}

}  // namespace

void add_check(Command& c) {
  auto& o = c.options<CheckOptions>();
  c.about("Check a workflow file and show all its mistakes");
  c.argument("SPEC", o.spec, "workflow file").required();
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
