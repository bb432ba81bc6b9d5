#include "lib/store/maintenance/repair.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/store/engine/beat.h"
#include "lib/store/engine/engines.h"
#include "lib/store/journal/journal.h"
#include "lib/store/journal/replica.h"
#include "lib/store/journal/segment.h"
#include "lib/store/journal/snapshot.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/repair_inventory.h"
#include "lib/store/maintenance/workbench.h"

namespace torc::store {
namespace {

constexpr int kLooksBesideWorkers = 4;  // beside workers that go on
// For somebody who is opening a copy that is set aside.
constexpr std::chrono::nanoseconds kCopyPatience = std::chrono::seconds(1);

// What reading says of the bytes, not of the way to them: everything else is the caller's error.
bool is_damage(const Error& error) {
  return error.kind == ErrorKind::corrupt || error.kind == ErrorKind::not_found;
}

class JournalRepair final : public Repair {
 public:
  JournalRepair(const World& world, Path directory, const Meta& meta, Place place, Workbench bench)
      : world_(world),
        directory_(std::move(directory)),
        state_(meta.identity.state_directory(directory_)),
        place_(std::move(place)),
        journal_(world.disk, directory_, meta.identity.id,
                 Publisher(world.disk, world.entropy, meta.publish, Durable::yes)),
        bench_(std::move(bench)) {}

  Result<void> run();
  // Commits were made or collected since: what was missing may just have been collected.
  Result<bool> outdated() {
    TORC_ASSIGN(const Inventory now, inventory());
    return !(now == inventory_);
  }
  [[nodiscard]] bool needed() const override { return cuts() || !others_.empty(); }
  [[nodiscard]] std::uint64_t last_good() const override { return head_.sequence; }
  [[nodiscard]] std::uint64_t continues_at() const override {
    // A number in a directory of its own, beyond anything a process that still goes on with the old
    // history can ask for.
    return first_of_directory(highest_) + 2 * kPerDirectory;
  }
  [[nodiscard]] const Path& from_copy() const override { return from_copy_; }
  [[nodiscard]] const std::vector<LostCommit>& lost() const override { return lost_; }
  [[nodiscard]] const std::vector<Damage>& damages() const override { return damages_; }
  [[nodiscard]] const std::vector<Path>& other_copies() const override { return others_; }
  Result<void> view(const std::function<Result<void>(const Reader&)>& body) override;
  Result<Path> carry_out(const std::string& name) override;

 private:
  Result<void> begin_at_snapshot();
  Result<bool> load(const SnapshotName& name);
  Result<void> follow();
  void note_end(std::uint64_t next, const Result<CommitFile>& file);
  [[nodiscard]] std::string seen_by_worker() const {
    return "worker " + std::to_string(known_.epoch) + " has seen commit " +
           std::to_string(known_.sequence);
  }
  // The history does not go on where it ends, but behind what was lost.
  [[nodiscard]] bool cuts() const {
    return !damages_.empty() || !from_copy_.empty() || cut_off_ > 0;
  }
  Result<Inventory> inventory() { return take_inventory(journal_, place_.facts.learning); }
  Result<CommitFile> read(std::uint64_t number);
  Result<CommitFile> read(std::uint64_t number, SegmentShelf& shelf);
  Result<void> look_into_copies();
  enum class Kinship : std::uint8_t { same_history, other_history, unknown };
  Result<Kinship> kinship_of(const Txn& copy, std::uint64_t number);
  Result<Kinship> kinship_by_files(const Txn& copy, const Head& head);
  Result<void> look_into(const Path& path, const std::shared_ptr<Environment>& copy);
  Result<void> take_from(const Txn& from, const Head& head);
  Result<void> note_other(const Path& path, const Txn& copy, const Head& head);
  Result<void> set_aside(const Path& copy, const Path& quarantine);
  Result<void> check_older_snapshots();
  Result<void> list_lost();
  // For who tells what was lost. All together no more than one commit may have: then it is told
  // of the first ones, and that the others are lost.
  void keep_writes(LostCommit& lost, CommitFile& file) {
    if (file.writes.size() > kMostWrites - kept_writes_) return;
    kept_writes_ += file.writes.size();
    lost.writes = std::move(file.writes);
  }
  void note(const Path& file, const Error& error) { damages_.push_back({file, error.what}); }
  Result<void> tell_unclear() const;
  Result<void> check_copies() const;
  Result<void> check_workers();
  Result<KnownCommit> known();
  Result<void> write_good_part();
  Result<void> move_aside(const Path& quarantine);
  Result<void> move_segments(const Path& quarantine);
  Result<void> move(const Path& file, const Path& quarantine);

