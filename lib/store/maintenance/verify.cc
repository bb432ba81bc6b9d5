// `torc verify`: walks the files themselves and replays them into a plain map, so that nothing of
// the code that makes replicas is trusted.
#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lib/store/engine/engines.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/store/engine/place.h"
#include "lib/store/format/segment.h"
#include "lib/store/format/snapshot.h"
#include "lib/store/journal/journal_store.h"
#include "lib/store/lmdb/lmdb_file.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/repair_inventory.h"
#include "lib/store/replica/replica.h"

namespace torc::store {
namespace {

constexpr int kTries = 3;
using Check = std::function<Result<void>(const Reader&)>;

Error wrong(const std::string& what) {
  return {ErrorKind::corrupt, what, "keep a copy of the store directory before anything else"};
}

// An entry's value, or instead of a long one what tells it from others: the largest commit is to
// be verified without being there.
struct KnownValue {
  std::string text;
  bool is_hash = false;
  bool operator==(const KnownValue&) const = default;
};

// The replayed state, with its place in history.
class Replayed {
 public:
  explicit Replayed(const StoreId& key) : key_(key) {}

  void clear() { entries_.clear(); }
  void put(std::string_view key, std::string_view value) {
    const auto at = entries_.find(key);
    if (at != entries_.end()) {
      at->second = known(value);
    } else {
      entries_.emplace(key, known(value));
    }
  }
  void erase(std::string_view key) {
    if (const auto at = entries_.find(key); at != entries_.end()) entries_.erase(at);
  }
  // nullopt: it is not there, or is long.
  [[nodiscard]] std::optional<std::string_view> short_value(std::string_view key) const {
    const auto at = entries_.find(key);
    if (at == entries_.end() || at->second.is_hash) return std::nullopt;
    return at->second.text;
  }

  // Whether it has just the entries that are added, in their order, of those from `from` on.
  class Comparison {
   public:
    Comparison(const Replayed& state, std::string_view from)
        : state_(state), at_(state.entries_.lower_bound(from)) {}
    // false: no, whatever follows.
    bool add(const Entry& e) {
      same_ = same_ && at_ != state_.entries_.end() && at_->first == e.key &&
              at_->second == state_.known(e.value);
      if (same_) ++at_;
      return same_;
    }
    [[nodiscard]] bool finish() const { return same_ && at_ == state_.entries_.end(); }

   private:
    const Replayed& state_;
    std::map<std::string, KnownValue, std::less<>>::const_iterator at_;
    bool same_ = true;
  };

  std::uint64_t number = 0;
  Hash128 chain{};

 private:
  [[nodiscard]] KnownValue known(std::string_view value) const {
    constexpr std::size_t kLong = 4096;
    if (value.size() < kLong) return {std::string(value), false};
    return {Encoder().be64(value.size()).raw(as_text(hash128(key_, value))).bytes(), true};
  }

  StoreId key_;
  std::map<std::string, KnownValue, std::less<>> entries_;
};

class Walk {
 public:
  Walk(const World& world, const Path& directory, const Meta& meta)
      : journal_(world.disk, directory, meta.identity.id,
                 Publisher(world.disk, world.entropy, meta.publish, Durable::no)),
        replayed_(meta.identity.id) {}

  Result<Verified> run();
  // Goes on to `sequence` if the files are there.
  Result<void> replay_to(std::uint64_t sequence);
  // Adds what snapshot and files do not contain but a state does.
  [[nodiscard]] Replayed& replayed() { return replayed_; }

 private:
  Result<void> list();
  Result<void> pass_over_leftovers();
  [[nodiscard]] bool has_single(std::uint64_t sequence) const;
  Result<void> begin_at(const SnapshotName& name);
  Result<void> check_covered();
  Result<CommitFile> read(std::uint64_t sequence);
  Result<void> step(std::uint64_t sequence);
  Result<void> compare_with(const SnapshotName& name);

