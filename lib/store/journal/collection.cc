#include "lib/store/journal/collection.h"

#include <algorithm>
#include <cerrno>

#include "lib/store/format/segment.h"

namespace torc::store {
namespace {

constexpr std::string_view kDead = ".dead-";
constexpr std::size_t kSnapshotsKept = 2;
// A temporary file that has been there so long has lost its author, or its author nothing but time.
constexpr std::chrono::nanoseconds kTemporaryPatience = std::chrono::minutes(10);

// Asked, and not guessed from what unlink(2) says: EPERM also means that a file may not be deleted.
bool is_directory(Disk& disk, const Path& path) {
  const Result<FileStatus> status = disk.status(path);
  return status.ok() && status->kind == FileKind::directory;
}

}  // namespace

bool Collection::is_due() {
  return replica_.shared().owed != 0 && clock_.boot_now() >= next_;
}

Result<void> Collection::run() {
  next_ = clock_.boot_now() + location_.retention() / 8;
  const std::uint64_t owed = replica_.shared().owed;
  std::uint64_t known = snapshots_.matured();
  if (first_of_directory(known + 1) > replica_.shared().collected) {
    const std::chrono::nanoseconds before = location_.retention();
    // What another host asks for must not be hidden by an old listing: then it waits.
    const bool refreshed = journal_.refresh(location_.state());
    if (!refreshed && !location_.listings_are_current()) return {};
    TORC_TRY(location_.read_retention());
    if (location_.retention() > before) known = snapshots_.matured();
    TORC_ASSIGN(const bool any, collect(known));
    if (!any) return {};
  }
  if (known >= owed) replica_.shared().owed = 0;
  return {};
}

// What the snapshot `known` and older ones make superfluous. false: there is no snapshot.
Result<bool> Collection::collect(std::uint64_t known) {
  TORC_ASSIGN(const std::vector<std::string> names, disk_.list(journal_.snapshot_directory()));
  std::vector<SnapshotName> all;
  for (const std::string& name : names) {
    if (const auto parsed = snapshot_name_of(name)) all.push_back(*parsed);
  }
  std::sort(all.begin(), all.end(),
            [](const SnapshotName& a, const SnapshotName& b) { return a.sequence > b.sequence; });
  if (all.empty()) return false;
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
  return true;
}

// A directory goes when a snapshot covers all of it: then no author can get a number of it without
// learning that it is too late. So that a damaged snapshot loses nothing, what lies after the
// second newest must also be in a segment.
Result<void> Collection::collect_directories(std::uint64_t floor, std::uint64_t second) {
  const Path journal = journal_.journal_directory();
  TORC_ASSIGN(std::vector<std::string> names, disk_.list(journal));
  collect_temporaries(journal, names);
  std::sort(names.begin(), names.end());  // those of collectors that died come first
  std::uint64_t kept = first_of_directory(floor + 1);
  for (const std::string& name : names) {
    const bool dead = name.starts_with(kDead);  // of one who died, or is at it
    const auto first = number_of(std::string_view(name).substr(dead ? kDead.size() : 0));
    if (!first || *first + kPerDirectory - 1 > floor) continue;
    // Nothing goes before what comes before it is gone, see evidence.h.
    if (!(dead ? sweep(journal / name) : collect_directory(*first, second))) {
      kept = std::min(kept, *first);
      break;
    }
  }
  replica_.shared().collected = kept;
  return {};
}

bool Collection::collect_directory(std::uint64_t first, std::uint64_t second) {
  if (first + kPerDirectory - 1 > second && !segments_.have_whole(first)) return false;
  // Renamed first: of all hosts that come to it one gets it, and it goes from sight at once instead
  // of name by name.
  const Path journal = journal_.journal_directory();
  const Path dead = journal / (std::string(kDead) + number_name(first));
  return disk_.rename(journal / number_name(first), dead, Replace::no).ok() && sweep(dead);
}

// Deletes the files of a directory that was renamed away, in ascending order and none before the
// one before it is surely gone: an author with an old handle may still link a number there, and
// knows by the file of the commit before that it came too late (evidence.h). Temporary
// files come first. false: something is left.
bool Collection::sweep(const Path& dead) {
  Result<std::vector<std::string>> names = list_directory(disk_, dead);
  if (!names.ok()) return names.error().os_errno == ENOENT;
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    Result<void> gone = disk_.unlink(dead / name);
    if (!gone.ok() && is_directory(disk_, dead / name))  // primitive rename-dir
      gone = remove_tree(disk_, dead / name);
    if (!gone.ok() && gone.error().os_errno != ENOENT) return false;
  }
  const Result<void> removed = disk_.remove_directory(dead);
  if (removed.ok()) return true;
  // What a reader has open may stay for a while under another name (NFS, FUSE). Commit files that
  // an old listing did not show are not gone.
  names = list_directory(disk_, dead);
  if (!names.ok()) return names.error().os_errno == ENOENT;
  return std::none_of(names->begin(), names->end(),
                      [](const std::string& name) { return number_of(name).has_value(); });
}

void Collection::collect_segments(std::uint64_t newest, std::uint64_t second) {
  const Path directory = journal_.segment_directory();
  const Result<std::vector<std::string>> names = disk_.list(directory);
  if (!names.ok()) return;
  collect_temporaries(directory, *names);
  for (const std::string& text : *names) {
    const auto name = segment_name_of(text);
    if (!name) continue;
    const std::string large = SegmentName{first_of_directory(name->first), kLargeSegment}.text();
    const bool superseded = name->count < kLargeSegment &&
                            first_of_directory(name->first) + 2 * kPerDirectory <= newest &&
                            std::find(names->begin(), names->end(), large) != names->end();
    const bool old = name->last() <= second && name->last() + segment_commits_ < newest;
    if (old || superseded) (void)disk_.unlink(directory / text);
  }
}

// Temporary files of authors that died. Those beside commit files go with their directory.
void Collection::collect_temporaries(const Path& directory, const std::vector<std::string>& names) {
  const BootTime now = clock_.boot_now();
  for (const std::string& name : names) {
    if (!name.starts_with(Publisher::kTemporary)) continue;
    const Path path = directory / name;
    const BootTime since = temporaries_.emplace(path, now).first->second;
    if (now - since < kTemporaryPatience) continue;
    temporaries_.erase(path);
    if (!disk_.unlink(path).ok()) (void)remove_tree(disk_, path);
  }
  // What is gone is forgotten; names are random, so none comes back.
  std::erase_if(temporaries_, [&](const auto& known) {
    return known.first.parent_path() == directory &&
           std::find(names.begin(), names.end(), known.first.filename()) == names.end();
  });
}

}  // namespace torc::store
