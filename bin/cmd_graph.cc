// torc graph: who waits for whom, of a workflow file or of the one that a store was made from.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "bin/graph.h"
#include "bin/locate.h"
#include "bin/quote.h"
#include "bin/spec_commands.h"
#include "bin/spec_report.h"
#include "bin/workflow_plan.h"
#include "lib/claim/claimer.h"

namespace torc::cli {
namespace {

// The file in the store; what it names lies where it was made.
Result<LoadedSpec> load_from_store(const App& app, const std::string& target) {
  TORC_ASSIGN(const auto store, open_store(app, target));
  std::string settings;
  TORC_TRY(store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(claim::WorkflowState workflow, claim::read_workflow(reader));
    settings = std::move(workflow.settings);
    return {};
  }));
  TORC_ASSIGN(const WorkflowSettings decoded, decode_workflow_settings(settings));
  return load_spec(app, (store->directory() / "spec.yaml").string(), Purpose::look,
                   decoded.directory);
}

Result<LoadedSpec> load_target(const App& app, const std::string& target) {
  std::error_code error;
  const Path path = (app.directory / target).lexically_normal();
  if (std::filesystem::is_directory(path, error)) return load_from_store(app, target);
  return load_spec(app, target, Purpose::look);
}

}  // namespace

Exit run_graph(const App& app, const GraphOptions& options) {
  const auto loaded = load_target(app, options.target);
  if (!loaded) return report(app, loaded.error());
  if (!loaded->expansion) {
    print_diagnostics(app, *loaded);
    return Exit::usage;
  }
  const Graph graph =
      make_graph(*loaded->workflow, *loaded->expansion, spec::outline(*loaded->expansion));
  if (options.json)
    fmt::print(app.out, "{}\n", to_json(graph).dump(2));
  else if (options.format == "svg")
    fmt::print(app.out, "{}", to_svg(graph));
  else if (options.format == "mermaid")
    fmt::print(app.out, "{}", to_mermaid(graph));
  else
    fmt::print(app.out, "{}", to_dot(graph));
  return Exit::ok;
}

}  // namespace torc::cli
