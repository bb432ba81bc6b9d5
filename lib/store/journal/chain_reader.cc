#include "lib/store/journal/chain_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lib/store/format/segment.h"
#include "lib/store/format/snapshot.h"

namespace torc::store {
namespace {

constexpr int kLoads = 4;
// From so many on a listing of the segments is worth it.
constexpr std::uint64_t kManyFiles = 8;

}  // namespace

bool ChainReader::give_up_segments() {
  if (!segments_used_) return false;
  segments_usable_ = segments_used_ = false;
  return true;
}

Result<void> ChainReader::apply(Txn& txn, CommitFile file, std::string_view bytes, Head& head) {
  int rc = 0;
  const auto note = [&](int code) {
    if (rc == 0) rc = code;
  };
  const bool good = replay_once(
      std::move(file.writes),
      [&](std::string_view key, std::string_view value) { note(put_entry(txn, key, value)); },
      [&](std::string_view key) { note(erase_entry(txn, key)); });
  note(write_ring(txn, file.header.sequence, file.header.id));
  note(write_tail(txn, file.header.sequence, bytes));
  if (rc != 0) return replica_.failure(rc, "cannot apply a commit");
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
Result<void> ChainReader::apply_segments(Txn& txn, Head& head, std::uint64_t most, Passed& passed) {
  SegmentReader segment_reader(journal_);
  while (head.sequence < most) {
    const auto bytes = segment_reader.find(head.sequence + 1);
    if (!bytes) return {};
    Result<CommitFile> file =
        decode_commit(journal_.id(), head.sequence + 1, *bytes, journal_.segment_directory());
    if (!file.ok() || file->header.before != head.chain) return {};
    TORC_TRY(apply(txn, *std::move(file), *bytes, head));
    passed.emplace(head.sequence, head.chain);
    segments_used_ = true;
  }
  return {};
}

// Applies head+1 … highest. The newest is always read from its own file, which nobody has but its
// author: that it continues what segments say is what makes them true.
Result<ChainReader::Outcome> ChainReader::apply_run(Txn& txn, Head& head, std::uint64_t highest,
                                                    Passed& passed) {
  if (segments_usable_ && highest - head.sequence >= kManyFiles)
    TORC_TRY(apply_segments(txn, head, highest - 1, passed));
  while (head.sequence < highest) {
    std::string bytes;
    Result<CommitFile> file = journal_.read(head.sequence + 1, &bytes);
    if (!file.ok() && file.error().kind == ErrorKind::not_found)
      return Outcome{Outcome::State::vanished, head.sequence + 1};
    if (!file.ok()) return std::move(file).error();
    if (file->header.before != head.chain)
      return Outcome{Outcome::State::contradicted, head.sequence + 1};
    TORC_TRY(apply(txn, *std::move(file), bytes, head));
    passed.emplace(head.sequence, head.chain);
  }
  return Outcome{Outcome::State::accepted, 0};
}

Result<ChainReader::Outcome> ChainReader::keep(Txn& txn, const Head& head) {
  const int rc = write_head(txn, head);
  if (rc != 0) return replica_.failure(rc, "cannot write the head");
  if (Result<void> done = txn.commit(); !done.ok())
    return replica_.failure(done.error().os_errno, "cannot write");
  segments_used_ = false;
  evidence_.note_seen(head.sequence);
  return Outcome{Outcome::State::accepted, 0};
}

Result<ChainReader::Outcome> ChainReader::read(const Head& start, std::uint64_t highest) {
  constexpr Outcome kContradicted{Outcome::State::contradicted, 0};
  TORC_ASSIGN(Txn txn, replica_.begin(Access::write));
  // What a new copy of the state begins with may be of any age.
  if (replica_.is_validated()) others_seen_ = clock_.boot_now();
  Head head = start;
  Passed passed;
  segments_used_ = false;
  for (;;) {
    TORC_ASSIGN(const Outcome run, apply_run(txn, head, highest, passed));
    if (run.state != Outcome::State::accepted) return run;
    // The rule of the reader: a number that was collected is free for a moment to an author that
    // stood still. While the file of the commit before is there, none after it ever was: what was
    // read before that look is the chain.
    if (start.sequence > 0) {
      TORC_ASSIGN(const Agreement agreement, evidence_.of(start));
      if (agreement == Agreement::agrees) return keep(txn, head);
      if (agreement != Agreement::covered) return evidence_.finding(agreement, start);
    }
    // Where it was collected a snapshot tells. What that says of the chain is final, so a stray
    // file is told from the real one by its hash.
    TORC_ASSIGN(SnapshotName newest, snapshots_.look());
    if (newest.sequence < snapshots_.newest().sequence)
      newest = snapshots_.newest();  // an older listing
    snapshots_.note(newest);
    if (newest.sequence <= start.sequence)
      return keep(txn, head);  // an empty copy, and no snapshot
    if (newest.sequence <= head.sequence)
      return passed.at(newest.sequence) == newest.chain ? keep(txn, head) : kContradicted;
    // The snapshot goes beyond what was listed: go on, nothing is proven yet.
    TORC_ASSIGN(const Extent further, survey_.beyond(head));
    if (further.highest <= head.sequence) return kContradicted;
    highest = further.highest;
  }
}

Result<void> ChainReader::load_snapshot() {
  TORC_ASSIGN(const Head head, replica_.read_head());
  Error last = location_.lagging();
  for (int tries = 0; tries < kLoads; ++tries) {
    TORC_ASSIGN(const std::vector<SnapshotName> all, journal_.snapshots());
    if (all.empty() || all.front().sequence < snapshots_.newest().sequence)
      return location_.lagging();
    bool vanished = false;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 2); ++i) {
      if (head.sequence > 0 && all[i].sequence <= head.sequence) break;
      Result<Agreement> loaded = load(all[i]);
      if (loaded.ok() && *loaded == Agreement::differs) return evidence_.finding(*loaded, head);
      if (loaded.ok()) return {};
      if (replica_.failed()) return std::move(loaded).error();
      last = std::move(loaded).error();
      vanished = vanished || last.kind == ErrorKind::not_found;
    }
    if (!vanished) break;  // collected under us: list again
  }
  return last;
}

Result<Agreement> ChainReader::load(const SnapshotName& name) {
  TORC_ASSIGN(Txn txn, replica_.begin(Access::write));
  Head old;
  RingEntry known;
  int rc = read_head(txn, old);
  // The newest commit that both must have, if they are of one history.
  const std::uint64_t common = std::min(old.sequence, name.sequence);
  if (rc == 0 && common > 0) rc = read_ring(txn, common, known);
  if (rc == 0) rc = clear_state(txn);
  Head head;
  if (rc == 0) {
    Result<Head> read = read_snapshot(journal_, name, [&](const Entry& e) {
      rc = put_entry(txn, e.key, e.value);
      return rc == 0;
    });
    if (rc == 0 && !read.ok()) return std::move(read).error();
    if (rc == 0) head = *read;
  }
  RingEntry there;
  if (rc == 0 && common > 0) rc = read_ring(txn, common, there);
  // After a repair the slot may be empty: what was told to be lost is not kept.
  if (rc == 0 && common > 0 && known.sequence == common && there.sequence == common &&
      known.id != there.id)
    return Agreement::differs;
  if (rc == 0) rc = write_head(txn, head);
  if (rc != 0) return replica_.failure(rc, "cannot load a snapshot");
  replica_.confirm(BootTime{0});
  if (Result<void> done = txn.commit(); !done.ok())
    return replica_.failure(done.error().os_errno, "cannot write");
  return Agreement::covered;
}

}  // namespace torc::store
