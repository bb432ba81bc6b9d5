#include "lib/store/maintenance/good_part.h"

#include <algorithm>

#include "lib/store/format/segment.h"
#include "lib/store/format/snapshot.h"

namespace torc::store {

Error GoodPart::failure(int rc) const {
  return lmdb_error(
      rc, "cannot put the state together in " + bench_.environment()->directory().string());
}

Result<void> GoodPart::put_together(const Inventory& inventory, std::uint64_t highest,
                                    const KnownCommit& known) {
  TORC_TRY(begin_at_snapshot(inventory));
  TORC_TRY(follow(inventory, highest, known));
  return check_others(inventory);
}

// false: it is damaged, and noted.
Result<bool> GoodPart::load(const SnapshotName& name) {
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  int rc = clear_state(txn);
  Result<Head> read = read_snapshot(files_.journal(), name, [&](const Entry& e) {
    if (rc == 0) rc = put_entry(txn, e.key, e.value);
    return rc == 0;
  });
  if (rc != 0) return failure(rc);
  if (!read.ok()) {
    if (!is_damage(read.error())) return read.error();
    note(files_.journal().snapshot_path(name), read.error());
    return false;
  }
  rc = write_head(txn, *read);
  if (rc != 0) return failure(rc);
  TORC_TRY(txn.commit());
  head_ = *read;
  return true;
}

Result<void> GoodPart::begin_at_snapshot(const Inventory& inventory) {
  for (const SnapshotName& name : inventory.snapshots) {
    TORC_ASSIGN(const bool good, load(name));
    if (good) return {};
  }
  // Without any snapshot history begins at the first commit, or with nothing at all.
  if (inventory.snapshots.empty() || (!inventory.numbers.empty() && inventory.numbers.front() == 1))
    return {};
  return Error{ErrorKind::corrupt,
               files_.directory().string() +
                   ": no snapshot is good and the first commits are gone, so no "
                   "beginning is left",
               "put the store back from a backup (`torc backup` makes them)"};
}

// Why the files lead no further. `beyond`: who has seen a number that none of them has.
void GoodPart::note_end(std::uint64_t next, const Result<RepairFiles::Found>& file,
                        const std::string& beyond) {
  const Path path = files_.journal().commit_path(next);
  std::string what = file.ok() ? path.string() + " does not continue the commit before it"
                     : file.error().kind == ErrorKind::not_found ? path.string() + " is missing"
                                                                 : file.error().what;
  if (!beyond.empty()) what += "; " + beyond;
  damages_.push_back({path, std::move(what)});
}

// Nothing of these is lost, but nobody opens the store while they are missing.
void GoodPart::note_missing(const std::vector<std::uint64_t>& numbers) {
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    const Path first = files_.journal().commit_path(numbers[i]);
    const std::string which = end - i == 1 ? first.string() + " is missing, and a segment in "
                                           : first.string() + " and those after it up to commit " +
                                                 std::to_string(numbers[end - 1]) +
                                                 " are missing, and segments in ";
    damages_.push_back({first, which + files_.journal().segment_directory().string() +
                                   (end - i == 1 ? " has it" : " have them")});
    i = end;
  }
}

void GoodPart::note_no_files() {
  const Path directory = files_.journal().journal_directory();
  damages_.push_back({directory, directory.string() +
                                     " has no commit, and there is no snapshot: whether there "
                                     "were more commits than " +
                                     std::to_string(head_.sequence) + " is not known"});
}

