// torc reinit: runs again what became stale, and what follows from it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/change/apply_file.h"
#include "bin/commands/change/change_report.h"
#include "bin/commands/commands.h"
#include "bin/commands/ringing.h"
#include "bin/commands/selection.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "bin/locate.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/user_data.h"
#include "lib/report/job_view.h"
#include "lib/store/disk/disk.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/change/stale.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::cli {
namespace {

struct ReinitOptions {
  std::string store;
  std::string spec;       // a new version of the workflow file; empty: as it is
  bool checksum = false;  // contents decide, where workers have hashed them
  bool dry_run = false;
  bool json = false;
};

using claim::JobState;
using nlohmann::ordered_json;

constexpr std::size_t kShownMissing = 10;
constexpr std::size_t kShownJobs = 1000;

struct Reinit {
  std::vector<workflow::StaleJob> stale;
  claim::Change change;
  std::vector<std::string> following;  // names: what runs again because of those, the first ones
  std::uint64_t followers = 0;
  std::vector<std::string> withdrawn;  // names of change.first_withdrawn
};

Error not_there(const std::vector<workflow::MissingInput>& missing) {
  std::string text;
  for (const workflow::MissingInput& m : missing) {
    text += fmt::format("{}'{}' of job '{}'", text.empty() ? "" : ", ", printable(m.path),
                        printable(m.job));
  }
  return Error{ErrorKind::invalid,
               fmt::format("input files are not there, and no job makes them: {}{}", text,
                           missing.size() == kShownMissing ? ", …" : ""),
               "put them back; nothing was changed"};
}

std::vector<claim::JobRange> ranges_of(const std::vector<workflow::StaleJob>& stale) {
  JobSet set;
  for (const workflow::StaleJob& job : stale) set.add(job.id);
  return std::move(set).ranges();
}

bool is_stale(const Reinit& done, JobId id) {
  return std::binary_search(
      done.stale.begin(), done.stale.end(), workflow::StaleJob{id, 0, {}, {}},
      [](const workflow::StaleJob& a, const workflow::StaleJob& b) { return a.id < b.id; });
}

void note_followers(store::Transaction& tx, Reinit& done) {
  workflow::RecipeBook book;
  done.followers =
      done.change.total() - std::min<std::uint64_t>(done.change.total(), done.stale.size());
  done.following.clear();
  done.withdrawn.clear();
  for (const JobId id : done.change.first_withdrawn)
    done.withdrawn.push_back(workflow::job_name(book, tx, id));
  for (const JobId id : done.change.first) {
    if (!is_stale(done, id)) done.following.push_back(workflow::job_name(book, tx, id));
  }
}

// The transaction. Fills in `done`.
Result<void> change(const App& app, store::Transaction& tx,
                    const std::vector<workflow::StaleJob>& stale, Reinit& done) {
  TORC_ASSIGN(done.stale, workflow::still_stale(tx, stale));
  TORC_ASSIGN(done.change, claim::reset_jobs(tx, ranges_of(done.stale), claim::Force::yes,
                                             app.clock.wall_now()));
  note_followers(tx, done);
  return {};
}

Result<Reinit> reinit(const App& app, store::Store& store, const ReinitOptions& o) {
  TORC_ASSIGN(const auto settings, workflow::read_settings(store));
  if (o.checksum && settings.sums == workflow::Sums::no && !o.json) {
    say(app.err,
        "torc: note: workers of this store do not hash files (`torc init --checksum`): sizes "
        "and times decide\n");
  }
  TORC_ASSIGN(const Path directory,
              workflow::find_working_directory(settings.directory, store.directory()));
  workflow::StaleSearch search(store, directory, nullptr,
                               workflow::contents_compared(o.checksum, settings));
  TORC_ASSIGN(const std::vector<workflow::StaleJob> stale, search.run());
  std::vector<claim::JobRange> all;
  TORC_TRY(store.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const claim::Reach reach, claim::reach_of_reset(reader, ranges_of(stale)));
    all = reach.again();
    return {};
  }));
  TORC_ASSIGN(const auto missing, search.missing_inputs(all, ranges_of(stale), kShownMissing));
  if (!missing.empty()) return not_there(missing);
  Reinit done;
  TORC_TRY(change_and_ring(app, store, o.dry_run,
                           [&](store::Transaction& tx) { return change(app, tx, stale, done); }));
  return done;
}

