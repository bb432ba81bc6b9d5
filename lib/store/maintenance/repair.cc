#include "lib/store/maintenance/repair.h"

#include <algorithm>
#include <utility>

#include "lib/store/engine/engines.h"
#include "lib/store/maintenance/journal_repair.h"
#include "lib/store/maintenance/quarantine.h"

namespace torc::store {
namespace {

constexpr int kLooksBesideWorkers = 4;  // beside workers that go on

Error changes_too_fast(const Path& directory) {
  return {ErrorKind::busy,
          "workers go on in " + directory.string() + ": it changed while it was looked at, " +
              std::to_string(kLooksBesideWorkers) + " times, so whether it is damaged is not known",
          "end the workers and start again"};
}

}  // namespace

Result<void> JournalRepair::run() {
  TORC_ASSIGN(const KnownCommit known, files_.known());
  TORC_ASSIGN(inventory_, files_.list());
  highest_ = std::max(inventory_.highest(), known.sequence);
  // A store is made with its first commit, so without any file something is missing. How far the
  // history led is not known then: segments and copies lead as far as they do.
  const bool no_files = inventory_.highest() == 0;
  const std::uint64_t limit =
      no_files ? std::max({highest_, std::uint64_t{1}, files_.end_of_segments()}) : highest_;
  TORC_TRY(good_.put_together(inventory_, limit, known));
  TORC_TRY(copies_.look_into_all(inventory_));
  if (no_files) good_.note_no_files();
  highest_ = std::max(highest_, last_good());
  lost_without_trace_ = no_files || known.sequence > last_good();
  if (!cuts()) TORC_TRY(copies_.tell_unclear());
  return list_lost();
}

Result<bool> JournalRepair::outdated() {
  TORC_ASSIGN(const Inventory now, files_.list());
  return !(now == inventory_);
}

// A number in a directory of its own, beyond anything a process that still goes on with the old
// history can ask for.
std::uint64_t JournalRepair::continues_at() const {
  return first_of_directory(std::max(highest_, copies_.highest())) + 2 * kPerDirectory;
}

Result<void> JournalRepair::list_lost() {
  lost_ = copies_.lost();
  for (const std::uint64_t number : inventory_.numbers) {
    if (number <= last_good()) continue;
    const Result<CommitFile> file = files_.read(number);
    if (!file.ok() && !is_damage(file.error())) return file.error();
    LostCommit lost{number, files_.journal().commit_path(number), {}, 0};
    if (file.ok()) {
      lost.author = file->header.author;
    } else {
      lost.damage = file.error().what;
    }
    ++cut_off_;
    lost_.push_back(std::move(lost));
  }
  return {};
}

Result<std::string> JournalRepair::writes_of(const LostCommit& commit) {
  if (copies_.has(commit)) return copies_.writes_of(commit);
  TORC_ASSIGN(CommitFile file, files_.read(commit.sequence));
  return std::move(file.writes);
}

// What a worker has seen may be in the copy of its node.
Result<void> JournalRepair::check_workers() {
  TORC_ASSIGN(const KnownCommit known, files_.known());
  if (known.sequence <= last_good()) return {};
  return Error{ErrorKind::busy,
               seen_by_worker(known) + ", and neither the files nor this node's copies have it",
               "run this on the node of that worker, whose copy may have it, and with "
               "the TMPDIR of that worker (`torc status` says where it runs); if nothing there has "
               "it either, delete " +
                   heartbeat_path(files_.state(), {known.epoch}).string() +
                   ", and what was committed is lost"};
}

// What goes on from nothing would be a store that nobody made.
Error JournalRepair::no_beginning() const {
  return {ErrorKind::corrupt,
          files_.directory().string() +
              ": neither its first commits nor a snapshot nor a copy on this node is left, so "
              "there is nothing to go on from",
          "run this on the nodes that worked in it, whose copies may have it, or put it back from "
          "a backup (`torc backup` makes them)"};
}

Result<Path> JournalRepair::carry_out(const std::string& name) {
  if (cuts()) {
    TORC_TRY(copies_.check());
    TORC_TRY(check_workers());
    if (last_good() == 0) return no_beginning();
  }
  TORC_ASSIGN(const bool changed, outdated());
  if (changed) {
    return Error{ErrorKind::busy, files_.directory().string() + " changed while it was looked at",
                 "end all workers and start again"};
  }
  Quarantine quarantine(world_.disk, files_, name);
  TORC_TRY(quarantine.make());
  if (cuts()) {
    // The snapshot comes first: from then on everybody who reads the store goes on from it.
    TORC_TRY(good_.write(world_.entropy, continues_at()));
    TORC_TRY(quarantine.take_all(good_, continues_at() - 1));
  }
  for (const Path& copy : copies_.others())
    TORC_TRY(copies_.set_aside(copy, quarantine.directory()));
  TORC_TRY(quarantine.sync());
  return quarantine.directory();
}

Result<std::unique_ptr<Repair>> Repair::examine(const World& world, const Path& directory) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  if (meta.identity.engine == Engine::lmdb) return examine_lmdb(world, directory);
  for (int tries = 1;; ++tries) {
    TORC_ASSIGN(Workbench bench, Workbench::make(world));
    TORC_ASSIGN(Place place, look_at_place(world.disk, directory, meta.identity));
    auto repair =
        std::make_unique<JournalRepair>(world, directory, meta, std::move(place), std::move(bench));
    const Result<void> looked = repair->run();
    const bool damaged = looked.ok() ? repair->needed() : is_damage(looked.error());
    if (damaged) {
      TORC_ASSIGN(const bool outdated, repair->outdated());
      if (outdated && tries < kLooksBesideWorkers) continue;
      if (outdated) return changes_too_fast(directory);
    }
    TORC_TRY(looked);
    return std::unique_ptr<Repair>(std::move(repair));
  }
}

}  // namespace torc::store
