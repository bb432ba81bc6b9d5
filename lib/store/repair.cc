#include "lib/store/repair.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "lib/store/engines.h"
#include "lib/store/journal.h"
#include "lib/store/lmdb_transaction.h"
#include "lib/store/replica.h"
#include "lib/store/segment.h"
#include "lib/store/snapshot.h"
#include "lib/store/workbench.h"

namespace torc::store {
namespace {

// What is in the store's directories now.
struct Inventory {
  std::vector<SnapshotName> snapshots;  // newest first
  std::vector<std::uint64_t> numbers;   // of commit files, ascending
  bool operator==(const Inventory& other) const {
    return numbers == other.numbers &&
           std::equal(snapshots.begin(), snapshots.end(), other.snapshots.begin(),
                      other.snapshots.end(), [](const SnapshotName& a, const SnapshotName& b) {
                        return a.sequence == b.sequence && a.chain == b.chain;
                      });
  }
  [[nodiscard]] std::uint64_t highest() const {
    return std::max(numbers.empty() ? 0 : numbers.back(),
                    snapshots.empty() ? 0 : snapshots.front().sequence);
  }
};

Result<Inventory> take_inventory(Journal& journal) {
  Inventory out;
  TORC_ASSIGN(out.snapshots, journal.snapshots());
  TORC_ASSIGN(const std::vector<std::uint64_t> directories, journal.directories());
  for (const std::uint64_t first : directories) {
    TORC_ASSIGN(const std::vector<std::uint64_t> inside, journal.numbers_in(first));
    out.numbers.insert(out.numbers.end(), inside.begin(), inside.end());
  }
  return out;
}

// What reading says of the bytes, not of the way to them: everything else is the caller's error.
bool is_damage(const Error& error) {
  return error.kind == ErrorKind::corrupt || error.kind == ErrorKind::not_found;
}

class JournalRepair final : public Repair {
 public:
  JournalRepair(const World& world, Path directory, const Meta& meta, Workbench bench)
      : world_(world),
        directory_(std::move(directory)),
        journal_(world.disk, directory_, meta.identity.id,
                 Publisher(world.disk, world.entropy, meta.publish, Durable::yes)),
        bench_(std::move(bench)) {}

  Result<void> run();
  [[nodiscard]] bool needed() const override { return !damages_.empty() || !lost_.empty(); }
  [[nodiscard]] std::uint64_t last_good() const override { return head_.sequence; }
  [[nodiscard]] std::uint64_t continues_at() const override {
    // A number in a directory of its own, beyond anything a process that still goes on with the old
    // history can ask for.
    return first_of_directory(highest_) + 2 * kPerDirectory;
  }
  [[nodiscard]] const Path& from_copy() const override { return from_copy_; }
  [[nodiscard]] const std::vector<LostCommit>& lost() const override { return lost_; }
  [[nodiscard]] const std::vector<Damage>& damages() const override { return damages_; }
  Result<void> view(const std::function<Result<void>(const Reader&)>& body) override;
  Result<Path> carry_out(const std::string& name) override;

 private:
  Result<void> begin_at_snapshot();
  Result<bool> load(const SnapshotName& name);
  Result<void> follow();
  Result<void> look_into_copies();
  Result<bool> take_from(const std::shared_ptr<Environment>& copy);
  static bool holds_something(const std::shared_ptr<Environment>& copy);
  Result<bool> is_ahead(const Txn& copy, const Head& head);
  Result<void> check_older_snapshots();
  Result<void> list_lost();
  void note(const Path& file, const Error& error) { damages_.push_back({file, error.what}); }
  Result<void> write_good_part();
  Result<void> move_aside(const Path& quarantine);
  Result<void> move_segments(const Path& quarantine);
  Result<void> move(const Path& file, const Path& quarantine);

