// Bringing the replica to the newest state. Everything here but quiet() runs inside the gate.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/store/journal/journal_store.h"
#include "lib/store/journal/segment.h"
#include "lib/store/journal/snapshot.h"

namespace torc::store {
namespace {

constexpr int kRounds =
    1 << 20;  // a bound, not an expectation: each round applies a directory of commits
constexpr int kReloads = 4;
// From so many on a listing of the segments is worth it.
constexpr std::uint64_t kManyFiles = 8;
constexpr int kGapLooks = 3;
constexpr std::chrono::nanoseconds kOldView = std::chrono::seconds(60);

// No file is missing that was listed, but a snapshot tells of commits that no listing shows.
Error lagging(const Path& directory) {
  return {ErrorKind::busy,
          directory.string() + ": its listings do not show yet what is there already",
          "try again in a few seconds"};
}

}  // namespace

Error no_history(const Path& file) {
  return {ErrorKind::corrupt,
          file.string() + " is missing or does not continue the history, and no snapshot covers it",
          "`torc verify` says how far the history is good"};
}

// What the listing of the directory after `head` says of it and of the numbers before it that no
// snapshot covers.
JournalStore::Extent JournalStore::extent_of(const std::vector<std::uint64_t>& numbers,
                                             std::uint64_t head, std::uint64_t covered) {
  Extent out;
  out.directory = true;
  out.highest = numbers.empty() ? 0 : numbers.back();
  const std::uint64_t first = first_of_directory(head + 1);
  out.shows_head = head < first || std::binary_search(numbers.begin(), numbers.end(), head);
  // A missing newest one is another matter, see shows_head.
  if (head > 0) out.hole = first_missing(numbers, std::max(first, covered + 1), head - 1);
  return out;
}

std::uint64_t JournalStore::first_missing(const std::vector<std::uint64_t>& numbers,
                                          std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t n = std::max<std::uint64_t>(from, 1); n <= to; ++n) {
    if (!std::binary_search(numbers.begin(), numbers.end(), n)) return n;
  }
  return 0;
}

// A directory that shows nothing new proves something only to a view that is young: in an old one
// the next commits may have come and been collected.
bool JournalStore::view_is_old(BootTime now) {
  const BootTime confirmed{shared().confirmed.load()};
  return confirmed.count() == 0 || now - confirmed >= std::min(retention() / 2, kOldView);
}

