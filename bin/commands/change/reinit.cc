// torc reinit: runs again what became stale, and what follows from it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bin/commands/allocate/passes.h"
#include "bin/commands/change/change_report.h"
#include "bin/commands/commands.h"
#include "bin/commands/ringing.h"
#include "bin/commands/selection.h"
#include "bin/commands/spec_report.h"
#include "bin/flags.h"
#include "bin/locate.h"
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
  std::string spec;       // a new version of the workflow file; empty: as it was
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
  std::uint64_t other_needs = 0;
  std::uint64_t added = 0;  // jobs
  std::vector<std::string> added_names;
  // Jobs that have their next attempt by the new file, which says other commands, files or terms of
  // them; those that are stale are not among them.
  std::uint64_t taken_over = 0;
  std::vector<std::string> taken_over_names;  // the first of them
  std::vector<std::string> data;  // user data that have another initial value, or are new
  std::uint64_t left_out = 0;     // jobs
  std::vector<std::string> left_out_names;
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
  for (const JobId id : done.change.first) {
    if (!is_stale(done, id)) done.following.push_back(workflow::job_name(book, tx, id));
  }
}

Result<void> add_new_jobs(const App& app, store::Transaction& tx,
                          const workflow::NewRecipes& recipes, Reinit& done) {
  done.added = 0;
  if (recipes.added.templates.empty()) return {};
  TORC_ASSIGN(const std::uint64_t jobs, claim::count_jobs(tx));
  if (jobs != recipes.jobs_before) {
    return Error{ErrorKind::busy, "jobs were added to the workflow at this very moment",
                 "say it again; nothing was changed"};
  }
  claim::Origin origin;
  origin.at = app.clock.wall_now();
  origin.by = workflow::who_asks(app);
  TORC_ASSIGN(const claim::JobRange added, claim::add_jobs(tx, recipes.added, std::move(origin)));
  done.added = added.count;
  done.added_names = recipes.added_names;
  return {};
}

// Before the recipes are there.
Result<void> note_taken_over(store::Transaction& tx, const workflow::NewRecipes& recipes,
                             Reinit& done) {
  done.taken_over = 0;
  done.taken_over_names.clear();
  done.data.clear();
  workflow::RecipeBook book;
  for (const workflow::NewRecipes::Entry& e : recipes.changed) {
    for (std::uint64_t id = raw(e.first); id < raw(e.first) + e.count; ++id) {
      if (is_stale(done, JobId{id})) continue;
      if (++done.taken_over <= kShownMissing)
        done.taken_over_names.push_back(workflow::job_name(book, tx, JobId{id}));
    }
  }
  for (const claim::UserDatum& d : recipes.user_data) {
    TORC_ASSIGN(const auto before, claim::read_user_datum(tx, d.name));
    if (!before || before->initial != d.initial) done.data.push_back(d.name);
  }
  return {};
}

// The transaction. Fills in `done`.
Result<void> change(const App& app, store::Transaction& tx,
                    const std::vector<workflow::StaleJob>& stale,
                    const workflow::NewRecipes* recipes, Reinit& done) {
  TORC_ASSIGN(done.stale, workflow::still_stale(tx, stale));
  if (recipes != nullptr) {
    TORC_TRY(note_taken_over(tx, *recipes, done));
    for (const workflow::NewRecipes::Entry& e : recipes->changed)
      TORC_TRY(claim::replace_recipe(tx, e.first, e.recipe));
    TORC_TRY(add_new_jobs(app, tx, *recipes, done));
    TORC_TRY(claim::update_user_data(tx, recipes->user_data));
  }
  TORC_ASSIGN(done.change, claim::reset_jobs(tx, ranges_of(done.stale), claim::Force::yes,
                                             app.clock.wall_now()));
  note_followers(tx, done);
  return {};
}

Result<Reinit> reinit(const App& app, store::Store& store, const ReinitOptions& o,
                      const workflow::LoadedSpec* loaded) {
  workflow::WorkflowSettings settings;
  std::optional<workflow::NewRecipes> recipes;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
    TORC_ASSIGN(settings, workflow::decode_workflow_settings(workflow.settings));
    if (loaded == nullptr) return {};
    TORC_ASSIGN(recipes,
                workflow::compare_with_store(
                    reader, workflow::make_plan(*loaded, settings.directory, settings.sums),
                    workflow::user_data_of(*loaded->expansion)));
    return {};
  }));
  if (o.checksum && settings.sums == workflow::Sums::no && !o.json) {
    say(app.err,
        "torc: note: workers of this store do not hash files (`torc init --checksum`): sizes "
        "and times decide\n");
  }
  TORC_ASSIGN(const Path directory,
              workflow::find_working_directory(settings.directory, store.directory()));
  workflow::StaleSearch search(store, directory, recipes ? &*recipes : nullptr,
                               o.checksum ? workflow::Sums::yes : workflow::Sums::no);
  TORC_ASSIGN(const std::vector<workflow::StaleJob> stale, search.run());
  std::vector<claim::JobRange> all;
  TORC_TRY(store.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(all, claim::with_downstream(reader, ranges_of(stale)));
    return {};
  }));
  TORC_ASSIGN(const auto missing, search.missing_inputs(all, kShownMissing));
  if (!missing.empty()) return not_there(missing);
  Reinit done;
  if (recipes) {
    done.other_needs = recipes->other_needs;
    done.left_out = recipes->left_out;
    done.left_out_names = recipes->left_out_names;
  }
  TORC_TRY(change_and_ring(app, store, o.dry_run, [&](store::Transaction& tx) {
    return change(app, tx, stale, recipes ? &*recipes : nullptr, done);
  }));
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
                            {"added_jobs", done.added},
                            {"added_names", done.added_names},
                            {"taken_over_jobs", done.taken_over},
                            {"taken_over_names", done.taken_over_names},
                            {"user_data", done.data},
                            {"left_out_jobs", done.left_out},
                            {"left_out_names", done.left_out_names}};
  say(app.out, "{}\n", report::json_text(out));
}

