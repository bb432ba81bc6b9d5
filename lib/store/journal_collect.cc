// Collection: what nobody needs any more goes.
#include <algorithm>
#include <utility>

#include "lib/store/journal_store.h"
#include "lib/store/segment.h"

namespace torc::store {
namespace {

constexpr std::string_view kDead = ".dead-";
constexpr std::size_t kSnapshotsKept = 2;
constexpr int kMarkSpacing =
    12;  // marks per retention; Shared::marks has room for more than one retention
// A temporary file that has been there so long has lost its author, or its author nothing but time.
constexpr std::chrono::nanoseconds kTemporaryPatience = std::chrono::minutes(10);

}  // namespace

// Inside the gate. The marks are shared by the processes of the node, so workers that live for less
// than the retention add up.
void JournalStore::note_snapshot(const SnapshotName& newest) {
  auto& marks = shared().marks;
  const auto by_age = [](const Gate::Mark& a, const Gate::Mark& b) { return a.at < b.at; };
  const Gate::Mark last = *std::max_element(marks.begin(), marks.end(), by_age);
  const std::int64_t now = world_.clock.boot_now().count();
  if (newest.sequence <= last.sequence) return;
  if (last.at != 0 && now - last.at < tuning_.retention.count() / kMarkSpacing) return;
  *std::min_element(marks.begin(), marks.end(), by_age) = {now, newest.sequence};
}

// The newest snapshot that this node knew a retention ago. No time of another machine is asked,
// neither a wall clock nor an mtime, so no clock that jumps can make anything go early.
std::uint64_t JournalStore::matured() {
  if (!replica_.gate->enter(world_.clock, std::chrono::nanoseconds(0)).ok()) return 0;
  const GateHold hold(replica_.gate.get());
  note_snapshot(snapshot_);
  const std::int64_t now = world_.clock.boot_now().count();
  std::uint64_t floor = 0;
  for (const Gate::Mark& mark : shared().marks) {
    if (mark.at != 0 && now - mark.at >= tuning_.retention.count())
      floor = std::max(floor, mark.sequence);
  }
  return floor;
}

Result<void> JournalStore::collect() {
  next_collection_ = world_.clock.boot_now() + tuning_.retention / 8;
  const std::uint64_t owed = shared().owed;
  const std::uint64_t known = matured();
  if (first_of_directory(known + 1) <= shared().collected) {
    if (known >= owed) shared().owed = 0;
    return {};
  }
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
  // Marks of another history (a store put back from a copy) say nothing of this one.
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
  TORC_ASSIGN(const std::vector<std::string> names, world_.disk.list(journal));
  std::uint64_t kept = first_of_directory(floor + 1);
  for (const std::string& name : names) {
    if (name.starts_with(kDead)) (void)remove_tree(world_.disk, journal / name);  // of one who died
    const auto first = number_of(name);
    if (!first || *first + kPerDirectory - 1 > floor) continue;
    if (*first + kPerDirectory - 1 > second && !have_segment_of(*first)) {
      kept = std::min(kept, *first);
      continue;
    }
    // Renamed first: of all hosts that come to it one gets it, and it goes from sight at once
    // instead of name by name.
    const Path dead = journal / (std::string(kDead) + name);
    if (world_.disk.rename(journal / name, dead, Replace::no).ok())
      (void)remove_tree(world_.disk, dead);
  }
  shared().collected = kept;
  return {};
}

// Whether the segment of a directory can stand in for it: whole, and of this history, which its
// last commit shows: it is byte for byte the single file, which contains the hash of all before.
// Makes it when it is not.
bool JournalStore::have_segment_of(std::uint64_t first) {
  const SegmentName name{first, kLargeSegment};
  const std::uint64_t last = name.last();
  const Result<std::string> single = journal_.read_bytes(last);
  if (!single.ok()) return false;
  for (int tries = 0; tries < 2; ++tries) {
    const Result<std::string> bytes = read_file(world_.disk, journal_.segment_path(name));
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

// Temporary files of authors that died. Those in journal/ go with their directory.
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
