#include "lib/store/maintenance/quarantine.h"

#include <cerrno>
#include <vector>

#include "lib/base/number.h"

namespace torc::store {

Quarantine::Quarantine(Disk& disk, RepairFiles& files, const std::string& name)
    : disk_(disk), files_(files), directory_(files.directory() / "quarantine" / name) {}

Result<void> Quarantine::make() {
  const Result<void> parent = disk_.make_directory(directory_.parent_path());
  if (!parent.ok() && parent.error().os_errno != EEXIST) return parent.error();
  return disk_.make_directory(directory_);
}

Result<void> Quarantine::take(const Path& file) {
  const Path inside = file.lexically_relative(files_.directory());
  Path target = directory_;
  for (const Path& part : inside.parent_path()) {
    target /= part;
    const Result<void> made = disk_.make_directory(target);
    if (!made.ok() && made.error().os_errno != EEXIST) return made;
  }
  const Result<void> moved = disk_.rename(file, target / file.filename(), Replace::no);
  if (!moved.ok() && moved.error().os_errno == ENOENT) return {};
  return moved;
}

Result<void> Quarantine::take_all(const GoodPart& good, std::uint64_t covered) {
  const Journal& journal = files_.journal();
  // Listed anew: a commit that somebody made until the snapshot was there is lost like the others.
  TORC_ASSIGN(const Inventory now, files_.list());
  for (const std::uint64_t number : now.numbers) {
    if (number > covered || (number <= good.files_good() && !good.is_damaged(number))) continue;
    TORC_TRY(take(journal.directory_of(number) / number_name(number)));
  }
  for (const SnapshotName& name : now.snapshots) {
    if (name.sequence < covered) TORC_TRY(take(journal.snapshot_directory() / name.text()));
  }
  return take_segments(good.files_good());
}

// Copies of commits, "<first>-<count>", on which nothing hangs: those that hold lost ones.
Result<void> Quarantine::take_segments(std::uint64_t files_good) {
  const Path place = files_.journal().segment_directory();
  const Result<std::vector<std::string>> names = disk_.list(place);
  if (!names.ok()) return {};
  for (const std::string& name : *names) {
    const std::size_t dash = name.find('-');
    const auto first = number_of(std::string_view(name).substr(0, dash));
    if (!first || dash == std::string::npos) continue;
    const auto count = leading_number<std::uint64_t>(std::string_view(name).substr(dash + 1));
    if (count && *first + *count - 1 > files_good) TORC_TRY(take(place / name));
  }
  return {};
}

Result<void> Quarantine::sync() {
  TORC_TRY(disk_.sync_directory(directory_));
  return disk_.sync_directory(files_.directory());
}

}  // namespace torc::store
