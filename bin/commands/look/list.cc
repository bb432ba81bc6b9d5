// torc list: the stores of a directory, and how far each is.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/tables.h"
#include "bin/trust.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/clean/exec_stores.h"
#include "lib/report/job_view.h"
#include "lib/store/engine/store.h"

namespace torc::cli {
namespace fs = std::filesystem;
namespace {

struct ListOptions {
  std::string directory;
  bool json = false;
};

struct ListedStore {
  std::string path;  // below the directory
  std::optional<claim::WorkflowState> workflow;
  std::string state;
  std::optional<Error> error;  // why nothing more is known
};

// Those of `torc exec` lie in a directory of their own.
Result<std::vector<Path>> stores_below(const Path& directory) {
  std::vector<Path> found;
  const auto look = [&](const Path& place, bool any_name) -> Result<void> {
    std::error_code error;
    for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error)) {
      std::error_code unseen;
      if (any_name && it->path().filename().string().starts_with(clean::kRemoving)) continue;
      const bool is_named = any_name || it->path().extension() == ".torc";
      if (is_named && it->is_directory(unseen)) found.push_back(it->path());
    }
    if (!error || (any_name && error == std::errc::no_such_file_or_directory)) return {};
    return os_error(error.value(), "cannot list " + place.string(), "name another directory");
  };
  constexpr const char* kExecStores = ".torc-exec";
  TORC_TRY(look(directory, directory.filename() == kExecStores));
  TORC_TRY(look(directory / kExecStores, true));
  std::ranges::sort(found);
  return found;
}

ListedStore look_at(const App& app, const Path& directory, const Path& path) {
  ListedStore listed;
  listed.path = path.lexically_relative(directory).string();
  const auto looked = [&]() -> Result<void> {
    TORC_TRY(check_found_store(app, path));
    TORC_ASSIGN(const auto store, store::Store::open(app.world, path, store::Tuning{}));
    return store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
      TORC_ASSIGN(listed.workflow, claim::read_workflow(reader));
      const bool anybody = claim::State(reader).tally().live_workers > 0;
      listed.state = report::workflow_verdict(*listed.workflow, anybody);
      return claim::leave_out_removed(reader, *listed.workflow);
    });
  }();
  if (!looked) listed.error = looked.error();
  return listed;
}

nlohmann::ordered_json to_json(const Path& directory, const ListedStore& listed) {
  const bool known = listed.workflow.has_value();
  const claim::WorkflowState none;
  const claim::WorkflowState& w = known ? *listed.workflow : none;
  return {{"store", (directory / listed.path).string()},
          {"workflow", json_if(known, w.name)},
          {"state", json_if(known, listed.state)},
          {"jobs", json_if(known, w.jobs)},
          {"completed_jobs", json_if(known, w.of(claim::JobState::completed))},
          {"failing_jobs", json_if(known, report::failures(w))},
          {"error", json_if(listed.error.has_value(), listed.error ? listed.error->text() : "")}};
}

Result<Exit> run(const App& app, const ListOptions& options) {
  Path directory = (app.directory / options.directory).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();  // "DIR/", and "" for here
  TORC_ASSIGN(const std::vector<Path> stores, stores_below(directory));
  auto rows = nlohmann::ordered_json::array();
  Table table({{"store", Align::left, Shorten::yes},
               {"workflow", Align::left, Shorten::yes},
               {"state", Align::left, Shorten::yes},
               {"jobs", Align::right},
               {"completed", Align::right},
               {"failed", Align::right}});
  for (const Path& path : stores) {
    const ListedStore listed = look_at(app, directory, path);
    if (options.json) {
      rows.push_back(to_json(directory, listed));
    } else if (listed.workflow) {
      const claim::WorkflowState& w = *listed.workflow;
      table.add({printable(listed.path), printable(w.name), listed.state, show_count(w.jobs),
                 show_count(w.of(claim::JobState::completed)), show_count(report::failures(w))});
    } else {
      table.add({printable(listed.path), "-", printable(listed.error->what), "-", "-", "-"});
    }
  }
  if (options.json) {
    say(app.out, "{}\n", report::json_text({{"directory", directory.string()}, {"stores", rows}}));
  } else if (stores.empty()) {
    say(app.out, "no stores in {}\n", directory.string());
  } else {
    say_table(app, table);
  }
  return Exit::ok;
}

}  // namespace

void add_list(Command& c) {
  auto& o = c.options<ListOptions>();
  c.about("List the stores of a directory, and how far each is");
  c.argument("DIR", o.directory, "directory (default: here)");
  c.flag("--json", o.json, "machine-readable output");
  c.shows_tables();
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