  World world_;
  Path directory_;
  Path state_;
  Place place_;
  Journal journal_;
  Workbench bench_;
  Inventory inventory_;
  Head head_;                     // of the good part, in the workbench
  std::uint64_t files_good_ = 0;  // how far the files alone lead
  Hash128 files_chain_{};         // there
  std::uint64_t highest_ = 0;
  KnownCommit known_;  // that a worker of any node has seen
  Path from_copy_;
  std::vector<LostCommit> lost_;
  std::size_t kept_writes_ = 0;  // bytes
  std::uint64_t cut_off_ = 0;    // how many of them are files of the store
  std::vector<Path> others_;     // copies that went another way
  std::map<Path, std::vector<std::pair<std::uint64_t, std::string>>> tails_;  // their lost commits
  // Copies of which it could not be learned what they hold, with the number of their newest commit
  // (nullopt: not even that) and why.
  struct Unclear {
    Path copy;
    std::optional<std::uint64_t> newest;
    std::string why;
  };
  std::vector<Unclear> unclear_;
  std::vector<Damage> damages_;
  std::set<std::uint64_t> damaged_;  // commit files of the good part that are of no use themselves
};

Result<void> JournalRepair::run() {
  TORC_ASSIGN(known_, known());
  TORC_ASSIGN(inventory_, inventory());
  highest_ = std::max(inventory_.highest(), known_.sequence);
  TORC_TRY(begin_at_snapshot());
  TORC_TRY(follow());
  TORC_TRY(check_older_snapshots());
  TORC_TRY(look_into_copies());
  if (!cuts()) TORC_TRY(tell_unclear());
  return list_lost();
}

Result<KnownCommit> JournalRepair::known() {
  (void)journal_.refresh(state_ / "beats");
  return newest_known(world_, state_, beat_caches(place_.facts.kind));
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

// What cannot be opened is asked for again past what this client remembers: it may have looked for
// it too early.
Result<CommitFile> JournalRepair::read(std::uint64_t number) {
  Result<CommitFile> file = journal_.read(number);
  if (file.ok() || file.error().kind != ErrorKind::not_found) return file;
  TORC_ASSIGN(const std::string bytes, journal_.read_bytes_anew(number));
  return decode_commit(journal_.id(), number, bytes, journal_.commit_path(number));
}

Result<CommitFile> JournalRepair::read(std::uint64_t number, SegmentShelf& shelf) {
  const bool listed =
      std::binary_search(inventory_.numbers.begin(), inventory_.numbers.end(), number);
  Result<CommitFile> file = listed ? read(number) : journal_.read(number);
  if (file.ok() || file.error().kind != ErrorKind::not_found) return file;
  // Between the two newest snapshots a segment stands in for the single files.
  const auto bytes = shelf.find(number);
  if (!bytes) return listed ? std::move(file) : read(number);
  Result<CommitFile> merged =
      decode_commit(journal_.id(), number, *bytes, journal_.segment_directory());
  return merged.ok() && merged->header.before == head_.chain ? merged : file;
}

// Why the files lead no further.
void JournalRepair::note_end(std::uint64_t next, const Result<CommitFile>& file) {
  const Path path = journal_.commit_path(next);
  std::string what = file.ok() ? path.string() + " does not continue the commit before it"
                     : file.error().kind == ErrorKind::not_found ? path.string() + " is missing"
                                                                 : file.error().what;
  if (next > inventory_.highest()) what += "; " + seen_by_worker();
  damages_.push_back({path, std::move(what)});
}

// Applies commit files as long as each continues the one before.
Result<void> JournalRepair::follow() {
  SegmentShelf shelf(journal_);
  TORC_ASSIGN(Txn txn, Txn::begin(bench_.environment(), Access::write));
  for (;;) {
    const std::uint64_t next = head_.sequence + 1;
    if (next > highest_) break;
    Result<CommitFile> file = read(next, shelf);
    if (!file.ok() && !is_damage(file.error())) return std::move(file).error();
    if (!file.ok() || file->header.before != head_.chain) {
      note_end(next, file);
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
  files_chain_ = head_.chain;
  if (const int rc = write_head(txn, head_); rc != 0)
    return lmdb_error(rc, "cannot put the state together");
  return txn.commit();
}

// Files that the good part does not need but that others read: commits below it, older snapshots.
Result<void> JournalRepair::check_older_snapshots() {
  const std::uint64_t last = head_.sequence;
  for (const std::uint64_t number : inventory_.numbers) {
    if (number > last) break;
    const Result<CommitFile> file = read(number);
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

// Copies of one boot and pid namespace: every write to them is there although none was synced.
Result<void> JournalRepair::look_into_copies() {
  Result<void> first = {};
  visit_replicas(
      world_, journal_.id(), place_.key,
      [&](const Path& path, const std::shared_ptr<Environment>& copy) {
        Result<void> looked = look_into(path, copy);
        if (first.ok()) first = std::move(looked);
      },
      [&](const Path& path, const Error& error) {
        unclear_.push_back({path, std::nullopt, error.what});
      });
  return first;
}

// The ring of recent commit ids tells whether a copy has the same commit under a number as the
// files.
Result<JournalRepair::Kinship> JournalRepair::kinship_of(const Txn& copy, std::uint64_t number) {
  TORC_ASSIGN(const Txn own, Txn::begin(bench_.environment(), Access::read));
  RingEntry here;
  RingEntry there;
  if (number != 0 && number == files_good_) {
    // No ring knows the number of a repair or a backup, which is that of no commit.
    Head head;
    if (read_head(copy, head) == 0 && head.sequence == number)
      return head.chain == files_chain_ ? Kinship::same_history : Kinship::other_history;
    if (const auto next = read_tail(copy, number + 1)) {
      const auto file = decode_commit(journal_.id(), number + 1, *next, {});
      if (file.ok())
        return file->header.before == files_chain_ ? Kinship::same_history : Kinship::other_history;
    }
  }
  if (number == 0 || read_ring(own, number, here) != 0 || read_ring(copy, number, there) != 0 ||
      here.sequence != number || there.sequence != number)
    return Kinship::unknown;
  return here.id == there.id ? Kinship::same_history : Kinship::other_history;
}

// Where the files lead nowhere the newest one that is good and that the copy must have too tells.
// No file is left at all: nothing speaks against the copy, and it is all there is.
Result<JournalRepair::Kinship> JournalRepair::kinship_by_files(const Txn& copy, const Head& head) {
  for (auto n = inventory_.numbers.rbegin(); n != inventory_.numbers.rend(); ++n) {
    if (*n > head.sequence) continue;
    const Result<CommitFile> file = read(*n);
    if (!file.ok() && !is_damage(file.error())) return file.error();
    if (!file.ok()) continue;
    RingEntry there;
    const bool known = read_ring(copy, *n, there) == 0 && there.sequence == *n;
    // Of another history there is no part that could be kept instead of the copy: not set aside.
    return known && there.id == file->header.id ? Kinship::same_history : Kinship::unknown;
  }
  return Kinship::same_history;
}

Result<void> JournalRepair::look_into(const Path& path, const std::shared_ptr<Environment>& copy) {
  TORC_ASSIGN(const Txn from, Txn::begin(copy, Access::read));
  Head head;
  if (read_head(from, head) != 0) return {};
  TORC_ASSIGN(const Kinship kin, files_good_ == 0
                                     ? kinship_by_files(from, head)
                                     : kinship_of(from, std::min(head.sequence, files_good_)));
  if (kin == Kinship::unknown) {
    unclear_.push_back({path, head.sequence, "whether it has the same history is not known"});
    return {};
  }
  if (kin == Kinship::other_history) return note_other(path, from, head);
  if (head.sequence <= head_.sequence) return {};
  if (files_good_ == inventory_.highest()) {
    // Others may go on working: then the file is there by now.
    const Result<CommitFile> file = read(head.sequence);
    if (!file.ok() && !is_damage(file.error())) return file.error();
    if (file.ok() && file->after == head.chain) return {};
  }
  TORC_TRY(take_from(from, head));
  from_copy_ = path;
  highest_ = std::max(highest_, head.sequence);
  return {};
}

Result<void> JournalRepair::take_from(const Txn& from, const Head& head) {
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
  if (damages_.empty()) {
    const Path file = journal_.commit_path(files_good_ + 1);
    damages_.push_back({file, file.string() + " is missing and everything after it up to commit " +
                                  std::to_string(head.sequence)});
  }
  head_ = head;
  return {};
}

// Its last commits were acknowledged, lost, and their numbers used again. The copy has the newest
// of them.
Result<void> JournalRepair::note_other(const Path& path, const Txn& copy, const Head& head) {
  std::uint64_t common = std::min(head.sequence, files_good_);
  while (common > 0) {
    TORC_ASSIGN(const Kinship kin, kinship_of(copy, common));
    if (kin != Kinship::other_history) break;
    --common;
  }
  others_.push_back(path);
  highest_ = std::max(highest_, head.sequence);
  for (std::uint64_t n = common + 1; n <= head.sequence; ++n) {
    LostCommit lost{n, path, "the copy has only its newest commits as they were", 0, {}};
    if (const auto bytes = read_tail(copy, n)) {
      tails_[path].emplace_back(n, *bytes);
      Result<CommitFile> file = decode_commit(journal_.id(), n, *bytes, path);
      lost.damage = file.ok() ? std::string() : file.error().what;
      if (file.ok()) lost.author = file->header.author;
      if (file.ok()) keep_writes(lost, *file);
    }
    lost_.push_back(std::move(lost));
  }
  return {};
}

// What it has of lost commits, and then it goes: the node begins anew with the store's history.
Result<void> JournalRepair::set_aside(const Path& copy, const Path& quarantine) {
  const Path place = quarantine / ("copy-" + world_.host + "-" + copy.filename().string());
  TORC_TRY(world_.disk.make_directory(place));
  for (const auto& [number, bytes] : tails_[copy])
    TORC_TRY(write_file(world_.disk, place / number_name(number), bytes, Durable::yes));
  TORC_TRY(world_.disk.sync_directory(place));
  return remove_replica(world_.entropy, copy, kCopyPatience);
}

Result<void> JournalRepair::list_lost() {
  for (const std::uint64_t number : inventory_.numbers) {
    if (number <= head_.sequence) continue;
    Result<CommitFile> file = read(number);
    if (!file.ok() && !is_damage(file.error())) return std::move(file).error();
    LostCommit lost{number, journal_.commit_path(number), {}, 0, {}};
    if (file.ok()) {
      lost.author = file->header.author;
      keep_writes(lost, *file);
    } else {
      lost.damage = file.error().what;
    }
    ++cut_off_;
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
  TORC_ASSIGN(const Inventory now, inventory());
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

// What a worker has seen may be in the copy of its node.
Result<void> JournalRepair::check_workers() {
  TORC_ASSIGN(known_, known());
  if (known_.sequence <= head_.sequence) return {};
  return Error{ErrorKind::busy,
               seen_by_worker() + ", and neither the files nor this node's copies have it",
               "run this on the node of that worker, whose copy may have it, and with "
               "the TMPDIR of that worker (`torc status` says where it runs); if nothing there has "
               "it either, delete " +
                   beat_path(state_, {known_.epoch}).string() + ", and what was committed is lost"};
}

// Nothing seems to be lost; a copy may know better.
Result<void> JournalRepair::tell_unclear() const {
  for (const Unclear& u : unclear_) {
    if (u.newest && *u.newest > head_.sequence) return check_copies();
    if (!u.newest && world_.tell) world_.tell(u.copy.string() + " was not looked into: " + u.why);
  }
  return {};
}

// What is cut off must not be what only a copy has that could not be looked at.
Result<void> JournalRepair::check_copies() const {
  for (const Unclear& u : unclear_) {
    if (u.newest && *u.newest <= head_.sequence) continue;
    const std::string newest = u.newest ? " has commit " + std::to_string(*u.newest) : "";
    return Error{ErrorKind::busy,
                 u.copy.string() + ", a copy of the store on this node," + newest +
                     (u.newest ? ", and " : " cannot be used: ") + u.why,
                 "end all workers of this node and start again; where that does not help, move "
                 "that directory to another place, and what only it holds is lost to the store"};
  }
  return {};
}

Result<Path> JournalRepair::carry_out(const std::string& name) {
  if (cuts()) {
    TORC_TRY(check_copies());
    TORC_TRY(check_workers());
  }
  TORC_ASSIGN(const Inventory now, inventory());
  if (!(now == inventory_)) {
    return Error{ErrorKind::busy, directory_.string() + " changed while it was looked at",
                 "end all workers and start again"};
  }
  const Path quarantine = directory_ / "quarantine" / name;
  const Result<void> parent = world_.disk.make_directory(directory_ / "quarantine");
  if (!parent.ok() && parent.error().os_errno != EEXIST) return parent.error();
  TORC_TRY(world_.disk.make_directory(quarantine));
  if (cuts()) {
    TORC_TRY(write_good_part());
    TORC_TRY(move_aside(quarantine));
  }
  for (const Path& copy : others_) TORC_TRY(set_aside(copy, quarantine));
  TORC_TRY(world_.disk.sync_directory(quarantine));
  TORC_TRY(world_.disk.sync_directory(directory_));
  return quarantine;
}

Error changes_too_fast(const Path& directory) {
  return {ErrorKind::busy,
          "workers go on in " + directory.string() + ": it changed while it was looked at, " +
              std::to_string(kLooksBesideWorkers) + " times, so whether it is damaged is not known",
          "end the workers and start again"};
}

}  // namespace

Result<std::unique_ptr<Repair>> Repair::examine(const World& world, const Path& directory) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  if (meta.identity.engine == Engine::lmdb) return examine_lmdb(world, directory);
  for (int tries = 1;; ++tries) {
    TORC_ASSIGN(Workbench bench, Workbench::make(world));
    TORC_ASSIGN(Place place, look_at_place(world.disk, directory, meta.identity));
    auto repair =
        std::make_unique<JournalRepair>(world, directory, meta, std::move(place), std::move(bench));
    const Result<void> looked = repair->run();
    const bool damaged = looked.ok() ? repair->needed() : is_damage(looked.error());
    if (damaged) {
      TORC_ASSIGN(const bool outdated, repair->outdated());
      if (outdated && tries < kLooksBesideWorkers) continue;
      if (outdated) return changes_too_fast(directory);
    }
    TORC_TRY(looked);
    return std::unique_ptr<Repair>(std::move(repair));
  }
}

}  // namespace torc::store
