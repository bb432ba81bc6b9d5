#include "bin/commands/input_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/claim/queries/queries.h"
#include "lib/spec/text/source.h"

namespace torc::cli {
namespace {

constexpr std::size_t kShown = 10;

std::string remedy(const workflow::MissingInputs& missing) {
  const auto* it = missing.files == 1 ? "it" : "them";
  return fmt::format("put {0} there, or name {0} in the output_files of the job that makes {0}",
                     it);
}

// Where its entry names its input files, in whatever form.
spec::Place place_in_file(const workflow::LoadedSpec& loaded, JobId id) {
  for (const spec::ExpandedEntry& entry : loaded.expansion->entries) {
    if (raw(id) < entry.first || raw(id) >= entry.first + entry.count) continue;
    const spec::JobEntry& job = loaded.workflow->jobs[entry.source];
    for (const char* key : {"input_files", "input_file_regexes", "command"}) {
      if (job.places.contains(key)) return job.place_of(key);
    }
    return job.place;
  }
  return {};
}

// Commands of actions may bring what no job makes.
bool runs_commands(const std::vector<claim::Action>& actions) {
  return std::ranges::any_of(actions, [](const claim::Action& a) { return !a.schedule; });
}

}  // namespace

Result<void> note_missing_inputs(const App& app, workflow::LoadedSpec& loaded) {
  TORC_ASSIGN(const auto missing,
              workflow::missing_inputs(*loaded.expansion, app.directory, kShown));
  if (missing.files == 0) return {};
  spec::Diagnostic d;
  d.severity = spec::Severity::warning;
  d.file = loaded.file;
  d.place = place_in_file(loaded, missing.first.front().id);
  d.message = show(missing);
  d.remedy =
      fmt::format("{}; until then `torc run` and `torc submit` start nothing", remedy(missing));
  spec::show_line(spec::Source(loaded.text, loaded.file), d);
  loaded.diagnostics.push_back(std::move(d));
  return {};
}

Result<NeededInputs> NeededInputs::of(const claim::Reader& reader, const Path& directory,
                                      const std::vector<claim::JobRange>* only) {
  TORC_ASSIGN(auto search, workflow::search_for_inputs(reader, directory, only));
  NeededInputs needed(std::move(search));
  TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
  needed.is_over_ = workflow.jobs_over();
  TORC_ASSIGN(const std::vector<claim::Action> actions, claim::read_actions(reader));
  needed.may_be_fetched_ = runs_commands(actions);
  return needed;
}

Result<void> NeededInputs::require(const App& app, std::string_view nothing,
                                   const std::string& again) const {
  if (is_over_) return {};
  const workflow::MissingInputs missing = search_.find(kShown);
  if (missing.files == 0) return {};
  if (may_be_fetched_) {
    say(app.err, "torc: warning: {}\n", show(missing));
    return {};
  }
  return invalid(fmt::format("{}: {}", nothing, show(missing)),
                 fmt::format("{}, then: {}", remedy(missing), again));
}

Result<void> require_inputs(const App& app, store::Store& store, const Path& directory,
                            std::string_view nothing, const std::string& again,
                            const std::vector<claim::JobRange>* only) {
  std::optional<NeededInputs> needed;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(needed, NeededInputs::of(reader, directory, only));
    return {};
  }));
  return needed->require(app, nothing, again);
}

}  // namespace torc::cli