// Applies commit files as long as each continues the one before.
Result<void> GoodPart::follow(const Inventory& inventory, std::uint64_t highest,
                              const KnownCommit& known) {
  SegmentReader segments(files_.journal());
  std::vector<std::uint64_t> only_in_segments;
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  for (;;) {
    const std::uint64_t next = head_.sequence + 1;
    if (next > highest) break;
    Result<RepairFiles::Found> found = files_.read(next, inventory, head_.chain, segments);
    if (!found.ok() && !is_damage(found.error())) return std::move(found).error();
    if (!found.ok() || found->file.header.before != head_.chain) {
      const bool seen = next > inventory.highest() && next <= known.sequence;
      note_end(next, found, seen ? seen_by_worker(known) : std::string());
      break;
    }
    if (found->is_missing) only_in_segments.push_back(next);
    CommitFile* file = &found->file;
    int rc = 0;
    const auto keep = [&](int code) {
      if (rc == 0) rc = code;
    };
    const bool good = replay_once(
        std::move(file->writes),
        [&](std::string_view key, std::string_view value) { keep(put_entry(txn, key, value)); },
        [&](std::string_view key) { keep(erase_entry(txn, key)); });
    keep(write_ring(txn, next, file->header.id));
    if (rc != 0) return failure(rc);
    if (!good)
      return Error{ErrorKind::corrupt,
                   files_.journal().commit_path(next).string() + ": its write set is not one",
                   {}};
    head_ = {next, file->after, head_.bytes + file->size, file->header.author};
  }
  note_missing(only_in_segments);
  files_good_ = head_.sequence;
  files_chain_ = head_.chain;
  if (const int rc = write_head(txn, head_); rc != 0) return failure(rc);
  return txn.commit();
}

// Files that the good part does not need but that others read: commits below it, older snapshots.
Result<void> GoodPart::check_others(const Inventory& inventory) {
  const std::uint64_t last = head_.sequence;
  for (const std::uint64_t number : inventory.numbers) {
    if (number > last) break;
    const Result<CommitFile> file = files_.read(number);
    if (file.ok()) continue;
    if (!is_damage(file.error())) return file.error();
    note(files_.journal().commit_path(number), file.error());
    damaged_.insert(number);
  }
  for (const SnapshotName& name : inventory.snapshots) {
    const Path path = files_.journal().snapshot_path(name);
    const bool noted = std::any_of(damages_.begin(), damages_.end(),
                                   [&](const Damage& d) { return d.file == path; });
    if (noted) continue;
    const Result<Head> read =
        read_snapshot(files_.journal(), name, [](const Entry&) { return true; });
    if (read.ok()) continue;
    if (!is_damage(read.error())) return read.error();
    note(path, read.error());
  }
  return {};
}

Result<void> GoodPart::replace(const Txn& copy, const Head& head) {
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  int rc = clear_state(txn);
  const int scanned = scan_state(copy, [&](const Entry& e) {
    if (rc == 0) rc = put_entry(txn, e.key, e.value);
    return rc == 0;
  });
  if (rc == 0) rc = scanned;
  if (rc == 0) rc = write_head(txn, head);
  if (rc != 0) return failure(rc);
  TORC_TRY(txn.commit());
  if (damages_.empty()) {
    const Path file = files_.journal().commit_path(files_good_ + 1);
    damages_.push_back({file, file.string() + " is missing and everything after it up to commit " +
                                  std::to_string(head.sequence)});
  }
  head_ = head;
  return {};
}

Result<void> GoodPart::view(const std::function<Result<void>(const Reader&)>& body) {
  TORC_ASSIGN(Txn txn, begin());
  const LmdbTransaction reader(txn, head_.sequence);
  TORC_TRY(body(reader));
  return reader.health();
}

Result<void> GoodPart::write(Entropy& entropy, std::uint64_t next) {
  Journal& journal = files_.journal();
  TORC_TRY(journal.make_directory_of(next));
  TORC_ASSIGN(const Txn txn, begin());
  Head head = head_;
  head.sequence = next - 1;
  // A value that no history had: the number is not that of a commit.
  head.chain = hash128(journal.id(), "repaired" + std::to_string(entropy.next()) + " " +
                                         std::to_string(entropy.next()));
  return write_snapshot(journal, txn, head);
}

}  // namespace torc::store
