// Collection: what nobody needs any more goes.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/store/journal/journal_store.h"
#include "lib/store/journal/segment.h"

namespace torc::store {
namespace {

constexpr std::string_view kDead = ".dead-";
constexpr std::size_t kSnapshotsKept = 2;
constexpr int kNoteSpacing =
    12;  // notes per retention; Shared::snapshot_notes has room for more than one retention
// A temporary file that has been there so long has lost its author, or its author nothing but time.
constexpr std::chrono::nanoseconds kTemporaryPatience = std::chrono::minutes(10);

// Asked, and not guessed from what unlink(2) says: EPERM also means that a file may not be deleted.
bool is_directory(Disk& disk, const Path& path) {
  const Result<FileStatus> status = disk.status(path);
  return status.ok() && status->kind == FileKind::directory;
}

}  // namespace

// Inside the gate. The notes are shared by the processes of the node, so workers that live for less
// than the retention add up.
void JournalStore::note_snapshot(const SnapshotName& newest) {
  auto& snapshot_notes = shared().snapshot_notes;
  const auto by_age = [](const Gate::SnapshotNote& a, const Gate::SnapshotNote& b) {
    return a.at < b.at;
  };
  const Gate::SnapshotNote last =
      *std::max_element(snapshot_notes.begin(), snapshot_notes.end(), by_age);
  const std::int64_t now = world_.clock.boot_now().count();
  if (newest.sequence <= last.sequence) return;
  if (last.at != 0 && now - last.at < retention().count() / kNoteSpacing) return;
  *std::min_element(snapshot_notes.begin(), snapshot_notes.end(), by_age) = {now, newest.sequence};
}

// The newest snapshot that this node knew a retention ago. No time of another machine is asked,
// neither a wall clock nor an mtime, so no clock that jumps can make anything go early.
std::uint64_t JournalStore::matured() {
  if (!replica_.gate->enter(world_.clock, std::chrono::nanoseconds(0)).ok()) return 0;
  const GateHold hold(replica_.gate.get());
  note_snapshot(snapshot_);
  const std::int64_t now = world_.clock.boot_now().count();
  std::uint64_t floor = 0;
  for (const Gate::SnapshotNote& note : shared().snapshot_notes) {
    if (note.at != 0 && now - note.at >= retention().count())
      floor = std::max(floor, note.sequence);
  }
  return floor;
}

Result<void> JournalStore::collect() {
  next_collection_ = world_.clock.boot_now() + retention() / 8;
  const std::uint64_t owed = shared().owed;
  std::uint64_t known = matured();
  if (first_of_directory(known + 1) <= shared().collected) {
    if (known >= owed) shared().owed = 0;
    return {};
  }
  const std::chrono::nanoseconds before = retention();
  // What another host asks for must not be hidden by an old listing: then it waits.
  const bool refreshed = journal_.refresh(identity_.state_directory(directory_));
  if (!refreshed && place_.facts.listing_age > std::chrono::nanoseconds(0)) return {};
  TORC_TRY(read_retention());
  if (retention() > before) known = matured();
  TORC_ASSIGN(const std::vector<std::string> names,
              world_.disk.list(journal_.snapshot_directory()));
  std::vector<SnapshotName> all;
  for (const std::string& name : names) {
    if (const auto parsed = snapshot_name_of(name)) all.push_back(*parsed);
  }
  std::sort(all.begin(), all.end(),
            [](const SnapshotName& a, const SnapshotName& b) { return a.sequence > b.sequence; });
  if (all.empty()) return {};
  const std::uint64_t newest = all.front().sequence;
  const std::uint64_t second = all.size() < kSnapshotsKept ? 0 : all[kSnapshotsKept - 1].sequence;
  // Notes of another history (a store put back from a copy) say nothing of this one.
  TORC_TRY(collect_directories(std::min(known, newest), second));
  for (std::size_t i = kSnapshotsKept; i < all.size(); ++i) {
    if (all[i].sequence < known)
      (void)journal_.publisher().remove(journal_.snapshot_directory(), all[i].text());
  }
  collect_segments(newest, second);
  collect_temporaries(journal_.snapshot_directory(), names);
  if (known >= owed) shared().owed = 0;
  return {};
}

// A directory goes when a snapshot covers all of it: then no author can get a number of it without
// learning that it is too late. So that a damaged snapshot loses nothing, what lies after the
// second newest must also be in a segment.
Result<void> JournalStore::collect_directories(std::uint64_t floor, std::uint64_t second) {
  const Path journal = journal_.journal_directory();
  TORC_ASSIGN(std::vector<std::string> names, world_.disk.list(journal));
  collect_temporaries(journal, names);
  std::sort(names.begin(), names.end());  // those of collectors that died come first
  std::uint64_t kept = first_of_directory(floor + 1);
  for (const std::string& name : names) {
    const bool dead = name.starts_with(kDead);  // of one who died, or is at it
    const auto first = number_of(std::string_view(name).substr(dead ? kDead.size() : 0));
    if (!first || *first + kPerDirectory - 1 > floor) continue;
    // Nothing goes before what comes before it is gone, see journal_agreement.cc.
    if (!(dead ? sweep(journal / name) : collect_directory(*first, second))) {
      kept = std::min(kept, *first);
      break;
    }
  }
  shared().collected = kept;
  return {};
}

bool JournalStore::collect_directory(std::uint64_t first, std::uint64_t second) {
  if (first + kPerDirectory - 1 > second && !have_segment_of(first)) return false;
  // Renamed first: of all hosts that come to it one gets it, and it goes from sight at once instead
  // of name by name.
  const Path journal = journal_.journal_directory();
  const Path dead = journal / (std::string(kDead) + number_name(first));
  return world_.disk.rename(journal / number_name(first), dead, Replace::no).ok() && sweep(dead);
}

// Deletes the files of a directory that was renamed away, in ascending order and none before the
// one before it is surely gone: an author with an old handle may still link a number there, and
// knows by the file of the commit before that it came too late (journal_agreement.cc). Temporary
// files come first. false: something is left.
bool JournalStore::sweep(const Path& dead) {
  Result<std::vector<std::string>> names = list_directory(world_.disk, dead);
  if (!names.ok()) return names.error().os_errno == ENOENT;
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    Result<void> gone = world_.disk.unlink(dead / name);
    if (!gone.ok() && is_directory(world_.disk, dead / name))  // primitive rename-dir
      gone = remove_tree(world_.disk, dead / name);
    if (!gone.ok() && gone.error().os_errno != ENOENT) return false;
  }
  const Result<void> removed = world_.disk.remove_directory(dead);
  if (removed.ok()) return true;
  // What a reader has open may stay for a while under another name (NFS, FUSE). Commit files that
  // an old listing did not show are not gone.
  names = list_directory(world_.disk, dead);
  if (!names.ok()) return names.error().os_errno == ENOENT;
  return std::none_of(names->begin(), names->end(),
                      [](const std::string& name) { return number_of(name).has_value(); });
}