  World world_;
  Path directory_;
  Journal journal_;
  Workbench bench_;
  Inventory inventory_;
  Head head_;                     // of the good part, in the workbench
  std::uint64_t files_good_ = 0;  // how far the files alone lead
  std::uint64_t highest_ = 0;
  Path from_copy_;
  std::vector<LostCommit> lost_;
  std::vector<Damage> damages_;
  std::set<std::uint64_t> damaged_;  // commit files of the good part that are of no use themselves
};

Result<void> JournalRepair::run() {
  TORC_ASSIGN(inventory_, take_inventory(journal_));
  highest_ = inventory_.highest();
  TORC_TRY(begin_at_snapshot());
  TORC_TRY(follow());
  TORC_TRY(check_older_snapshots());
  if (head_.sequence < highest_) TORC_TRY(look_into_copies());
  return list_lost();
}

// false: it is damaged, and noted.
Result<bool> JournalRepair::load(const SnapshotName& name) {
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  int rc = clear_state(txn);
  Result<Head> read = read_snapshot(journal_, name, [&](const Entry& e) {
    if (rc == 0) rc = put_entry(txn, e.key, e.value);
    return rc == 0;
  });
  if (rc != 0) return lmdb_error(rc, "cannot put the state together");
  if (!read.ok()) {
    if (!is_damage(read.error())) return read.error();
    note(journal_.snapshot_path(name), read.error());
    return false;
  }
  rc = write_head(txn, *read);
  if (rc != 0) return lmdb_error(rc, "cannot put the state together");
  TORC_TRY(txn.commit());
  head_ = *read;
  return true;
}

Result<void> JournalRepair::begin_at_snapshot() {
  for (const SnapshotName& name : inventory_.snapshots) {
    TORC_ASSIGN(const bool good, load(name));
    if (good) return {};
  }
  // Without any snapshot history begins at the first commit, or with nothing at all.
  if (inventory_.snapshots.empty() ||
      (!inventory_.numbers.empty() && inventory_.numbers.front() == 1))
    return {};
  return Error{ErrorKind::corrupt,
               directory_.string() +
                   ": no snapshot is good and the first commits are gone, so no "
                   "beginning is left",
               "put the store back from a backup (`torc backup` makes them)"};
}

// Applies commit files as long as each continues the one before.
Result<void> JournalRepair::follow() {
  SegmentShelf shelf(journal_);
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  for (;;) {
    const std::uint64_t next = head_.sequence + 1;
    if (next > highest_) break;
    Result<CommitFile> file = journal_.read(next);
    if (!file.ok() && file.error().kind == ErrorKind::not_found) {
      // Between the two newest snapshots a segment stands in for the single files.
      const auto bytes = shelf.find(next);
      Result<CommitFile> merged =
          bytes ? decode_commit(journal_.id(), next, *bytes, journal_.segment_directory()) : file;
      if (merged.ok() && merged->header.before == head_.chain) file = std::move(merged);
    }
    if (!file.ok() && !is_damage(file.error())) return std::move(file).error();
    if (!file.ok() || file->header.before != head_.chain) {
      const Path path = journal_.commit_path(next);
      damages_.push_back(
          {path, file.ok() ? path.string() + " does not continue the commit before it"
                 : file.error().kind == ErrorKind::not_found ? path.string() + " is missing"
                                                             : file.error().what});
      break;
    }
    int rc = 0;
    const auto keep = [&](int code) {
      if (rc == 0) rc = code;
    };
    const bool good = replay(
        file->writes,
        [&](std::string_view key, std::string_view value) { keep(put_entry(txn, key, value)); },
        [&](std::string_view key) { keep(erase_entry(txn, key)); });
    keep(write_ring(txn, next, file->header.id));
    if (rc != 0) return lmdb_error(rc, "cannot put the state together");
    if (!good)
      return Error{ErrorKind::corrupt,
                   journal_.commit_path(next).string() + ": its write set is not one",
                   {}};
    head_ = {next, file->after, head_.bytes + file->size, file->header.author};
  }
  files_good_ = head_.sequence;
  if (const int rc = write_head(txn, head_); rc != 0)
    return lmdb_error(rc, "cannot put the state together");
  return txn.commit();
}

// Files that the good part does not need but that others read: commits below it, older snapshots.
Result<void> JournalRepair::check_older_snapshots() {
  const std::uint64_t last = head_.sequence;
  for (const std::uint64_t number : inventory_.numbers) {
    if (number > last) break;
    const Result<CommitFile> file = journal_.read(number);
    if (file.ok()) continue;
    if (!is_damage(file.error())) return file.error();
    note(journal_.commit_path(number), file.error());
    damaged_.insert(number);
  }
  for (const SnapshotName& name : inventory_.snapshots) {
    const Path path = journal_.snapshot_path(name);
    const bool noted = std::any_of(damages_.begin(), damages_.end(),
                                   [&](const Damage& d) { return d.file == path; });
    if (noted) continue;
    const Result<Head> read = read_snapshot(journal_, name, [](const Entry&) { return true; });
    if (read.ok()) continue;
    if (!is_damage(read.error())) return read.error();
    note(path, read.error());
  }
  return {};
}

// A copy that has seen more of this very history: of one boot and pid namespace, so every write to
// it is there although none was synced.
Result<void> JournalRepair::look_into_copies() {
  for (const Path& root : world_.replica_roots) {
    for (unsigned generation = 0; generation < kGenerations; ++generation) {
      Result<Replica> copy = open_replica(world_, root, journal_.id(), generation);
      if (!copy.ok()) break;
      const Path path = copy->environment->directory();
      TORC_ASSIGN(const bool taken, take_from(copy->environment));
      if (taken) from_copy_ = path;
      if (holds_something(copy->environment)) continue;
      *copy = {};  // made only by looking for it
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
      break;
    }
  }
  return {};
}

bool JournalRepair::holds_something(const std::shared_ptr<Environment>& copy) {
  const Result<Txn> txn = Txn::begin(copy, Access::read);
  Head head;
  return txn.ok() && read_head(*txn, head) == 0 && head.sequence > 0;
}

// The ring of recent commit ids tells whether a copy has the same newest good commit as the files.
Result<bool> JournalRepair::is_ahead(const Txn& copy, const Head& head) {
  if (head.sequence <= head_.sequence || head_.sequence == 0) return false;
  TORC_ASSIGN(const Txn own, Txn::begin(bench_.environment(), Access::read));
  RingEntry here;
  RingEntry there;
  return read_ring(own, files_good_, here) == 0 && read_ring(copy, files_good_, there) == 0 &&
         here.sequence == files_good_ && there.sequence == files_good_ && here.id == there.id;
}

Result<bool> JournalRepair::take_from(const std::shared_ptr<Environment>& copy) {
  TORC_ASSIGN(const Txn from, Txn::begin(copy, Access::read));
  Head head;
  if (read_head(from, head) != 0) return false;
  TORC_ASSIGN(const bool ahead, is_ahead(from, head));
  if (!ahead) return false;
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  int rc = clear_state(txn);
  const int scanned = scan_state(from, [&](const Entry& e) {
    if (rc == 0) rc = put_entry(txn, e.key, e.value);
    return rc == 0;
  });
  if (rc == 0) rc = scanned;
  if (rc == 0) rc = write_head(txn, head);
  if (rc != 0) return lmdb_error(rc, "cannot put the state together");
  TORC_TRY(txn.commit());
  head_ = head;
  return true;
}

Result<void> JournalRepair::list_lost() {
  for (const std::uint64_t number : inventory_.numbers) {
    if (number <= head_.sequence) continue;
    Result<CommitFile> file = journal_.read(number);
    if (!file.ok() && !is_damage(file.error())) return std::move(file).error();
    LostCommit lost{number, journal_.commit_path(number), {}, 0, {}};
    if (file.ok()) {
      lost.author = file->header.author;
      lost.writes = std::move(file->writes);
    } else {
      lost.damage = file.error().what;
    }
    lost_.push_back(std::move(lost));
  }
  return {};
}

Result<void> JournalRepair::view(const std::function<Result<void>(const Reader&)>& body) {
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::read));
  const LmdbTransaction reader(txn, head_.sequence);
  TORC_TRY(body(reader));
  return reader.health();
}

