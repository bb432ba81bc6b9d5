#include "lib/store/journal/known_snapshots.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace torc::store {
namespace {

// Notes per retention; Shared::snapshot_notes has room for more than one retention.
constexpr int kNoteSpacing = 12;

}  // namespace

Result<SnapshotName> KnownSnapshots::look() {
  Result<SnapshotName> seen = journal_.newest_snapshot();
  if (!seen.ok()) {
    const int e = seen.error().os_errno;
    if (e != ENOENT && e != ENOTDIR && e != ESTALE) return std::move(seen).error();
    // The directory was made with the store and is never removed.
    TORC_TRY(location_.check_still_there());
    return std::move(seen).error();
  }
  (void)learn(*seen);
  return seen;
}

Result<bool> KnownSnapshots::refresh() {
  const Result<void> touched = journal_.refresh_snapshots();
  TORC_TRY(look());
  return touched.ok() || location_.listings_are_current();
}

bool KnownSnapshots::learn(const SnapshotName& name) {
  if (name.sequence <= newest_.sequence) return false;
  newest_ = name;
  return true;
}

void KnownSnapshots::note(const SnapshotName& snapshot) {
  auto& notes = replica_.shared().snapshot_notes;
  const auto by_age = [](const Gate::SnapshotNote& a, const Gate::SnapshotNote& b) {
    return a.at < b.at;
  };
  const Gate::SnapshotNote last = *std::max_element(notes.begin(), notes.end(), by_age);
  const std::int64_t now = clock_.boot_now().count();
  if (snapshot.sequence <= last.sequence) return;
  if (last.at != 0 && now - last.at < location_.retention().count() / kNoteSpacing) return;
  *std::min_element(notes.begin(), notes.end(), by_age) = {now, snapshot.sequence};
}

// No time of another machine is asked, neither a wall clock nor an mtime, so no clock that jumps
// can make anything go early.
std::uint64_t KnownSnapshots::matured() {
  if (!replica_.gate().enter(clock_, std::chrono::nanoseconds(0)).ok()) return 0;
  const GateHold hold(&replica_.gate());
  note(newest_);
  const std::int64_t now = clock_.boot_now().count();
  std::uint64_t floor = 0;
  for (const Gate::SnapshotNote& known : replica_.shared().snapshot_notes) {
    if (known.at != 0 && now - known.at >= location_.retention().count())
      floor = std::max(floor, known.sequence);
  }
  return floor;
}

}  // namespace torc::store