void print(const App& app, const Reinit& done, bool dry_run) {
  const std::uint64_t total = done.change.total();
  if (done.added > 0) {
    say(app.out, "{} {} job(s) that the new file has: {}{}\n", dry_run ? "would add" : "added",
        show_count(done.added), printable(done.added_names.front()), done.added > 1 ? ", …" : "");
  }
  if (done.taken_over > 0) {
    say(app.out, "{} of {} job(s) what the new file says, for their next attempt: {}{}\n",
        dry_run ? "would take over" : "took over", show_count(done.taken_over),
        printable(fmt::format("{}", fmt::join(done.taken_over_names, ", "))),
        done.taken_over > done.taken_over_names.size() ? ", …" : "");
  }
  if (!done.data.empty()) {
    say(app.out, "{} other values of user data: {}\n", dry_run ? "would take over" : "took over",
        printable(fmt::format("{}", fmt::join(done.data, ", "))));
  }
  if (done.stale.empty()) {
    if (done.added == 0) say(app.out, "nothing is stale: no job runs again\n");
  } else {
    say(app.out, "{} {} job(s): {} stale, {} that follow from them\n",
        dry_run ? "would run again" : "to run again:", show_count(total),
        show_count(done.stale.size()), show_count(done.followers));
  }
  for (std::size_t i = 0; i < done.stale.size() && i < kShownJobs; ++i) {
    const workflow::StaleJob& job = done.stale[i];
    say(app.out, "  {}: {}\n", printable(job.name), fmt::join(job.reasons, "; "));
  }
  if (done.stale.size() > kShownJobs)
    say(app.out, "  and {} more\n", show_count(done.stale.size() - kShownJobs));
  for (const std::string& name : done.following)
    say(app.out, "  {}: depends on jobs that run again\n", printable(name));
  if (done.change.ending > 0 && !dry_run) {
    say(app.out, "{} of them still run; their workers were told to end them\n",
        show_count(done.change.ending));
  }
  if (done.left_out > 0) {
    say(app.out,
        "{} job(s) that are over are not in the new file and stay as they are; what becomes "
        "stale of them runs again as before: {}{}\n",
        show_count(done.left_out), printable(done.left_out_names.front()),
        done.left_out > 1 ? ", …" : "");
  }
  if (done.other_needs > 0) {
    say(app.out,
        "not taken over: other resources, schedulers, labels or priorities of {} entries "
        "(`torc set`, or a new store)\n",
        show_count(done.other_needs));
  }
}

Result<Exit> run(const App& app, const ReinitOptions& options) {
  TORC_ASSIGN(const auto path, locate_store(app, options.store));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, path, store::Tuning{}));
  std::optional<workflow::LoadedSpec> loaded;
  if (!options.spec.empty()) {
    TORC_ASSIGN(auto read, workflow::load_spec(app, options.spec));
    loaded = std::move(read);
    if (!loaded->expansion) {
      print_diagnostics(app, *loaded, "nothing was changed");
      return Exit::usage;
    }
  }
  TORC_ASSIGN(const auto done, reinit(app, *store, options, loaded ? &*loaded : nullptr));
  if (loaded && !options.dry_run) {
    if (const auto replaced =
            workflow::replace_spec_copy(app, path, loaded->file, loaded->kept_text());
        !replaced)
      (void)report(app, replaced.error());
  }
  if (options.json) {
    print_json(app, *store, done, options.dry_run);
    if (!options.dry_run) settle_allocations(app, *store, Telling::err_alone);
    return Exit::ok;
  }
  print(app, done, options.dry_run);
  if (options.dry_run || (done.change.total() == 0 && done.added == 0)) return Exit::ok;
  say_presence(app, *store);
  settle_allocations(app, *store, Telling::out_and_err);
  return Exit::ok;
}

}  // namespace

void add_reinit(Command& c) {
  auto& o = c.options<ReinitOptions>();
  c.about("Run again what changed files, user data or commands made stale");
  c.argument("STORE", o.store, "store");
  c.option("--spec", o.spec, "the workflow file with changed commands, files or user data")
      .value("FILE");
  c.flag("--checksum", o.checksum,
         "contents decide, not times, where workers hashed them (`torc init --checksum`)");
  c.flag("--dry-run", o.dry_run, "say what would run again, and why");
  c.flag("--json", o.json, "machine-readable output");
  c.run([&o](const App& app) { return run(app, o); });
}

}  // namespace torc::cli