void print_json(const App& app, const store::Store& store, const Reinit& done, bool dry_run) {
  ordered_json stale = ordered_json::array();
  for (std::size_t i = 0; i < done.stale.size() && i < kShownJobs; ++i)
    stale.push_back({{"job", done.stale[i].name}, {"changes", done.stale[i].reasons}});
  const ordered_json out = {{"store", store.directory().string()},
                            {"dry_run", dry_run},
                            {"changed_jobs", done.change.total()},
                            {"stale_jobs", done.stale.size()},
                            {"following_jobs", done.followers},
                            {"ending_jobs", done.change.ending},
                            {"stale", std::move(stale)},
                            {"following_names", done.following},
                            {"withdrawn_jobs", claim::jobs_of(done.change.withdrawn)},
                            {"withdrawn_names", done.withdrawn}};
  say(app.out, "{}\n", report::json_text(out));
}

void print(const App& app, const Reinit& done, bool dry_run) {
  const std::uint64_t total = done.change.total();
  if (done.stale.empty()) {
    say(app.out, "nothing is stale: no job runs again\n");
  } else {
    say(app.out, "{} {}: {} stale, {} that depend on stale ones\n",
        dry_run ? "would run again:" : "to run again:", plural(total, "job"),
        show_count(done.stale.size()), show_count(done.followers));
  }
  for (std::size_t i = 0; i < done.stale.size() && i < kShownJobs; ++i) {
    const workflow::StaleJob& job = done.stale[i];
    say(app.out, "  {}: {}\n", printable(job.name), fmt::join(job.reasons, "; "));
  }
  if (done.stale.size() > kShownJobs)
    say(app.out, "  and {} more\n", show_count(done.stale.size() - kShownJobs));
  say(app.out, "{}", show_withdrawn(done.change, done.withdrawn, dry_run));
  for (const std::string& name : done.following)
    say(app.out, "  {}: depends on jobs that run again\n", printable(name));
  if (done.change.ending > 0 && !dry_run) {
    say(app.out, "{} of them still run; their workers were told to end them\n",
        show_count(done.change.ending));
  }
}

Result<Exit> run(const App& app, const ReinitOptions& options) {
  if (!options.spec.empty()) {
    TORC_ASSIGN(const auto path, locate_store(app, options.store));
    workflow::ApplyTerms terms;
    terms.checksum = options.checksum;
    terms.restarts_running = true;
    return apply_and_tell(app, {options.spec, path.string(), terms, options.dry_run, options.json});
  }
  TORC_ASSIGN(const auto path, locate_store(app, options.store));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, path, store::Tuning{}));
  TORC_ASSIGN(const auto done, reinit(app, *store, options));
  if (options.json) {
    print_json(app, *store, done, options.dry_run);
    if (!options.dry_run) settle_allocations(app, *store, Telling::err_alone);
    return Exit::ok;
  }
  print(app, done, options.dry_run);
  if (options.dry_run || done.change.total() == 0) return Exit::ok;
  say_presence(app, *store);
  settle_allocations(app, *store, Telling::out_and_err);
  return Exit::ok;
}

}  // namespace

void add_reinit(Command& c) {
  auto& o = c.options<ReinitOptions>();
  c.about("Run again what changed files or user data made stale");
  c.argument("STORE", o.store, "store");
  c.option("--spec", o.spec,
           "take over this version of the workflow file, too: as `torc apply FILE --store STORE "
           "--restart-running`")
      .value("FILE");
  c.flag("--checksum", o.checksum,
         "compare contents, not times, where workers hashed the files (`torc init --checksum`)");
  c.flag("-n,--dry-run", o.dry_run, "say what would run again, and why");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
