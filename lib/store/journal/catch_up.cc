#include "lib/store/journal/catch_up.h"

#include <algorithm>
#include <utility>

namespace torc::store {
namespace {

constexpr int kRounds =
    1 << 20;  // a bound, not an expectation: each round applies a directory of commits
constexpr int kReloads = 4;
constexpr int kGapLooks = 3;
constexpr std::chrono::nanoseconds kOldView = std::chrono::seconds(60);

// A commit file is missing, or continues something else.
Error no_history(const Path& file) {
  return {ErrorKind::corrupt,
          file.string() + " is missing or does not continue the history, and no snapshot covers it",
          "`torc verify` says how far the history is good"};
}

}  // namespace

// A directory that shows nothing new proves something only to a view that is young: in an old one
// the next commits may have come and been collected.
bool CatchUp::view_is_old(BootTime now) {
  const BootTime confirmed = replica_.confirmed();
  return confirmed.count() == 0 || now - confirmed >= std::min(location_.retention() / 2, kOldView);
}

void CatchUp::note_newest(BootTime asked) {
  replica_.confirm(asked);
  replica_.note_validated();  // not before: a new replica is empty until then
}

Result<bool> CatchUp::quiet() {
  if (!replica_.is_validated()) return false;
  TORC_ASSIGN(const Head head, replica_.read_head());
  const BootTime asked = clock_.boot_now();
  if (head.sequence == 0 || view_is_old(asked) || !evidence_.seen_lately(head, asked)) return false;
  const Result<Extent> extent = survey_.beside(head);
  if (!extent.ok()) return false;
  if (extent->highest > head.sequence || !extent->shows_head || extent->hole != 0) return false;
  // What is not there now was not there at `asked`, whatever others of this node have applied
  // since.
  replica_.confirm(asked);
  return true;
}

// Nothing new is listed: that is true for a young view, and for an old one if no snapshot goes
// beyond it, and if the files still say what the replica holds.
Result<bool> CatchUp::is_newest(const Head& head, const Extent& extent, BootTime asked) {
  if (view_is_old(asked)) {
    TORC_TRY(snapshots_.look());
    if (snapshots_.newest().sequence > head.sequence) return false;
  }
  if (head.sequence == 0) return true;
  if (!extent.shows_head || !evidence_.seen_lately(head, asked)) {
    TORC_ASSIGN(const Agreement agreement, evidence_.of(head));
    if (agreement == Agreement::covered) return false;
    if (agreement != Agreement::agrees) return evidence_.finding(agreement, head);
  }
  if (extent.hole != 0) TORC_TRY(evidence_.check_hole(head, extent.hole));
  return true;
}

Result<void> CatchUp::run() {
  using State = ChainReader::Outcome::State;
  bool began = false;  // with a replica in which nothing was
  if (!replica_.is_validated()) {
    TORC_ASSIGN(const Head found, replica_.read_head());
    began = found.sequence == 0;
    TORC_TRY(validate());
  }
  reader_.begin();
  int reloads = 0;
  int gaps = 0;
  bool refreshed = false;
  bool asked_anew = false;
  for (int round = 0; round < kRounds; ++round) {
    TORC_ASSIGN(const Head head, replica_.read_head());
    const BootTime asked = clock_.boot_now();
    TORC_ASSIGN(const Extent extent, survey_.beyond(head));
    ChainReader::Outcome read;
    if (extent.highest > head.sequence) {
      TORC_ASSIGN(read, reader_.read(head, extent.highest));
      // The directory after a full one may have been filled since.
      const bool all = (extent.highest + 1) % kPerDirectory != 0;
      if (read.state == State::accepted && all) {
        if (began) TORC_TRY(check_directories());
        note_newest(asked);
        return {};
      }
    } else if (extent.directory) {
      TORC_ASSIGN(const bool newest, is_newest(head, extent, asked));
      if (newest) {
        note_newest(asked);
        return {};
      }
    }
    if (read.state == State::accepted) continue;
    if (reader_.give_up_segments()) continue;
    if (read.state == State::vanished && extent.directory && ++gaps < kGapLooks) continue;
    // Collected under us, a stray file, damage, or a commit that copies alone have.
    if (++reloads > kReloads)
      return read.missing > 0 ? no_history(journal_.commit_path(read.missing))
                              : location_.lagging();
    // Nothing is concluded from a listing before this client was made to ask for it anew.
    if (snapshots_.newest().sequence <= head.sequence && !std::exchange(refreshed, true)) {
      asked_anew = survey_.refresh(read.missing);
      continue;
    }
    if (asked_anew && head.sequence == 0) TORC_TRY(check_beginning(extent));
    TORC_ASSIGN(const Next next, explain(head, extent, read));
    if (next == Next::none) {
      note_newest(asked);
      return {};
    }
    if (next == Next::snapshot) TORC_TRY(reader_.load_snapshot());
  }
  return Error{
      ErrorKind::busy, location_.directory().string() + ": cannot keep up with its commits", {}};
}

// What came from segments says nothing of the single files, which others need: asked as for a
// replica that was found, so that the first who opens the store on a node sees what the second one
// would.
Result<void> CatchUp::check_directories() {
  TORC_ASSIGN(const Head head, replica_.read_head());
  TORC_TRY(evidence_.check_directories(head));
  const Result<Extent> extent = survey_.beside(head);
  if (!extent.ok() && extent.error().kind != ErrorKind::not_found) return extent.error();
  return extent.ok() && extent->hole != 0 ? evidence_.check_hole(head, extent->hole)
                                          : Result<void>();
}

// A store is made with its first commit, and a directory of commits is collected only after there
// is a snapshot: without any of these the history was deleted. `extent` and everything here was
// asked for after changes of our own.
Result<void> CatchUp::check_beginning(const Extent& extent) {
  if (extent.directory || extent.highest > 0) return {};
  const Result<std::vector<std::uint64_t>> directories = journal_.directories();
  if (!directories.ok() || !directories->empty()) return {};
  TORC_ASSIGN(const bool asked_anew, snapshots_.refresh());
  if (!asked_anew || snapshots_.newest().sequence > 0) return {};
  return Error{ErrorKind::corrupt,
               journal_.directory_of(1).string() +
                   " is missing, and there is no snapshot: the history has no beginning",
               "`torc repair` says what is left, on each node what its copy has; a backup can take "
               "the place of the store (`torc backup` makes them)"};
}

// There is no way on from `head` to what is listed.
Result<CatchUp::Next> CatchUp::explain(const Head& head, const Extent& extent,
                                       const ChainReader::Outcome& read) {
  const SnapshotName& newest = snapshots_.newest();
  if (newest.sequence > head.sequence) return Next::snapshot;
  TORC_ASSIGN(const Agreement agreement, evidence_.of(head));
  if (agreement == Agreement::covered) return Next::snapshot;
  if (agreement != Agreement::agrees) return evidence_.finding(agreement, head);
  TORC_ASSIGN(const bool asked_anew, snapshots_.refresh());
  if (newest.sequence > head.sequence) return Next::snapshot;
  if (read.missing == 0) {
    // Nothing is listed beyond it, and the directory for what comes next was not made, or is lost.
    const bool last = first_of_directory(head.sequence + 1) == head.sequence + 1;
    if (!extent.directory && last) return Next::none;
    return Next::look_again;
  }
  const Path file = journal_.commit_path(read.missing);
  if (!asked_anew) return not_there_for_this_node(file);
  if (read.state != ChainReader::Outcome::State::contradicted) {
    const Result<std::string> bytes = journal_.read_bytes_anew(read.missing);
    if (bytes.ok()) return Next::look_again;
    if (bytes.error().kind != ErrorKind::not_found) return bytes.error();
    (void)snapshots_.refresh();  // it may have been collected since
    if (newest.sequence > head.sequence) return Next::snapshot;
  }
  // Whoever had the number has lost it, so that it was taken says nothing any more.
  if (read.missing == survey_.taken()) {
    survey_.forget_taken();
    return Next::look_again;
  }
  return no_history(file);
}

// Whether the files still say what the replica that we found holds. One that goes beyond them has
// commits that are nowhere else, so it is reported, never thrown away.
Result<void> CatchUp::validate() {
  replica_.confirm(BootTime{0});
  TORC_ASSIGN(const Head head, replica_.read_head());
  TORC_ASSIGN(const SnapshotName newest, snapshots_.look());
  if (head.sequence == 0) return newest.sequence == 0 ? Result<void>() : reader_.load_snapshot();
  TORC_ASSIGN(const Agreement agreement, evidence_.of(head));
  if (agreement == Agreement::agrees) return evidence_.check_directories(head);
  if (agreement != Agreement::covered) return evidence_.finding(agreement, head);
  return {};  // by the files after it, or the snapshot
}

}  // namespace torc::store
