// torc graph: who waits for whom, of a workflow file, or of a store with the states of its jobs.
#include <fmt/format.h>

#include <memory>
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
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/tables/transaction.h"
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

// The file in the store; what it names lies where it was made.
Result<workflow::LoadedSpec> load_from_store(const App& app, store::Store& store) {
  std::string settings;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(claim::WorkflowState workflow, claim::read_workflow(reader));
    settings = std::move(workflow.settings);
    return {};
  }));
  TORC_ASSIGN(const workflow::WorkflowSettings decoded,
              workflow::decode_workflow_settings(settings));
  return workflow::load_spec(
      app, workflow::spec_copy_in(app, store.directory()).string(), workflow::Purpose::look,
      workflow::likely_working_directory(decoded.directory, store.directory()));
}

bool is_directory(const App& app, const std::string& target) {
  std::error_code error;
  return std::filesystem::is_directory((app.directory / target).lexically_normal(), error);
}

// Of a workflow file alone, or of a store with what has become of its jobs.
Result<report::Graph> draw(const workflow::LoadedSpec& loaded, store::Store* store) {
  report::Graph graph =
      report::make_graph(*loaded.workflow, *loaded.expansion, spec::outline(*loaded.expansion));
  if (store == nullptr) return graph;
  const report::Graph bare = graph;
  TORC_TRY(store->view(store::Freshness::latest, [&](const claim::Reader& reader) {
    graph = bare;
    return report::add_states(graph, *loaded.expansion, reader);
  }));
  return graph;
}

// The jobs that were named.
Result<std::vector<claim::JobRange>> named_jobs(const App& app, const GraphOptions& options,
                                                const workflow::LoadedSpec& loaded,
                                                store::Store* store) {
  Selection selection;
  TORC_ASSIGN(selection.names, job_words(app, options.names));
  std::vector<claim::JobRange> jobs;
  const auto select = [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(jobs, select_jobs(reader, selection));
    return {};
  };
  TORC_TRY(store != nullptr ? store->view(store::Freshness::latest, select)
                            : look_before_store(loaded, select));
  return jobs;
}

Result<Exit> run(const App& app, GraphOptions options) {
  options.names = options.words;
  if (!options.words.empty() && names_what_is_run(app, options.words.front())) {
    options.target = options.words.front();
    options.names.erase(options.names.begin());
  }
  std::unique_ptr<store::Store> store;
  if (options.target.empty() || is_directory(app, options.target)) {
    TORC_ASSIGN(store, open_store(app, options.target));
  }
  TORC_ASSIGN(const auto loaded,
              store ? load_from_store(app, *store)
                    : workflow::load_spec(app, options.target, workflow::Purpose::look));
  if (!loaded.expansion) return refuse_spec(app, loaded, options.json);
  TORC_ASSIGN(report::Graph graph, draw(loaded, store.get()));
  if (!options.names.empty()) {
    TORC_ASSIGN(const auto jobs, named_jobs(app, options, loaded, store.get()));
    report::leave_needed(graph, jobs);
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