Result<SnapshotName> JournalStore::look_at_snapshots() {
  Result<SnapshotName> seen = journal_.newest_snapshot();
  if (!seen.ok()) {
    const int e = seen.error().os_errno;
    if (e != ENOENT && e != ENOTDIR && e != ESTALE) return std::move(seen).error();
    // The directory was made with the store and is never removed.
    TORC_TRY(check_still_there(world_, directory_, identity_, place_));
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
  if (head.sequence == 0 || view_is_old(asked) || !seen_lately(head, asked)) return false;
  const Result<std::vector<std::uint64_t>> beside = newest_beside(head.sequence + 1);
  if (!beside.ok()) return false;
  const Extent extent = extent_of(*beside, head.sequence, snapshot_.sequence);
  if (extent.highest > head.sequence || !extent.shows_head || extent.hole != 0) return false;
  // What is not there now was not there at `asked`, whatever others of this node have applied
  // since.
  confirm(asked);
  return true;
}

// The numbers in the directory of `next`: what its listing shows and, where listings lag, what
// follows and can be opened all the same.
Result<std::vector<std::uint64_t>> JournalStore::newest_beside(std::uint64_t next) {
  TORC_ASSIGN(std::vector<std::uint64_t> numbers, journal_.numbers_beside(next));
  if (place_.facts.learning == Learning::listing) return numbers;
  const std::uint64_t last = first_of_directory(next) + kPerDirectory - 1;
  const std::uint64_t listed = numbers.empty() ? 0 : numbers.back();
  for (std::uint64_t n = std::max(listed + 1, next); n <= last; ++n) {
    TORC_ASSIGN(const bool there, journal_.is_there(n));
    if (!there) break;
    numbers.push_back(n);
  }
  return numbers;
}

// Before something is concluded from what a listing does not show. false: this process may not
// change anything, and listings may be old.
bool JournalStore::refresh_listings() {
  bool done = journal_.refresh(journal_.snapshot_directory());
  done = journal_.refresh(journal_.journal_directory()) && done;
  if (missing_ > 0) (void)journal_.refresh(journal_.directory_of(missing_));
  return done || place_.facts.listing_age == std::chrono::nanoseconds(0);
}

// The newest number there is beyond `head`, and what a listing says of the numbers before it.
Result<JournalStore::Extent> JournalStore::survey(const Head& head) {
  const std::uint64_t next = head.sequence + 1;
  Extent out;
  const Result<std::vector<std::uint64_t>> beside = newest_beside(next);
  if (!beside.ok() && beside.error().kind != ErrorKind::not_found) return beside.error();
  if (beside.ok()) out = extent_of(*beside, head.sequence, snapshot_.sequence);
  // Whoever was told that a number is taken needs no listing to know.
  if (taken_ >= next) out.highest = std::max(out.highest, taken_);
  const std::uint64_t last = first_of_directory(next) + kPerDirectory - 1;
  if (beside.ok() && out.highest < last) return out;
  // There may be more than this directory: the newest one tells.
  const Result<std::vector<std::uint64_t>> directories = journal_.directories();
  if (!directories.ok()) {
    if (directories.error().kind == ErrorKind::not_found) return out;
    return directories.error();
  }
  if (directories->empty() || directories->back() <= last) return out;
  const std::uint64_t newest = directories->back();
  Result<std::vector<std::uint64_t>> inside = journal_.numbers_beside(newest);
  // It is made before the last commit of the one before it gets its name: while it is empty, its
  // author may be about to do that, or have died.
  if (inside.ok() && inside->empty()) inside = journal_.numbers_beside(newest - 1);
  if (!inside.ok() && inside.error().kind != ErrorKind::not_found) return inside.error();
  const std::uint64_t highest = !inside.ok() ? newest - 1 : inside->empty() ? 0 : inside->back();
  out.highest = std::max(out.highest, highest);
  return out;
}

// Nothing new is listed: that is true for a young view, and for an old one if no snapshot goes
// beyond it, and if the files still say what the replica holds.
Result<bool> JournalStore::is_newest(const Head& head, const Extent& extent, BootTime asked) {
  if (view_is_old(asked)) {
    TORC_TRY(look_at_snapshots());
    if (snapshot_.sequence > head.sequence) return false;
  }
  if (head.sequence == 0) return true;
  if (!extent.shows_head || !seen_lately(head, asked)) {
    TORC_ASSIGN(const Agreement agreement, agreement_of(head));
    if (agreement == Agreement::covered) return false;
    if (agreement != Agreement::agrees) return finding(agreement, head);
  }
  if (extent.hole != 0) TORC_TRY(check_hole(head, extent.hole));
  return true;
}

Result<void> JournalStore::catch_up() {
  if (!validated_) TORC_TRY(validate());
  segments_usable_ = true;
  missing_ = 0;
  int reloads = 0;
  int gaps = 0;
  bool refreshed = false;
  for (int round = 0; round < kRounds; ++round) {
    TORC_ASSIGN(const Head head, read_local_head());
    const BootTime asked = world_.clock.boot_now();
    TORC_ASSIGN(const Extent extent, survey(head));
    Applied applied = Applied::contradicted;
    missing_ = 0;
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
      TORC_ASSIGN(const bool newest, is_newest(head, extent, asked));
      if (newest) {
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
    // Collected under us, a stray file, damage, or a commit that copies alone have.
    if (++reloads > kReloads)
      return missing_ > 0 ? no_history(journal_.commit_path(missing_)) : lagging(directory_);
    // Nothing is concluded from a listing before this client was made to ask for it anew.
    if (snapshot_.sequence <= head.sequence && !std::exchange(refreshed, true)) {
      (void)refresh_listings();
      continue;
    }
    contradicted_ = applied == Applied::contradicted;
    TORC_ASSIGN(const Next next, explain(head, extent));
    if (next == Next::none) {
      confirm(asked);
      validated_ = true;
      return {};
    }
    if (next == Next::snapshot) TORC_TRY(reload());
  }
  return Error{ErrorKind::busy, directory_.string() + ": cannot keep up with its commits", {}};
}

// Whether the files still say what the replica that we found holds. One that is ahead of them has
// commits that are nowhere else, so it is reported, never thrown away.
Result<void> JournalStore::validate() {
  confirm(BootTime{0});
  TORC_ASSIGN(const Head head, read_local_head());
  TORC_ASSIGN(const SnapshotName newest, look_at_snapshots());
  if (head.sequence == 0) return newest.sequence == 0 ? Result<void>() : reload();
  TORC_ASSIGN(const Agreement agreement, agreement_of(head));
  if (agreement == Agreement::agrees) return check_directories(head);
  if (agreement != Agreement::covered) return finding(agreement, head);
  return {};  // by the files after it, or the snapshot
}

Result<void> JournalStore::apply(Txn& txn, CommitFile file, std::string_view bytes, Head& head) {
  int rc = 0;
  const auto keep = [&](int code) {
    if (rc == 0) rc = code;
  };
  const bool good = replay_once(
      std::move(file.writes),
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
  SegmentReader segment_reader(journal_);
  while (head.sequence < most) {
    const auto bytes = segment_reader.find(head.sequence + 1);
    if (!bytes) return {};
    Result<CommitFile> file =
        decode_commit(identity_.id, head.sequence + 1, *bytes, journal_.segment_directory());
    if (!file.ok() || file->header.before != head.chain) return {};
    TORC_TRY(apply(txn, *std::move(file), *bytes, head));
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
    std::string bytes;
    Result<CommitFile> file = journal_.read(head.sequence + 1, &bytes);
    if (!file.ok() && file.error().kind == ErrorKind::not_found) {
      missing_ = head.sequence + 1;
      return Applied::vanished;
    }
    if (!file.ok()) return std::move(file).error();
    if (file->header.before != head.chain) {
      missing_ = head.sequence + 1;
      return Applied::contradicted;
    }
    TORC_TRY(apply(txn, *std::move(file), bytes, head));
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
  // What a new copy of the state begins with may be of any age.
  if (validated_) others_seen_ = world_.clock.boot_now();
  Head head = start;
  const auto keep = [&]() -> Result<Applied> {
    const int rc = write_head(*txn, head);
    if (rc != 0) return local_failure(rc, "cannot write the head");
    if (Result<void> done = txn->commit(); !done.ok())
      return local_failure(done.error().os_errno, "cannot write");
    segments_used_ = false;
    note_seen(head.sequence);
    return Applied::accepted;
  };
  Passed passed;
  segments_used_ = false;
  for (;;) {
    TORC_ASSIGN(const Applied run, apply_run(*txn, head, highest, passed));
    if (run != Applied::accepted) return run;
    // The rule of the reader: a number that was collected is free for a moment to an author that
    // stood still. While the file of the commit before is there, none after it ever was: what was
    // read before that look is the chain.
    Agreement agreement = Agreement::agrees;
    if (start.sequence > 0) {
      TORC_ASSIGN(agreement, agreement_of(start));
      if (agreement == Agreement::agrees) return keep();
      if (agreement != Agreement::covered) return finding(agreement, start);
    }
    // Where it was collected a snapshot tells. What that says of the chain is final, so a stray
    // file is told from the real one by its hash.
    TORC_ASSIGN(SnapshotName newest, look_at_snapshots());
    if (newest.sequence < snapshot_.sequence) newest = snapshot_;  // an older listing
    note_snapshot(newest);
    if (newest.sequence <= start.sequence) return keep();  // an empty copy, and no snapshot
    if (newest.sequence <= head.sequence)
      return passed.at(newest.sequence) == newest.chain ? keep() : Applied::contradicted;
    // The snapshot is ahead of what we listed: go on, nothing is proven yet.
    TORC_ASSIGN(const Extent further, survey(head));
    if (further.highest <= head.sequence) return Applied::contradicted;
    highest = further.highest;
  }
}

// Replaces the replica by the newest snapshot that is good and goes beyond it. It is never set
// back: what it has beyond a snapshot may be nowhere else.
Result<void> JournalStore::reload() {
  TORC_ASSIGN(const Head head, read_local_head());
  Error last = lagging(directory_);
  for (int tries = 0; tries < kReloads; ++tries) {
    TORC_ASSIGN(const std::vector<SnapshotName> all, journal_.snapshots());
    if (all.empty() || all.front().sequence < snapshot_.sequence) return lagging(directory_);
    bool vanished = false;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 2); ++i) {
      if (head.sequence > 0 && all[i].sequence <= head.sequence) break;
      Result<Agreement> loaded = load(all[i]);
      if (loaded.ok() && *loaded == Agreement::differs) return finding(*loaded, head);
      if (loaded.ok()) return {};
      if (broken_ || grow_) return std::move(loaded).error();
      last = std::move(loaded).error();
      vanished = vanished || last.kind == ErrorKind::not_found;
    }
    if (!vanished) break;  // collected under us: list again
  }
  return last;
}

Result<JournalStore::Agreement> JournalStore::load(const SnapshotName& name) {
  Result<Txn> txn = Txn::begin(replica_.environment, Access::write);
  if (!txn.ok()) {
    broken_ = true;
    return std::move(txn).error();
  }
  Head old;
  RingEntry known;
  int rc = read_head(*txn, old);
  // The newest commit that both must have, if they are of one history.
  const std::uint64_t common = std::min(old.sequence, name.sequence);
  if (rc == 0 && common > 0) rc = read_ring(*txn, common, known);
  if (rc == 0) rc = clear_state(*txn);
  Head head;
  if (rc == 0) {
    Result<Head> read = read_snapshot(journal_, name, [&](const Entry& e) {
      rc = put_entry(*txn, e.key, e.value);
      return rc == 0;
    });
    if (rc == 0 && !read.ok()) return std::move(read).error();
    if (rc == 0) head = *read;
  }
  RingEntry there;
  if (rc == 0 && common > 0) rc = read_ring(*txn, common, there);
  // After a repair the slot may be empty: what was told to be lost is not kept.
  if (rc == 0 && common > 0 && known.sequence == common && there.sequence == common &&
      known.id != there.id)
    return Agreement::differs;
  if (rc == 0) rc = write_head(*txn, head);
  if (rc != 0) return local_failure(rc, "cannot load a snapshot");
  confirm(BootTime{0});
  if (Result<void> done = txn->commit(); !done.ok())
    return local_failure(done.error().os_errno, "cannot write");
  return Agreement::covered;
}

}  // namespace torc::store
