#include "bin/commands/exec/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <system_error>
#include <utility>

#include "bin/commands/exec/jobs.h"
#include "bin/commands/exec/lines.h"
#include "bin/commands/exec/values.h"
#include "bin/commands/ringing.h"
#include "bin/commands/selection.h"
#include "bin/commands/spec_report.h"
#include "bin/trust.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/live.h"
#include "lib/clean/exec_stores.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/plan/make_store.h"

namespace torc::cli {
namespace {

namespace fs = std::filesystem;

// Of values that become jobs in one commit, whichever comes first.
constexpr std::size_t kJobsMadeAtOnce = 65'536;
constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20U;
constexpr std::uint64_t kJobsAtOnce = 100'000;  // that are retried in one commit
constexpr const char* kUnfinished = ".making";

// Of a file whose commands have parameters: each is an entry of its own.
Result<std::vector<std::string>> commands_of(const App& app, const ExecOptions& o) {
  if (o.commands_file.empty()) return o.commands;
  TORC_ASSIGN(ExecLines lines,
              ExecLines::open(app, o.commands_file, o.nul_separated ? '\0' : '\n'));
  std::vector<std::string> all;
  for (std::string line;;) {
    TORC_ASSIGN(const bool there, lines.next(line));
    if (!there) return all;
    all.push_back(line);
  }
}

Result<std::vector<ExecValues>> next_jobs(ExecValueReader& reader) {
  std::vector<ExecValues> batch;
  std::size_t bytes = 0;
  ExecValues values;
  while (batch.size() < kJobsMadeAtOnce && bytes < kBytesAtOnce) {
    TORC_ASSIGN(const bool there, reader.next(values));
    if (!there) break;
    for (const std::string& value : values) bytes += value.size();
    batch.push_back(std::move(values));
  }
  return batch;
}

// What the flags ask for, part after part. `use` gets each with `more`: whether others follow.
// nullopt: mistakes, which were reported.
using UseJobs = std::function<Result<void>(workflow::LoadedSpec part, bool more)>;
Result<bool> each_part(const App& app, const ExecOptions& o, const UseJobs& use) {
  const auto is_good = [&](const workflow::LoadedSpec& loaded) {
    if (!loaded.expansion) print_diagnostics(app, loaded);
    return loaded.expansion.has_value();
  };
  const auto use_commands = [&]() -> Result<bool> {
    TORC_ASSIGN(const std::vector<std::string> commands, commands_of(app, o));
    TORC_ASSIGN(workflow::LoadedSpec loaded, exec_commands_spec(app, o, commands));
    if (!is_good(loaded)) return false;
    TORC_TRY(use(std::move(loaded), false));
    return true;
  };
  if (o.sources.empty()) return use_commands();
  TORC_ASSIGN(ExecValueJobs jobs, ExecValueJobs::make(app, o));
  if (!is_good(jobs.header())) return false;
  TORC_ASSIGN(ExecValueReader reader, ExecValueReader::open(app, o));
  TORC_ASSIGN(std::vector<ExecValues> batch, next_jobs(reader));
  if (batch.empty() && o.runs_once_without_values) return use_commands();
  while (!batch.empty()) {
    workflow::LoadedSpec part = jobs.jobs_of(batch);
    if (!is_good(part)) return false;
    TORC_ASSIGN(batch, next_jobs(reader));
    TORC_TRY(use(std::move(part), !batch.empty()));
  }
  return true;
}

Result<Path> new_place(const App& app, const ExecOptions& o) {
  std::error_code error;
  if (!o.store.empty()) return (app.directory / o.store).lexically_normal();
  const Path parent = app.directory / kExecDirectory;
  fs::create_directory(parent, error);
  if (error) {
    return os_error(error.value(), fmt::format("cannot make {}", parent.string()),
                    "name a place with --store");
  }
  TORC_TRY(check_found_store(app, parent));  // a directory of somebody else is not one to work in
  const std::time_t now = app.clock.wall_now().count() / 1'000'000;
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32] = {};
  (void)std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  for (int n = 1;; ++n) {
    const Path path = parent / (n == 1 ? std::string(text) : fmt::format("{}-{}", text, n));
    if (!fs::exists(fs::symlink_status(path, error)) &&
        !fs::exists(fs::symlink_status(path.string() + kUnfinished, error)))
      return path;
  }
}

Result<void> refuse_existing(const Path& place) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(place, error))) return {};
  return Error{ErrorKind::exists, fmt::format("{} exists already", place.string()),
               "go on with it by --resume, or name another place with --store"};
}

// Numbers that began at 1 go on from those there are.
Result<void> add_part(const App& app, store::Store& store, const workflow::LoadedSpec& part) {
  const WallTime now = app.clock.wall_now();
  const auto add = [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const std::uint64_t before, claim::count_jobs(tx));
    claim::Plan plan;
    workflow::add_expansion(plan, *part.workflow, *part.expansion);
    for (claim::Template& t : plan.templates) t.first = JobId{raw(t.first) + before};
    plan.definitions.clear();  // those of the first part
    claim::Origin origin;
    origin.at = now;
    origin.by = workflow::who_asks(app);
    TORC_TRY(claim::add_jobs(tx, std::move(plan), std::move(origin)));
    return {};
  };
  TORC_TRY(store.commit(0, add));
  return {};
}

