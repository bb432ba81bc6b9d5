#include "lib/workflow/plan/make_store.h"

#include <fmt/format.h>

#include <system_error>

#include "lib/base/plural.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/claim/transactions/user_data.h"
#include "lib/workflow/context/live_workers.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/context/spec_text.h"
#include "lib/workflow/plan/kept_launcher.h"

namespace torc::workflow {
namespace {

namespace fs = std::filesystem;

std::vector<store::Store::File> initial_files(const LoadedSpec& loaded,
                                              const BatchScripts& scripts) {
  // Slurm opens its output file before the script runs and makes no directory for it.
  std::vector<store::Store::File> files{{spec_copy_name(loaded.file), loaded.kept_text()},
                                        {"logs/README",
                                         "slurm-*.out, or by another batch system's name: what "
                                         "batch scripts and workers said. jobs/: "
                                         "output of jobs; `torc logs NAME` finds it.\n"}};
  for (const BatchScript& script : scripts.all) files.push_back({script.file, script.text});
  if (!scripts.definition.empty()) files.push_back({kDefinitionFile, scripts.definition});
  return files;
}

// A worker finds its store by its path: one that lives would go on in whatever is put there.
Result<void> refuse_live_workers(const Context& context, const Path& directory) {
  auto old = store::Store::open(context.world, directory, store::Tuning{});
  if (!old) {
    // No store, or a damaged one: nobody can work in it. One that cannot be opened here and now may
    // be open elsewhere.
    const ErrorKind kind = old.error().kind;
    if (kind == ErrorKind::not_found || kind == ErrorKind::corrupt) return {};
    return Error{kind,
                 fmt::format("whether workers are at work in {} cannot be determined: {}",
                             directory.string(), old.error().what),
                 "if there are none, move it aside yourself; or name another place with --store",
                 old.error().os_errno};
  }
  std::size_t count = 0;
  TORC_TRY((*old)->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(const auto workers, live_workers(context, reader));
    count = workers.size();
    return {};
  }));
  if (count == 0) return {};
  return Error{ErrorKind::exists,
               fmt::format("{} {} registered in {}", plural(count, "worker"),
                           count == 1 ? "is" : "are", directory.string()),
               "end them first (scancel, Ctrl-C; `torc status` lists them), or name another place "
               "with --store"};
}

Result<Path> move_aside(const Context& context, const Path& directory) {
  TORC_TRY(refuse_live_workers(context, directory));
  for (int n = 1; n < 10000; ++n) {
    const Path target = fmt::format("{}.old{}", directory.string(), n);
    std::error_code error;
    if (fs::exists(fs::symlink_status(target, error))) continue;
    const Result<void> moved = context.world.disk.rename(directory, target, store::Replace::no);
    if (moved.ok()) return target;
    if (moved.error().os_errno == EEXIST) continue;
    return os_error(moved.error().os_errno,
                    fmt::format("cannot move {} aside", directory.string()));
  }
  return Error{ErrorKind::exists, fmt::format("too many old stores beside {}", directory.string()),
               "remove those that are not needed"};
}

}  // namespace

store::Tuning worker_tuning() {
  store::Tuning tuning;
  tuning.snapshots_beside = true;
  // For a process of this node that is stuck within its commit: a third of what the shortest lease
  // leaves a worker before it is fenced.
  tuning.replica_wait = std::chrono::seconds(2);
  return tuning;
}

Result<store::Engine> parse_engine(const std::string& text) {
  if (text == "auto") return store::Engine::automatic;
  if (text == "lmdb") return store::Engine::lmdb;
  if (text == "journal") return store::Engine::journal;
  return invalid(fmt::format("'{}' is not an engine", text), "auto, lmdb or journal");
}

Result<MadeStore> make_store(const Context& context, const LoadedSpec& loaded,
                             const Path& directory, store::Engine engine, Existing existing,
                             const StoreWishes& wishes) {
  MadeStore made;
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(directory, error));
  if (there && existing == Existing::refuse) {
    return Error{ErrorKind::exists, fmt::format("{} exists already", directory.string()),
                 "go on with it (`torc run`, `torc status`), name another with --store, or move it "
                 "aside with --force"};
  }
  TORC_ASSIGN(made.scripts, render_scripts(context, loaded, directory, wishes.script_template));
  const std::vector<store::Store::File> files = initial_files(loaded, made.scripts);
  if (there) {
    TORC_ASSIGN(made.moved, move_aside(context, directory));
  }
  const claim::Plan plan =
      make_plan(loaded,
                record_directory(wishes.workdir.empty() ? context.directory : wishes.workdir,
                                 directory, (context.directory / loaded.file).lexically_normal()),
                wishes.sums);
  const std::vector<claim::UserDatum> user_data = user_data_of(*loaded.expansion);
  if (wishes.group) write_for_group();
  made.disk = std::make_unique<store::PosixDisk>(wishes.group);
  const store::World& w = context.world;
  const store::World world{*made.disk,      w.clock, w.entropy,       w.host, w.boot_id,
                           w.pid_namespace, w.uid,   w.replica_roots, w.tell, w.machine};
  store::Tuning tuning = worker_tuning();
  tuning.retention = wishes.retention;
  auto store = store::Store::create(
      wishes.group ? world : context.world, directory, engine, tuning,
      [&](store::Transaction& tx) -> Result<void> {
        TORC_TRY(claim::write_plan(tx, plan));
        return claim::write_user_data(tx, user_data);
      },
      files);
  if (!store) {
    if (there)
      (void)context.world.disk.rename(made.moved, directory, store::Replace::no);  // as it was
    return std::move(store).error();
  }
  made.store = *std::move(store);
  for (BatchScript& script : made.scripts.all) script.file = directory / script.file;
  return made;
}

}  // namespace torc::workflow
