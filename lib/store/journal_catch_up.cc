// Bringing the replica to the newest state. Everything here but quiet() runs inside the gate.
#include <algorithm>
#include <cerrno>

#include "lib/store/journal_store.h"
#include "lib/store/segment.h"
#include "lib/store/snapshot.h"

namespace torc::store {
namespace {

constexpr int kRounds =
    1 << 20;  // a bound, not an expectation: each round applies a directory of commits
constexpr int kReloads = 4;
// From so many on a listing of the segments is worth it.
constexpr std::uint64_t kManyFiles = 8;
constexpr int kGapLooks = 3;
constexpr std::chrono::nanoseconds kOldView = std::chrono::seconds(60);

Error no_history(const Path& file) {
  return {ErrorKind::corrupt,
          file.string() + " is missing or does not continue the history, and no snapshot covers it",
          "`torc verify` says how far the history is good"};
}

// No file is missing that was listed, but a snapshot tells of commits that no listing shows.
Error lagging(const Path& directory) {
  return {ErrorKind::busy,
          directory.string() + ": its listings do not show yet what is there already",
          "try again in a few seconds"};
}

}  // namespace

// A directory that shows nothing new proves something only to a view that is young: in an old one
// the next commits may have come and been collected.
bool JournalStore::view_is_old(BootTime now) {
  const BootTime confirmed{shared().confirmed.load()};
  return confirmed.count() == 0 || now - confirmed >= std::min(tuning_.retention / 2, kOldView);
}

Result<SnapshotName> JournalStore::look_at_snapshots() {
  Result<SnapshotName> seen = journal_.newest_snapshot();
  if (!seen.ok()) {
    const int e = seen.error().os_errno;
    if (e != ENOENT && e != ENOTDIR && e != ESTALE) return std::move(seen).error();
    // The directory was made with the store and is never removed.
    TORC_TRY(check_still_there(world_, directory_, identity_));
    return std::move(seen).error();
  }
  const SnapshotName newest = *seen;
  if (newest.sequence > snapshot_.sequence) snapshot_ = newest;
  return newest;
}

// Without the gate and with one request: is what this node has the newest? `false` may mean "don't
// know".
Result<bool> JournalStore::quiet() {
  if (!validated_) return false;
  TORC_ASSIGN(const Head head, read_local_head());
  const BootTime asked = world_.clock.boot_now();
  if (head.sequence == 0 || view_is_old(asked)) return false;
  const Result<std::uint64_t> highest = journal_.highest_beside(head.sequence + 1);
  if (!highest.ok() || *highest > head.sequence) return false;
  // What is not there now was not there at `asked`, whatever others of this node have applied
  // since.
  confirm(asked);
  return true;
}

// The newest number there is from `next` on. `directory` tells whether that of `next` is there.
Result<JournalStore::Extent> JournalStore::survey(std::uint64_t next) {
  Extent out;
  const Result<std::uint64_t> beside = journal_.highest_beside(next);
  if (!beside.ok() && beside.error().kind != ErrorKind::not_found) return beside.error();
  out.directory = beside.ok();
  if (beside.ok()) out.highest = *beside;
  const std::uint64_t last = first_of_directory(next) + kPerDirectory - 1;
  if (beside.ok() && *beside < last) return out;
  // There may be more than this directory: the newest one tells.
  const Result<std::vector<std::uint64_t>> directories = journal_.directories();
  if (!directories.ok()) {
    if (directories.error().kind == ErrorKind::not_found) return out;
    return directories.error();
  }
  if (directories->empty() || directories->back() <= last) return out;
  const std::uint64_t newest = directories->back();
  Result<std::uint64_t> highest = journal_.highest_beside(newest);
  // It is made before the last commit of the one before it gets its name: while it is empty, its
  // author may be about to do that, or have died.
  if (highest.ok() && *highest == 0) highest = journal_.highest_beside(newest - 1);
  if (!highest.ok() && highest.error().kind != ErrorKind::not_found) return highest.error();
  out.highest = std::max(out.highest, highest.ok() ? *highest : newest - 1);
  return out;
}

Result<void> JournalStore::catch_up() {
  if (!validated_) TORC_TRY(validate());
  segments_usable_ = true;
  missing_ = 0;
  int reloads = 0;
  int gaps = 0;
  for (int round = 0; round < kRounds; ++round) {
    TORC_ASSIGN(const Head head, read_local_head());
    const BootTime asked = world_.clock.boot_now();
    TORC_ASSIGN(const Extent extent, survey(head.sequence + 1));
    Applied applied = Applied::contradicted;
    if (extent.highest > head.sequence) {
      TORC_ASSIGN(applied, apply_files(head, extent.highest));
      // The directory after a full one may have been filled since.
      const bool all = (extent.highest + 1) % kPerDirectory != 0;
      if (applied == Applied::accepted && all) {
        confirm(asked);
        validated_ = true;  // not before: a new replica is empty until then
        return {};
      }
    } else if (extent.directory) {
      // Nothing new: true for a young view, and for an old one if no snapshot goes beyond it.
      const bool young = !view_is_old(asked);
      if (!young) TORC_TRY(look_at_snapshots());
      if (young || snapshot_.sequence <= head.sequence) {
        confirm(asked);
        validated_ = true;  // not before: a new replica is empty until then
        return {};
      }
    }
    if (applied == Applied::accepted) continue;
    if (segments_used_) {  // they are no evidence; only single files are
      segments_usable_ = segments_used_ = false;
      continue;
    }
    if (applied == Applied::vanished && extent.directory && ++gaps < kGapLooks) continue;
    // Collected under us, a stray file, or a replica that is not of this history: begin again from
    // a snapshot.
    if (!extent.directory) missing_ = head.sequence + 1;
    if (++reloads > kReloads)
      return missing_ > 0 ? no_history(journal_.commit_path(missing_)) : lagging(directory_);
    TORC_TRY(look_at_snapshots());
    if (snapshot_.sequence <= head.sequence) {
      // Nothing was collected. If what we have is of this history, then it is the journal that is
      // wrong, and what we have must not be thrown away for it.
      TORC_ASSIGN(const bool ours, replica_is_of_this_history(head));
      if (applied == Applied::vanished || ours) return no_history(journal_.commit_path(missing_));
    }
    TORC_TRY(reload());
  }
  return Error{ErrorKind::busy, directory_.string() + ": cannot keep up with its commits", {}};
}

// Whether the replica that we found belongs to the history in the store: it may have been left by
// something else, or the store been put back from a backup.
Result<void> JournalStore::validate() {
  confirm(BootTime{0});
  TORC_ASSIGN(const Head head, read_local_head());
  TORC_ASSIGN(const SnapshotName newest, look_at_snapshots());
  if (head.sequence == 0) return newest.sequence == 0 ? Result<void>() : reload();
  TORC_ASSIGN(const bool ours, replica_is_of_this_history(head));
  if (ours) return {};
  // What was known of the other history says nothing of this one.
  shared().marks = {};
  shared().collected = 0;
  shared().owed = 0;
  return reload();
}

Result<bool> JournalStore::replica_is_of_this_history(const Head& head) {
  if (head.sequence == 0 || snapshot_.sequence == head.sequence)
    return snapshot_.chain == head.chain;
  const Result<CommitFile> file = journal_.read(head.sequence);
  if (file.ok()) return file->after == head.chain;
  if (file.error().kind != ErrorKind::not_found) return file.error();
  return snapshot_.sequence > head.sequence;  // collected; the chain will tell
}

Result<void> JournalStore::apply(Txn& txn, const CommitFile& file, std::string_view bytes,
                                 Head& head) {
  int rc = 0;
  const auto keep = [&](int code) {
    if (rc == 0) rc = code;
  };
  const bool good = replay(
      file.writes,
      [&](std::string_view key, std::string_view value) { keep(put_entry(txn, key, value)); },
      [&](std::string_view key) { keep(erase_entry(txn, key)); });
  keep(write_ring(txn, file.header.sequence, file.header.id));
  keep(write_tail(txn, file.header.sequence, bytes));
  if (rc != 0) return local_failure(rc, "cannot apply a commit");
  if (!good) {
    return Error{
        ErrorKind::corrupt,
        journal_.commit_path(file.header.sequence).string() + ": its write set is not one",
        "keep a copy of the store directory; `torc verify` says how far the history is good"};
  }
  head = {file.header.sequence, file.after, head.bytes + file.size, file.header.author};
  return {};
}

// Applies what segments hold of head+1 … most. What is wrong with them decides nothing: the single
// files come after.
Result<void> JournalStore::apply_segments(Txn& txn, Head& head, std::uint64_t most,
                                          Passed& passed) {
  SegmentShelf shelf(journal_);
  while (head.sequence < most) {
    const auto bytes = shelf.find(head.sequence + 1);
    if (!bytes) return {};
    const Result<CommitFile> file =
        decode_commit(identity_.id, head.sequence + 1, *bytes, journal_.segment_directory());
    if (!file.ok() || file->header.before != head.chain) return {};
    TORC_TRY(apply(txn, *file, *bytes, head));
    passed.emplace(head.sequence, head.chain);
    segments_used_ = true;
  }
  return {};
}

// Applies head+1 … highest. vanished: one was not there. contradicted: one does not continue what
// came before it. The newest is always read from its own file, which nobody has but its author:
// that it continues what segments say is what makes them true.
Result<JournalStore::Applied> JournalStore::apply_run(Txn& txn, Head& head, std::uint64_t highest,
                                                      Passed& passed) {
  if (segments_usable_ && highest - head.sequence >= kManyFiles)
    TORC_TRY(apply_segments(txn, head, highest - 1, passed));
  while (head.sequence < highest) {
    const Result<std::string> bytes = journal_.read_bytes(head.sequence + 1);
    if (!bytes.ok() && bytes.error().kind == ErrorKind::not_found) {
      missing_ = head.sequence + 1;
      return Applied::vanished;
    }
    if (!bytes.ok()) return bytes.error();
    TORC_ASSIGN(const CommitFile file, decode_commit(identity_.id, head.sequence + 1, *bytes,
                                                     journal_.commit_path(head.sequence + 1)));
    if (file.header.before != head.chain) {
      missing_ = head.sequence + 1;
      return Applied::contradicted;
    }
    TORC_TRY(apply(txn, file, *bytes, head));
    passed.emplace(head.sequence, head.chain);
  }
  return Applied::accepted;
}

Result<JournalStore::Applied> JournalStore::apply_files(const Head& start, std::uint64_t highest) {
  Result<Txn> txn = Txn::begin(replica_.environment, Access::write);
  if (!txn.ok()) {
    broken_ = true;
    return std::move(txn).error();
  }
  others_seen_ = world_.clock.boot_now();
  Head head = start;
  Passed passed;
  segments_used_ = false;
  for (;;) {
    TORC_ASSIGN(const Applied run, apply_run(*txn, head, highest, passed));
    if (run != Applied::accepted) return run;
    // The rule of the reader: a number that was collected is free for a moment to an author that
    // stood still. What a snapshot says of the chain is final, so a stray file is told from the
    // real one by its hash.
    TORC_ASSIGN(const SnapshotName newest, look_at_snapshots());
    note_snapshot(newest);
    if (newest.sequence <= start.sequence) break;
    if (newest.sequence <= head.sequence) {
      if (passed.at(newest.sequence) != newest.chain) return Applied::contradicted;
      break;
    }
    // The snapshot is ahead of what we listed: go on, nothing is proven yet.
    TORC_ASSIGN(const Extent further, survey(head.sequence + 1));
    if (further.highest <= head.sequence) return Applied::contradicted;
    highest = further.highest;
  }
  int rc = write_head(*txn, head);
  if (rc != 0) return local_failure(rc, "cannot write the head");
  if (Result<void> done = txn->commit(); !done.ok())
    return local_failure(done.error().os_errno, "cannot write");
  segments_used_ = false;
  return Applied::accepted;
}

// Replaces the replica by the newest snapshot that is good; by nothing when there is none and none
// was ever made.
Result<void> JournalStore::reload() {
  Error last;
  for (int tries = 0; tries < kReloads; ++tries) {
    TORC_ASSIGN(const std::vector<SnapshotName> all, journal_.snapshots());
    // None was ever made, or a listing lags: what is there must not be thrown away for that.
    if (all.empty()) return snapshot_.sequence > 0 ? lagging(directory_) : load({});
    bool vanished = false;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 2); ++i) {
      Result<void> loaded = load(all[i]);
      if (loaded.ok() || broken_ || grow_) return loaded;
      last = std::move(loaded).error();
      vanished = vanished || last.kind == ErrorKind::not_found;
    }
    if (!vanished) break;  // collected under us: list again
  }
  return last;
}

Result<void> JournalStore::load(const SnapshotName& name) {
  Result<Txn> txn = Txn::begin(replica_.environment, Access::write);
  if (!txn.ok()) {
    broken_ = true;
    return std::move(txn).error();
  }
  int rc = clear_state(*txn);
  Head head;
  if (rc == 0 && name.sequence > 0) {
    Result<Head> read = read_snapshot(journal_, name, [&](const Entry& e) {
      rc = put_entry(*txn, e.key, e.value);
      return rc == 0;
    });
    if (rc == 0 && !read.ok()) return std::move(read).error();
    if (rc == 0) head = *read;
  }
  if (rc == 0) rc = write_head(*txn, head);
  if (rc != 0) return local_failure(rc, "cannot load a snapshot");
  confirm(BootTime{0});
  if (Result<void> done = txn->commit(); !done.ok())
    return local_failure(done.error().os_errno, "cannot write");
  return {};
}

}  // namespace torc::store