// Whether the segment of a directory can stand in for it: whole, and of this history, which its
// last commit shows: it is byte for byte the single file, which contains the hash of all before.
// Makes it when it is not.
bool JournalStore::have_segment_of(std::uint64_t first) {
  const SegmentName name{first, kLargeSegment};
  const std::uint64_t last = name.last();
  const Result<std::string> single = journal_.read_bytes(last);
  if (!single.ok() || single->size() > kMostSegment) return false;
  for (int tries = 0; tries < 2; ++tries) {
    const Result<std::string> bytes =
        read_file(world_.disk, journal_.segment_path(name), kMostSegment);
    if (bytes.ok() && is_whole_segment(identity_.id, name, *bytes, *single)) return true;
    if (tries > 0) break;
    const Result<std::string> made = commits_in(name);
    // Single files may be strays: nothing goes over a segment that could not stand in itself.
    if (!made.ok() || !is_whole_segment(identity_.id, name, *made, *single) ||
        !journal_.publisher().replace(journal_.segment_directory(), name.text(), *made).ok())
      break;
  }
  return false;
}

void JournalStore::collect_segments(std::uint64_t newest, std::uint64_t second) {
  const Path directory = journal_.segment_directory();
  const Result<std::vector<std::string>> names = world_.disk.list(directory);
  if (!names.ok()) return;
  collect_temporaries(directory, *names);
  for (const std::string& text : *names) {
    const auto name = segment_name_of(text);
    if (!name) continue;
    const std::string large = SegmentName{first_of_directory(name->first), kLargeSegment}.text();
    const bool superseded = name->count < kLargeSegment &&
                            first_of_directory(name->first) + 2 * kPerDirectory <= newest &&
                            std::find(names->begin(), names->end(), large) != names->end();
    const bool old = name->last() <= second && name->last() + tuning_.segment_commits < newest;
    if (old || superseded) (void)world_.disk.unlink(directory / text);
  }
}

// Temporary files of authors that died. Those beside commit files go with their directory.
void JournalStore::collect_temporaries(const Path& directory,
                                       const std::vector<std::string>& names) {
  const BootTime now = world_.clock.boot_now();
  for (const std::string& name : names) {
    if (!name.starts_with(Publisher::kTemporary)) continue;
    const Path path = directory / name;
    const BootTime since = temporaries_.emplace(path, now).first->second;
    if (now - since < kTemporaryPatience) continue;
    temporaries_.erase(path);
    if (!world_.disk.unlink(path).ok()) (void)remove_tree(world_.disk, path);
  }
  // What is gone is forgotten; names are random, so none comes back.
  std::erase_if(temporaries_, [&](const auto& known) {
    return known.first.parent_path() == directory &&
           std::find(names.begin(), names.end(), known.first.filename()) == names.end();
  });
}

}  // namespace torc::store