// One that is made of several commits gets its name when it is complete.
Result<std::unique_ptr<store::Store>> build(const App& app, const ExecOptions& o, bool& good) {
  TORC_ASSIGN(const store::Engine engine, workflow::parse_engine(o.engine));
  Path place;  // when there are jobs for it
  Path making;
  std::unique_ptr<store::Store> store;
  std::error_code error;
  const auto all =
      each_part(app, o, [&](const workflow::LoadedSpec& part, bool more) -> Result<void> {
        if (store != nullptr) return add_part(app, *store, part);
        TORC_ASSIGN(place, new_place(app, o));
        TORC_TRY(refuse_existing(place));
        making = place.string() + kUnfinished;
        TORC_ASSIGN(workflow::MadeStore made,
                    workflow::make_store(app, part, more ? making : place, engine,
                                         workflow::Existing::refuse));
        store = std::move(made.store);
        return {};
      });
  good = all.ok() && *all;
  const bool in_parts = store != nullptr && store->directory() == making;
  if (!good || !in_parts) {
    if (in_parts) fs::remove_all(making, error);
    if (!all) return all.error();
    return store;
  }
  store->forget_copy();
  store.reset();
  TORC_TRY(app.world.disk.rename(making, place, store::Replace::no));
  TORC_TRY(check_found_store(app, place));  // that it was not exchanged
  return store::Store::open(app.world, place, workflow::worker_tuning());
}

// The newest; of stores that are being made only their makers know, and of those that are being
// removed nobody.
Result<Path> newest_place(const App& app) {
  const Path parent = app.directory / kExecDirectory;
  std::vector<Path> found;
  std::error_code error;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == kUnfinished ||
        it->path().filename().string().starts_with(clean::kRemoving))
      continue;
    std::error_code unseen;  // then opening it tells
    if (it->is_directory(unseen) || unseen) found.push_back(it->path());
  }
  // Of half a listing the newest may be an old one.
  if (error && error != std::errc::no_such_file_or_directory) {
    return os_error(error.value(), fmt::format("cannot list {}", parent.string()),
                    "--store DIR names the one to go on with");
  }
  if (!found.empty()) {
    // "-10" after "-9", and both after none.
    return *std::max_element(found.begin(), found.end(), [](const Path& a, const Path& b) {
      const std::string x = a.filename().string();
      const std::string y = b.filename().string();
      return std::pair(x.substr(0, 15), std::pair(x.size(), x)) <
             std::pair(y.substr(0, 15), std::pair(y.size(), y));
    });
  }
  return Error{ErrorKind::invalid,
               fmt::format("there is nothing to go on with in {}", parent.string()),
               "--store DIR names another place"};
}

Result<void> retry_failed(const App& app, store::Store& store) {
  Selection failed;
  failed.states = {claim::JobState::failed, claim::JobState::terminated};
  std::vector<claim::JobRange> jobs;
  TORC_TRY(store.view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(jobs, select_jobs(reader, failed));
    return {};
  }));
  for (std::size_t first = 0; first < jobs.size();) {
    std::vector<claim::JobRange> part;
    for (std::uint64_t n = 0; first < jobs.size() && n < kJobsAtOnce; n += jobs[first++].count)
      part.push_back(jobs[first]);
    const auto retry = [&](store::Transaction& tx) -> Result<void> {
      TORC_TRY(claim::retry_jobs(tx, part));
      return {};
    };
    TORC_TRY(change_and_ring(app, store, false, retry, {}, Keeping{.is_kept = false}));
  }
  return {};
}

}  // namespace

MadeExecStore make_exec_store(const App& app, const ExecOptions& options) {
  MadeExecStore made;
  bool good = false;
  auto built = build(app, options, good);
  if (!built) {
    made.exit = report(app, built.error());
  } else if (!good) {
    made.exit = Exit::usage;  // the mistakes were shown
  } else if (*built == nullptr) {
    made.exit = Exit::ok;
    say(app.err, "torc: there are no values: nothing was run\n");
  } else {
    made.store = *std::move(built);
  }
  return made;
}

Result<std::unique_ptr<store::Store>> open_exec_store(const App& app, const ExecOptions& o) {
  Path place = (app.directory / o.store).lexically_normal();
  if (o.store.empty()) {
    TORC_ASSIGN(place, newest_place(app));
  }
  std::error_code error;
  if (!fs::exists(fs::symlink_status(place, error))) {
    return Error{ErrorKind::invalid,
                 fmt::format("there is nothing to go on with: no {}", place.string()),
                 "leave --resume out and say what to run, or name the store of an earlier run"};
  }
  if (o.store.empty()) TORC_TRY(check_found_store(app, place));
  workflow::write_for_group_of(app, place);
  TORC_ASSIGN(auto store, store::Store::open(app.world, place, workflow::worker_tuning()));
  if (o.resume_failed) TORC_TRY(retry_failed(app, *store));
  return store;
}

Exit print_exec_commands(const App& app, const ExecOptions& options) {
  const auto all =
      each_part(app, options, [&](const workflow::LoadedSpec& part, bool) -> Result<void> {
        for (const spec::ExpandedEntry& entry : part.expansion->entries) {
          TORC_ASSIGN(const spec::Recipe recipe, spec::Recipe::decode(entry.recipe));
          for (std::uint64_t k = 0; k < entry.count; ++k)
            say(app.out, "{}\n", recipe.render(k).command);
        }
        return {};
      });
  if (!all) return report(app, all.error());
  return *all ? Exit::ok : Exit::usage;
}

}  // namespace torc::cli
