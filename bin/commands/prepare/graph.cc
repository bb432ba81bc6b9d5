// torc graph: who waits for whom, of a workflow file, or of a store with the states of its jobs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/commands/job_words.h"
#include "bin/commands/run/chosen.h"
#include "bin/commands/run/outlook.h"
#include "bin/commands/selection.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/reset.h"
#include "lib/report/graph.h"
#include "lib/report/job_view.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

struct GraphOptions {
  std::vector<std::string> words;  // [SPEC|STORE] NAME…
  std::string target;              // a spec or a store; empty: the store found as by others
  std::vector<std::string> names;  // jobs; none: all of them
  std::string format = "dot";
  bool json = false;
};

bool is_directory(const App& app, const std::string& target) {
  std::error_code error;
  return std::filesystem::is_directory((app.directory / target).lexically_normal(), error);
}

// The jobs that were named.
Result<std::vector<claim::JobRange>> named_jobs(const GraphOptions& options,
                                                const claim::Reader& reader) {
  Selection selection;
  selection.names = options.names;
  TORC_ASSIGN(const auto named, select_jobs(reader, selection));
  claim::Change left;
  TORC_ASSIGN(auto jobs, claim::in_the_file(reader, named, left));
  if (jobs.empty() && left.removed > 0) return all_removed();
  return jobs;
}

// A store is drawn from what it has: what the lists and globs of its file would say by now is not
// what its jobs were made of.
Result<report::Graph> draw_store(const App& app, const GraphOptions& options) {
  TORC_ASSIGN(const auto store, open_store(app, options.target));
  report::Graph graph;
  TORC_TRY(store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(graph, report::graph_of_store(reader));
    if (options.names.empty()) return {};
    TORC_ASSIGN(const auto jobs, named_jobs(options, reader));
    report::leave_needed(graph, jobs);
    return {};
  }));
  return graph;
}

Result<report::Graph> draw_file(const GraphOptions& options, const workflow::LoadedSpec& loaded) {
  report::Graph graph =
      report::make_graph(*loaded.workflow, *loaded.expansion, spec::outline(*loaded.expansion));
  if (options.names.empty()) return graph;
  TORC_TRY(look_before_store(loaded, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const auto jobs, named_jobs(options, reader));
    report::leave_needed(graph, jobs);
    return {};
  }));
  return graph;
}

Result<Exit> run(const App& app, GraphOptions options) {
  options.names = options.words;
  if (!options.words.empty() && names_what_is_run(app, options.words.front())) {
    options.target = options.words.front();
    options.names.erase(options.names.begin());
  }
  TORC_ASSIGN(options.names, job_words(app, options.names));
  report::Graph graph;
  if (options.target.empty() || is_directory(app, options.target)) {
    TORC_ASSIGN(graph, draw_store(app, options));
  } else {
    TORC_ASSIGN(const auto loaded,
                workflow::load_spec(app, options.target, workflow::Purpose::look));
    if (!loaded.expansion) return refuse_spec(app, loaded, options.json);
    TORC_ASSIGN(graph, draw_file(options, loaded));
  }
  if (options.json)
    say(app.out, "{}\n", report::json_text(to_json(graph)));
  else if (options.format == "svg")
    say(app.out, "{}", report::to_svg(graph));
  else if (options.format == "mermaid")
    say(app.out, "{}", report::to_mermaid(graph));
  else
    say(app.out, "{}", report::to_dot(graph));
  return Exit::ok;
}

}  // namespace

void add_graph(Command& c) {
  auto& o = c.options<GraphOptions>();
  c.about("Draw the dependencies; jobs of one entry are one node");
  c.argument("[SPEC|STORE] NAME", o.words,
             "workflow file, - for stdin, or a store made by init; only what these jobs need: by "
             "name, by #NUMBER, 'align_*', stage:align, @FILE or -")
      .value("[SPEC|STORE] [NAME…]");
  c.option("--format", o.format, "what to write")
      .value("FORMAT")
      .choices({"dot", "mermaid", "svg"})
      .shows_default();
  c.flag("--json", o.json, "vertices and edges, machine-readable");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