// The snapshot comes first: from then on everybody who reads the store goes on from it.
Result<void> JournalRepair::write_good_part() {
  TORC_TRY(journal_.make_directory_of(continues_at()));
  TORC_ASSIGN(const Txn txn, Txn::begin(bench_.environment(), Access::read));
  Head head = head_;
  head.sequence = continues_at() - 1;
  // A value that no history had: the number is not that of a commit.
  head.chain = hash128(journal_.id(), "repaired" + std::to_string(world_.entropy.next()) + " " +
                                          std::to_string(world_.entropy.next()));
  return write_snapshot(journal_, txn, head);
}

Result<void> JournalRepair::move(const Path& file, const Path& quarantine) {
  const Path inside = file.lexically_relative(directory_);
  Path target = quarantine;
  for (const Path& part : inside.parent_path()) {
    target /= part;
    const Result<void> made = world_.disk.make_directory(target);
    if (!made.ok() && made.error().os_errno != EEXIST) return made;
  }
  const Result<void> moved = world_.disk.rename(file, target / file.filename(), Replace::no);
  if (!moved.ok() && moved.error().os_errno == ENOENT) return {};
  return moved;
}

Result<void> JournalRepair::move_aside(const Path& quarantine) {
  // Listed anew: a commit that somebody made until the snapshot was there is lost like the others.
  TORC_ASSIGN(const Inventory now, take_inventory(journal_));
  const std::uint64_t covered = continues_at() - 1;
  for (const std::uint64_t number : now.numbers) {
    if (number > covered || (number <= files_good_ && !damaged_.contains(number))) continue;
    TORC_TRY(move(journal_.directory_of(number) / number_name(number), quarantine));
  }
  for (const SnapshotName& name : now.snapshots) {
    if (name.sequence < covered)
      TORC_TRY(move(journal_.snapshot_directory() / name.text(), quarantine));
  }
  return move_segments(quarantine);
}

