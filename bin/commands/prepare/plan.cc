// torc plan: what a workflow would take, and what is probably not meant.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "bin/commands/commands.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "lib/report/job_view.h"
#include "lib/report/plan_report.h"
#include "lib/spec/load/advice.h"

namespace torc::cli {
namespace {

struct PlanOptions {
  std::string spec;
  bool json = false;
};

Result<Exit> run(const App& app, const PlanOptions& options) {
  TORC_ASSIGN(auto loaded, workflow::load_spec(app, options.spec, workflow::Purpose::look));
  if (!loaded.expansion) return refuse_spec(app, loaded, options.json);
  auto advice = spec::advice(*loaded.workflow, *loaded.expansion, loaded.text, loaded.file);
  loaded.diagnostics.insert(loaded.diagnostics.end(), std::make_move_iterator(advice.begin()),
                            std::make_move_iterator(advice.end()));
  std::stable_sort(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                   [](const spec::Diagnostic& a, const spec::Diagnostic& b) {
                     return std::tie(a.place.line, a.place.column) <
                            std::tie(b.place.line, b.place.column);
                   });
  const report::PlanReport plan = report::make_plan_report(loaded);
  if (options.json) {
    nlohmann::ordered_json out = to_json(plan, loaded);
    out["diagnostics"] = diagnostics_json(loaded)["diagnostics"];
    say(app.out, "{}\n", report::json_text(out));
    return Exit::ok;
  }
  print_diagnostics(app, loaded);
  say(app.out, "{}", to_text(plan, loaded));
  return Exit::ok;
}

}  // namespace

void add_plan(Command& c) {
  auto& o = c.options<PlanOptions>();
  c.about("Show stages, critical path, core-hours and what nodes need");
  c.argument("SPEC", o.spec, "workflow file, or - for stdin").required();
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