  Journal journal_;
  SegmentReader segment_reader_{journal_};
  std::vector<SnapshotName> snapshots_;  // oldest first
  std::vector<std::uint64_t> numbers_;   // of the commit files, ascending
  std::uint64_t newest_ = 0;             // of both
  Replayed replayed_;
};

Result<void> Walk::list() {
  TORC_ASSIGN(snapshots_, journal_.snapshots());
  std::reverse(snapshots_.begin(), snapshots_.end());
  TORC_ASSIGN(const std::vector<std::uint64_t> directories, journal_.directories());
  for (const std::uint64_t first : directories) {
    const Result<std::vector<std::uint64_t>> inside = journal_.numbers_in(first);
    if (!inside.ok() && inside.error().os_errno == ENOENT) continue;  // collected meanwhile
    if (!inside.ok()) return inside.error();
    numbers_.insert(numbers_.end(), inside->begin(), inside->end());
  }
  return {};
}

// A collector that died or could not delete an old snapshot, or a power cut that brought one back,
// leaves a snapshot without the commits that followed it, or only its name (primitive rename-dir).
// Nor need the commits between the two newest be there: segments have them, and segments may be
// missing. Only what follows the newest snapshot must be.
Result<void> Walk::pass_over_leftovers() {
  const auto skip = [](const Entry&) { return true; };
  for (std::size_t i = 0; i + 1 < snapshots_.size();) {
    const Result<Head> read = read_snapshot(journal_, snapshots_[i], skip);
    if (!read.ok() && read.error().kind != ErrorKind::not_found) return read.error();
    if (read.ok()) {
      ++i;
    } else {
      snapshots_.erase(snapshots_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  while (snapshots_.size() > 1 && !segment_reader_.find(snapshots_[0].sequence + 1) &&
         !has_single(snapshots_[0].sequence + 1)) {
    snapshots_.erase(snapshots_.begin());
  }
  return {};
}

bool Walk::has_single(std::uint64_t sequence) const {
  return std::binary_search(numbers_.begin(), numbers_.end(), sequence);
}

Result<void> Walk::begin_at(const SnapshotName& name) {
  replayed_.clear();
  TORC_ASSIGN(const Head head, read_snapshot(journal_, name, [&](const Entry& e) {
                replayed_.put(e.key, e.value);
                return true;
              }));
  replayed_.number = head.sequence;
  replayed_.chain = head.chain;
  return {};
}

// Files that the oldest snapshot covers are not needed any more; what is there of them must be good
// all the same.
Result<void> Walk::check_covered() {
  for (const std::uint64_t number : numbers_) {
    if (snapshots_.empty() || number > snapshots_.front().sequence) break;
    const Result<CommitFile> file = journal_.read(number);
    if (!file.ok() && file.error().kind == ErrorKind::not_found) continue;  // collected meanwhile
    if (!file.ok()) return file.error();
    if (number == snapshots_.front().sequence && file->after != snapshots_.front().chain) {
      return wrong(journal_.snapshot_path(snapshots_.front()).string() + " and " +
                   journal_.commit_path(number).string() + " belong to different histories");
    }
  }
  return {};
}

// Its own file counts before a segment.
Result<CommitFile> Walk::read(std::uint64_t sequence) {
  Result<CommitFile> single = journal_.read(sequence);
  if (single.ok() || single.error().kind != ErrorKind::not_found) return single;
  // Listed, and not there: this client may have looked for it too early, and remember that.
  if (has_single(sequence)) {
    Result<CommitFile> anew = journal_.read_anew(sequence);
    if (anew.ok() || anew.error().kind != ErrorKind::not_found) return anew;
  }
  // No segment leads further than the files: who opens the store would use the number again.
  if (sequence > newest_) return single;
  const auto bytes = segment_reader_.find(sequence);
  if (!bytes) return single;
  Result<CommitFile> file =
      decode_commit(journal_.id(), sequence, *bytes, journal_.segment_directory());
  if (!file.ok() || file->header.before != replayed_.chain) return single;
  return file;
}

Result<void> Walk::step(std::uint64_t sequence) {
  TORC_ASSIGN(CommitFile file, read(sequence));
  const std::string path = journal_.commit_path(sequence).string();
  if (file.header.before != replayed_.chain)
    return wrong(path + " does not continue the commit before it");
  const bool good = replay_once(
      std::move(file.writes), [&](std::string_view k, std::string_view v) { replayed_.put(k, v); },
      [&](std::string_view k) { replayed_.erase(k); });
  if (!good) return wrong(path + ": its write set is not one");
  replayed_.put(ring_key(sequence), ring_value(sequence, file.header.id));
  replayed_.number = sequence;
  replayed_.chain = file.after;
  return {};
}

Result<void> Walk::compare_with(const SnapshotName& name) {
  const std::string path = journal_.snapshot_path(name).string();
  if (name.chain != replayed_.chain)
    return wrong(path + " is of another history than the commit files");
  Replayed::Comparison same(replayed_, {});
  TORC_TRY(read_snapshot(journal_, name, [&](const Entry& e) {
    (void)same.add(e);
    return true;
  }));
  if (!same.finish()) return wrong(path + " differs from the state that the commit files give");
  return {};
}

Result<void> Walk::replay_to(std::uint64_t sequence) {
  while (replayed_.number < sequence) TORC_TRY(step(replayed_.number + 1));
  return {};
}

Result<Verified> Walk::run() {
  TORC_TRY(list());
  TORC_TRY(pass_over_leftovers());
  if (!snapshots_.empty()) TORC_TRY(begin_at(snapshots_.front()));
  TORC_TRY(check_covered());
  Verified out;
  out.files = numbers_.size();
  out.first_sequence = numbers_.empty() ? 0 : numbers_.front();
  out.newest_snapshot = snapshots_.empty() ? 0 : snapshots_.back().sequence;
  newest_ = std::max(numbers_.empty() ? 0 : numbers_.back(), out.newest_snapshot);
  for (const SnapshotName& name : snapshots_) {
    if (name.sequence == snapshots_.front().sequence) continue;
    const Result<void> there = replay_to(name.sequence);
    if (!there.ok() && there.error().kind != ErrorKind::not_found) return there.error();
    Result<void> good = there.ok() ? compare_with(name) : begin_at(name);
    // Half deleted; the two newest are never.
    const bool leftover = snapshots_.size() > 2 && name.sequence < snapshots_.rbegin()[1].sequence;
    if (!good.ok() && (!leftover || good.error().kind != ErrorKind::not_found)) return good.error();
  }
  TORC_TRY(replay_to(newest_));
  out.last_sequence = newest_;
  return out;
}

Result<void> compare_replica(const Reader& replica, const Replayed& state) {
  Replayed::Comparison same(state, kFirstUserKey);
  replica.scan(kFirstUserKey, [&](const Entry& e) { return same.add(e); });
  if (!same.finish()) {
    return wrong(
        "this node's copy of the store differs from the state that the commit files give, at "
        "commit " +
        std::to_string(state.number));
  }
  return {};
}

// A copy of this node that has newer commits than the files, or others under the same numbers: what
// was acknowledged was lost. Others may go on working, so the walk goes on first.
Result<void> compare_copy(Walk& walk, const Path& path, const std::shared_ptr<Environment>& copy) {
  TORC_ASSIGN(const Txn txn, Txn::begin(copy, Access::read));
  Head head;
  RingEntry there;
  if (read_head(txn, head) != 0 || read_ring(txn, head.sequence, there) != 0 ||
      there.sequence != head.sequence)
    return {};
  const std::string commit = "commit " + std::to_string(head.sequence);
  if (const Result<void> gone_on = walk.replay_to(head.sequence); !gone_on.ok()) {
    Error error = gone_on.error();
    error.what += "; " + path.string() + ", this node's copy of the store, has " + commit;
    error.remedy = "`torc repair` on this node says what the copy still has";
    return error;
  }
  const auto here = walk.replayed().short_value(ring_key(head.sequence));
  const std::string same = ring_value(head.sequence, there.id);
  // The slot may be that of another number.
  const bool of_it = here && here->size() == same.size() && here->substr(0, 8) == same.substr(0, 8);
  if (!of_it || *here == same) return {};
  Error error = wrong(path.string() + ", this node's copy of the store, has another " + commit +
                      " than the files: that one was lost and its number used again");
  error.remedy = "`torc repair` on this node says what the copy still has";
  return error;
}

// What a worker has seen was there, whether its node's copy is at hand or not.
Result<void> compare_known(Walk& walk, const World& world, const Path& state, Caches caches) {
  TORC_ASSIGN(const KnownCommit known, newest_known(world, state, caches));
  if (known.sequence <= walk.replayed().number) return {};
  const Result<void> gone_on = walk.replay_to(known.sequence);
  if (gone_on.ok()) return {};
  Error error = gone_on.error();
  error.what += "; worker " + std::to_string(known.epoch) + " has seen commit " +
                std::to_string(known.sequence);
  error.remedy = "run `torc repair` on the node of that worker, whose copy may have it";
  return error;
}

// The replica may be ahead of the walk, since others go on working: the walk follows it.
Result<Verified> verify_journal(const World& world, const Path& directory, const Meta& meta,
                                const Check& check) {
  Walk walk(world, directory, meta);
  TORC_ASSIGN(Verified out, walk.run());
  Result<void> copies = {};
  TORC_ASSIGN(const Place place, look_at_place(world.disk, directory, meta.identity));
  visit_replicas(
      world, meta.identity.id, place.key,
      [&](const Path& path, const std::shared_ptr<Environment>& copy) {
        Result<void> compared = compare_copy(walk, path, copy);
        if (copies.ok()) copies = std::move(compared);
      },
      [&](const Path& path, const Error& error) {
        if (world.tell) world.tell(path.string() + " was not compared: " + error.what);
      });
  TORC_TRY(copies);
  TORC_TRY(compare_known(walk, world, meta.identity.state_directory(directory),
                         heartbeat_caches(place.facts.kind)));
  TORC_ASSIGN(const std::unique_ptr<Store> store,
              open_journal_store(world, directory, meta, Tuning{}));
  const Result<void> same =
      store->view(Freshness::latest, [&](const Reader& replica) -> Result<void> {
        if (replica.sequence() < out.last_sequence) {
          return wrong("this node's copy of the store is behind its files and cannot catch up");
        }
        TORC_TRY(walk.replay_to(replica.sequence()));
        TORC_TRY(compare_replica(replica, walk.replayed()));
        // It has every entry of the files' state, and the long ones in full.
        return check(replica);
      });
  TORC_TRY(same);
  out.last_sequence = walk.replayed().number;
  return out;
}

Result<Inventory> inventory_of(const World& world, const Path& directory, const Meta& meta) {
  Journal journal(world.disk, directory, meta.identity.id,
                  Publisher(world.disk, world.entropy, meta.publish, Durable::no));
  return take_inventory(journal, meta.place.facts.learning);
}

// All pages, before LMDB reads any of them. While others commit, the state that is looked at is
// held by a transaction: they have opened the file, so it can be opened.
Result<void> check_pages(const Path& directory) {
  for (int tries = 0; tries < kTries; ++tries) {
    TORC_ASSIGN(const LmdbFile file, LmdbFile::open(directory));
    Result<void> whole = file.check(file.newest());
    if (whole.ok()) return {};
    TORC_ASSIGN(const bool moved, file.has_moved_on());
    if (!moved) return whole;
  }
  TORC_ASSIGN(const auto environment, Environment::open(directory, Durable::yes));
  for (int tries = 0; tries < kTries; ++tries) {
    TORC_ASSIGN(const Txn held, Txn::begin(environment, Access::read));
    TORC_ASSIGN(const LmdbFile file, LmdbFile::open(directory));
    for (const LmdbHead* head : {&file.newest(), &file.older()}) {
      if (head->transaction == mdb_txn_id(held.raw())) return file.check(*head);
    }
  }
  return Error{ErrorKind::busy,
               "workers go on in " + directory.string() + ": it changed while it was looked at",
               "start again, or end the workers first"};
}

Result<Verified> verify_lmdb(const World& world, const Path& directory, const Meta& meta,
                             const Check& check) {
  TORC_TRY(check_pages(directory));
  TORC_ASSIGN(const std::unique_ptr<Store> store,
              open_lmdb_store(world, directory, meta, Tuning{}));
  Verified out;
  out.files = 1;
  TORC_TRY(store->view(Freshness::latest, [&](const Reader& reader) -> Result<void> {
    out.first_sequence = out.last_sequence = reader.sequence();
    std::string last;
    bool ordered = true;
    reader.scan(kFirstUserKey, [&](const Entry& e) {
      ordered = ordered && std::string_view(last) < e.key && reader.get(e.key) == e.value;
      last = e.key;
      return ordered;
    });
    if (!ordered) return wrong((directory / "data.mdb").string() + ": its keys are out of order");
    return check(reader);
  }));
  return out;
}

}  // namespace

Result<Verified> verify(const World& world, const Path& directory,
                        const std::function<Result<void>(const Reader&)>& check_state) {
  TORC_ASSIGN(const Meta meta, read_meta(world, directory));
  if (meta.identity.engine == Engine::lmdb) return verify_lmdb(world, directory, meta, check_state);
  std::optional<Inventory> before;
  for (int tries = 1;; ++tries) {
    Result<Verified> done = verify_journal(world, directory, meta, check_state);
    // A file can be collected between the listing and its turn, which is no mistake: look again.
    if (done.ok() || done.error().kind != ErrorKind::not_found) return done;
    TORC_ASSIGN(Inventory now, inventory_of(world, directory, meta));
    if (tries >= kTries) {
      Error error = std::move(done).error();
      const bool moves = !before || !(now == *before);
      error.kind = moves ? ErrorKind::busy : ErrorKind::corrupt;
      if (moves) error.what += ", and workers go on: it changed while it was looked at";
      if (moves) error.remedy = "start again, or end the workers first";
      return error;
    }
    before = std::move(now);
  }
}

}  // namespace torc::store
