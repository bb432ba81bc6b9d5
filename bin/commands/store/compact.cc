// torc compact: a snapshot now, and nothing that it makes superfluous.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/report/job_view.h"
#include "lib/store/engine/engine_name.h"
#include "lib/store/maintenance/compact.h"
#include "lib/workflow/context/live_workers.h"

namespace torc::cli {
namespace {

struct CompactOptions {
  std::string store;
  bool json = false;
};

struct Outcome {
  store::Engine engine = store::Engine::journal;
  std::vector<claim::Worker> live_workers;
  store::StoreSize before;
  store::StoreSize after;
};

Result<Outcome> act(const App& app, const Path& directory) {
  Outcome out;
  {
    TORC_ASSIGN(const auto opened, store::Store::open(app.world, directory, store::Tuning{}));
    out.engine = opened->identity().engine;
    TORC_TRY(opened->view(store::Freshness::latest, [&](const store::Reader& r) -> Result<void> {
      TORC_ASSIGN(out.live_workers, workflow::live_workers(app, r));
      return {};
    }));
  }
  if (out.engine == store::Engine::lmdb && !out.live_workers.empty()) {
    return Error{
        ErrorKind::busy, workflow::show_workers(out.live_workers) + " in " + directory.string(),
        "a store of engine lmdb can be compacted only while no worker is there: end them first"};
  }
  TORC_ASSIGN(out.before, store::size_of_state(app.world, directory));
  TORC_TRY(
      store::compact(app.world, directory,
                     out.live_workers.empty() ? store::Workers::none : store::Workers::may_live));
  TORC_ASSIGN(out.after, store::size_of_state(app.world, directory));
  return out;
}

Result<Exit> run(const App& app, const CompactOptions& options) {
  TORC_ASSIGN(auto path, locate_store(app, options.store));
  TORC_ASSIGN(auto done, act(app, path));
  if (options.json) {
    const auto size = [](const store::StoreSize& s) -> nlohmann::ordered_json {
      return {{"files", s.files}, {"size_bytes", s.bytes.value}};
    };
    const nlohmann::ordered_json out = {{"store", path.string()},
                                        {"engine", to_string(done.engine)},
                                        {"registered_workers", done.live_workers.size()},
                                        {"before", size(done.before)},
                                        {"after", size(done.after)}};
    say(app.out, "{}\n", report::json_text(out));
    return Exit::ok;
  }
  say(app.out, "{}: {} in {}, before {} in {}\n", path.string(), show_bytes(done.after.bytes),
      plural(done.after.files, "file"), show_bytes(done.before.bytes),
      plural(done.before.files, "file"));
  if (!done.live_workers.empty()) {
    say(app.out, "{}: files that became superfluous less than ten minutes ago are kept for them\n",
        workflow::show_workers(done.live_workers));
  }
  return Exit::ok;
}

}  // namespace

void add_compact(Command& c) {
  auto& o = c.options<CompactOptions>();
  c.about("Make a store as small as it may be");
  c.argument("STORE", o.store, "store");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
