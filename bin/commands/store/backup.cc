// torc backup: a copy of a store that is a store itself.
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bin/commands/commands.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/report/job_view.h"
#include "lib/store/engine/engine_name.h"
#include "lib/store/maintenance/backup.h"
#include "lib/workflow/context/live_workers.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

struct BackupOptions {
  std::vector<std::string> words;  // DEST, or STORE DEST
  std::string engine = "same";     // same, auto, lmdb, journal
  bool json = false;
};

struct Contents {
  claim::WorkflowState workflow;
  std::uint64_t workers = 0;  // registered and live when it was taken
};

// Opens it as any command would; what this made on the node is not left behind.
Result<Contents> look_at(const App& app, const Path& copy) {
  TORC_TRY(store::verify(app.world, copy, claim::verify_state));
  TORC_ASSIGN(const auto opened, store::Store::open(app.world, copy, store::Tuning{}));
  Contents out;
  TORC_TRY(opened->view(store::Freshness::latest, [&](const store::Reader& r) -> Result<void> {
    TORC_ASSIGN(out.workflow, claim::read_workflow(r));
    TORC_ASSIGN(const auto live_workers, workflow::live_workers(app, r));
    out.workers = live_workers.size();
    return {};
  }));
  opened->forget_copy();
  return out;
}

void print(const App& app, const BackupOptions& options, const store::BackedUp& made,
           const Path& target, const Contents& contents) {
  if (options.json) {
    const nlohmann::ordered_json out = {
        {"store", target.string()},
        {"store_id", made.identity.id_hex()},
        {"engine", to_string(made.identity.engine)},
        {"last_commit", made.sequence},
        {"workflow", contents.workflow.name},
        {"jobs", contents.workflow.jobs},
        {"jobs_by_state", report::counts_json(contents.workflow.counts)},
        {"registered_workers", contents.workers},
        {"verified", true}};
    say(app.out, "{}\n", report::json_text(out));
    return;
  }
  say(app.out, "{}: workflow '{}' as of commit {}, {}: {}\n", target.string(),
      contents.workflow.name, made.sequence, plural(contents.workflow.jobs, "job"),
      report::show_counts(contents.workflow.counts));
  say(app.out, "verified; engine {}, a store of its own with id {}\n",
      to_string(made.identity.engine), made.identity.id_hex());
  if (contents.workers > 0) {
    say(app.out,
        "{} {} at work: the jobs that ran there run again in the copy when the leases have run "
        "out\n",
        plural(contents.workers, "worker"), contents.workers == 1 ? "was" : "were");
  }
  say(app.out,
      "not copied: the output of jobs (logs/); its batch scripts still name the original\n");
}

Result<Exit> run(const App& app, const BackupOptions& options) {
  const bool both = options.words.size() == 2;
  TORC_ASSIGN(auto source, locate_store(app, both ? options.words[0] : ""));
  store::BackupRequest request;
  request.destination = (app.directory / options.words.back()).lexically_normal();
  if (!request.destination.has_filename())
    request.destination = request.destination.parent_path();  // "copy/"
  if (options.engine != "same") {
    TORC_ASSIGN(auto engine, workflow::parse_engine(options.engine));
    request.engine = engine;
  }
  // Kept open: what the store needs is there then, and all that is made from here on is the copy's.
  TORC_ASSIGN(const auto opened, store::Store::open(app.world, source, store::Tuning{}));
  const workflow::OwnUmask outside(app);
  TORC_ASSIGN(auto made, store::backup(app.world, source, request));
  TORC_ASSIGN(auto contents, look_at(app, request.destination));
  print(app, options, made, request.destination, contents);
  return Exit::ok;
}

}  // namespace

void add_backup(Command& c) {
  auto& o = c.options<BackupOptions>();
  c.about("Copy a store while workers go on; the copy is a store");
  c.argument("DEST", o.words, "[STORE] DEST; DEST must not exist yet")
      .required()
      .words(1, 2)
      .value("[STORE] DEST");
  c.option("--engine", o.engine, "engine of the copy")
      .value("ENGINE")
      .choices({"same", "auto", "lmdb", "journal"})
      .shows_default();
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
