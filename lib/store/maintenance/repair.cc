#include "lib/store/maintenance/repair.h"

#include <algorithm>
#include <utility>

#include "lib/store/maintenance/journal_repair.h"

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
  TORC_ASSIGN(known_, known());
  TORC_ASSIGN(inventory_, inventory());
  highest_ = std::max(inventory_.highest(), known_.sequence);
  TORC_TRY(begin_at_snapshot());
  TORC_TRY(follow());
  TORC_TRY(check_older_snapshots());
  TORC_TRY(look_into_copies());
  if (!cuts()) TORC_TRY(tell_unclear());
  return list_lost();
}

Result<KnownCommit> JournalRepair::known() {
  (void)journal_.refresh(state_ / "beats");
  return newest_known(world_, state_, heartbeat_caches(place_.facts.kind));
}

// false: it is damaged, and noted.
Result<bool> JournalRepair::load(const SnapshotName& name) {
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  int rc = clear_state(txn);
  Result<Head> read = read_snapshot(journal_, name, [&](const Entry& e) {
    if (rc == 0) rc = put_entry(txn, e.key, e.value);
    return rc == 0;
  });
  if (rc != 0)
    return lmdb_error(
        rc, "cannot put the state together in " + bench_.environment()->directory().string());
  if (!read.ok()) {
    if (!is_damage(read.error())) return read.error();
    note(journal_.snapshot_path(name), read.error());
    return false;
  }
  rc = write_head(txn, *read);
  if (rc != 0)
    return lmdb_error(
        rc, "cannot put the state together in " + bench_.environment()->directory().string());
  TORC_TRY(txn.commit());
  head_ = *read;
  return true;
}

Result<void> JournalRepair::begin_at_snapshot() {
  for (const SnapshotName& name : inventory_.snapshots) {
    TORC_ASSIGN(const bool good, load(name));
    if (good) return {};
  }
  // Without any snapshot history begins at the first commit, or with nothing at all.
  if (inventory_.snapshots.empty() ||
      (!inventory_.numbers.empty() && inventory_.numbers.front() == 1))
    return {};
  return Error{ErrorKind::corrupt,
               directory_.string() +
                   ": no snapshot is good and the first commits are gone, so no "
                   "beginning is left",
               "put the store back from a backup (`torc backup` makes them)"};
}

// What cannot be opened is asked for again past what this client remembers: it may have looked for
// it too early.
Result<CommitFile> JournalRepair::read(std::uint64_t number) {
  Result<CommitFile> file = journal_.read(number);
  if (file.ok() || file.error().kind != ErrorKind::not_found) return file;
  return journal_.read_anew(number);
}

Result<CommitFile> JournalRepair::read(std::uint64_t number, SegmentReader& segment_reader) {
  const bool listed =
      std::binary_search(inventory_.numbers.begin(), inventory_.numbers.end(), number);
  Result<CommitFile> file = listed ? read(number) : journal_.read(number);
  if (file.ok() || file.error().kind != ErrorKind::not_found) return file;
  // Between the two newest snapshots a segment stands in for the single files.
  const auto bytes = segment_reader.find(number);
  if (!bytes) return listed ? std::move(file) : read(number);
  Result<CommitFile> merged =
      decode_commit(journal_.id(), number, *bytes, journal_.segment_directory());
  return merged.ok() && merged->header.before == head_.chain ? merged : file;
}

// Why the files lead no further.
void JournalRepair::note_end(std::uint64_t next, const Result<CommitFile>& file) {
  const Path path = journal_.commit_path(next);
  std::string what = file.ok() ? path.string() + " does not continue the commit before it"
                     : file.error().kind == ErrorKind::not_found ? path.string() + " is missing"
                                                                 : file.error().what;
  if (next > inventory_.highest()) what += "; " + seen_by_worker();
  damages_.push_back({path, std::move(what)});
}

// Applies commit files as long as each continues the one before.
Result<void> JournalRepair::follow() {
  SegmentReader segment_reader(journal_);
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  for (;;) {
    const std::uint64_t next = head_.sequence + 1;
    if (next > highest_) break;
    Result<CommitFile> file = read(next, segment_reader);
    if (!file.ok() && !is_damage(file.error())) return std::move(file).error();
    if (!file.ok() || file->header.before != head_.chain) {
      note_end(next, file);
      break;
    }
    int rc = 0;
    const auto keep = [&](int code) {
      if (rc == 0) rc = code;
    };
    const bool good = replay_once(
        std::move(file->writes),
        [&](std::string_view key, std::string_view value) { keep(put_entry(txn, key, value)); },
        [&](std::string_view key) { keep(erase_entry(txn, key)); });
    keep(write_ring(txn, next, file->header.id));
    if (rc != 0)
      return lmdb_error(
          rc, "cannot put the state together in " + bench_.environment()->directory().string());
    if (!good)
      return Error{ErrorKind::corrupt,
                   journal_.commit_path(next).string() + ": its write set is not one",
                   {}};
    head_ = {next, file->after, head_.bytes + file->size, file->header.author};
  }
  files_good_ = head_.sequence;
  files_chain_ = head_.chain;
  if (const int rc = write_head(txn, head_); rc != 0)
    return lmdb_error(
        rc, "cannot put the state together in " + bench_.environment()->directory().string());
  return txn.commit();
}

// Files that the good part does not need but that others read: commits below it, older snapshots.
Result<void> JournalRepair::check_older_snapshots() {
  const std::uint64_t last = head_.sequence;
  for (const std::uint64_t number : inventory_.numbers) {
    if (number > last) break;
    const Result<CommitFile> file = read(number);
    if (file.ok()) continue;
    if (!is_damage(file.error())) return file.error();
    note(journal_.commit_path(number), file.error());
    damaged_.insert(number);
  }
  for (const SnapshotName& name : inventory_.snapshots) {
    const Path path = journal_.snapshot_path(name);
    const bool noted = std::any_of(damages_.begin(), damages_.end(),
                                   [&](const Damage& d) { return d.file == path; });
    if (noted) continue;
    const Result<Head> read = read_snapshot(journal_, name, [](const Entry&) { return true; });
    if (read.ok()) continue;
    if (!is_damage(read.error())) return read.error();
    note(path, read.error());
  }
  return {};
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