// Copies of commits, "<first>-<count>", on which nothing hangs: those that hold lost ones.
Result<void> JournalRepair::move_segments(const Path& quarantine) {
  const Path place = journal_.snapshot_directory().parent_path() / "segment";
  const Result<std::vector<std::string>> names = world_.disk.list(place);
  if (!names.ok()) return {};
  for (const std::string& name : *names) {
    const std::size_t dash = name.find('-');
    const auto first = number_of(std::string_view(name).substr(0, dash));
    if (!first || dash == std::string::npos) continue;
    std::uint64_t count = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data() + dash + 1, end, count).ec != std::errc{}) continue;
    if (*first + count - 1 > files_good_) TORC_TRY(move(place / name, quarantine));
  }
  return {};
}

Result<Path> JournalRepair::carry_out(const std::string& name) {
  TORC_ASSIGN(const Inventory now, take_inventory(journal_));
  if (!(now == inventory_)) {
    return Error{ErrorKind::busy, directory_.string() + " changed while it was looked at",
                 "end all workers and start again"};
  }
  const Path quarantine = directory_ / "quarantine" / name;
  const Result<void> parent = world_.disk.make_directory(directory_ / "quarantine");
  if (!parent.ok() && parent.error().os_errno != EEXIST) return parent.error();
  TORC_TRY(world_.disk.make_directory(quarantine));
  TORC_TRY(write_good_part());
  TORC_TRY(move_aside(quarantine));
  TORC_TRY(world_.disk.sync_directory(quarantine));
  TORC_TRY(world_.disk.sync_directory(directory_));
  return quarantine;
}

}  // namespace

Result<std::unique_ptr<Repair>> Repair::examine(const World& world, const Path& directory) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  if (meta.identity.engine != Engine::journal) {
    return Error{ErrorKind::unsupported,
                 directory.string() + " has engine lmdb: one file, no chain whose end could be cut",
                 "put it back from a backup (`torc backup` makes them)"};
  }
  TORC_ASSIGN(Workbench bench, Workbench::make(world));
  auto repair = std::make_unique<JournalRepair>(world, directory, meta, std::move(bench));
  TORC_TRY(repair->run());
  return std::unique_ptr<Repair>(std::move(repair));
}

}  // namespace torc::store
