#include "lib/store/journal/journal_store.h"

#include <algorithm>
#include <cerrno>

#include "lib/store/journal/segment.h"

namespace torc::store {
namespace {

constexpr std::uint32_t kMaxConflicts = 1000;
constexpr int kReplicaTries = 24;
constexpr int kVanished = 4;
// A copy that somebody is opening for so long is left to him.
constexpr std::chrono::nanoseconds kForgetPatience = std::chrono::seconds(1);
// How long after a commit of its own a process may try the next number without listing first.
constexpr std::chrono::nanoseconds kOptimism = std::chrono::seconds(5);
// It tries no more for so long after it read a commit of another host.
constexpr std::chrono::nanoseconds kOthersMemory = std::chrono::seconds(30);

Error unknown_outcome(const Path& store, std::uint64_t sequence, const std::string& why,
                      const std::string& remedy) {
  return {ErrorKind::unknown,
          "whether commit " + std::to_string(sequence) + " of " + store.string() +
              " is part of the history is unknown: " + why,
          remedy.empty() ? "read the state again before acting" : remedy};
}

}  // namespace

JournalStore::JournalStore(const World& world, const Path& directory, const Meta& meta,
                           const Tuning& tuning)
    : world_(world),
      directory_(directory),
      identity_(meta.identity),
      tuning_(tuning),
      place_(meta.place),
      mounts_seen_(meta.place.mount_changes),
      copied_(meta.is_copy()),
      least_retention_(meta.retention),
      retention_(std::max<std::chrono::nanoseconds>(meta.retention, meta.place.facts.retention)),
      journal_(world.disk, directory, meta.identity.id,
               Publisher(world.disk, world.entropy, meta.publish,
                         tuning.sync ? Durable::yes : Durable::no)),
      lock_(world.disk, world.clock, world.entropy, journal_.lock_file()) {
  if (meta.filesystem == "tmpfs" || meta.filesystem == "overlay") {
    note_ = directory.string() + " is on " + meta.filesystem +
            ", which only this host sees: workers on other hosts cannot join";
  }
}

Result<void> JournalStore::start() {
  // Before the first note that the node's processes share, see note_snapshot().
  TORC_TRY(read_retention());
  return view(Freshness::latest, [](const Reader&) { return Result<void>(); });
}

// --- where it lies ---

// Asks no filesystem unless something was mounted or unmounted since. Then nothing is made, removed
// or concluded in the directory before it is known to be the store; and what the mount does is
// asked for again.
Result<void> JournalStore::look_at_mounts() {
  const std::uint64_t changes = world_.disk.mount_changes();
  if (changes == mounts_seen_) return {};
  TORC_TRY(check_still_there(world_, directory_, identity_, place_));
  TORC_ASSIGN(const Meta meta, read_meta(world_, directory_));
  if (!meta.place.is_there) {
    return Error{ErrorKind::io, state_directory().string() + " is not there now",
                 "is the filesystem mounted?", ENOENT};
  }
  if (meta.place.key != place_.key) {
    leave_replica(false);  // it is that of the other place
    root_ = 0;
    generation_ = 0;
    // What was seen there says nothing of the files here.
    snapshot_ = {};
    snapshot_bytes_of_ = UINT64_MAX;
    taken_ = 0;
    own_newest_ = 0;
    due_segment_.reset();
    others_seen_.reset();
    temporaries_.clear();
  }
  place_ = meta.place;
  copied_ = meta.is_copy();
  journal_.publisher().use(meta.publish);
  retention_ =
      std::max({retention_, std::chrono::nanoseconds(meta.retention), place_.facts.retention});
  if (!tuning_.retention) TORC_TRY(ask_for_retention(world_, directory_, meta));
  mounts_seen_ = changes;
  return {};
}

// Another host may need more by now. It never becomes less, as what was agreed does not.
Result<void> JournalStore::read_retention() {
  if (tuning_.retention) return {};
  TORC_ASSIGN(
      const std::chrono::seconds agreed,
      agreed_retention(world_.disk, identity_.state_directory(directory_), least_retention_));
  retention_ = std::max({retention_, std::chrono::nanoseconds(agreed), place_.facts.retention});
  return {};
}

// --- which replica ---

Path JournalStore::replica_directory() const {
  return replica_.environment ? replica_.environment->directory() : Path();
}

Result<void> JournalStore::attach() {
  if (broken_) leave_replica(false);
  if (replica_.environment) return {};
  Error last{ErrorKind::io, "no directory for the node's copy of the store was given",
             "set TMPDIR"};
  int vanished = 0;
  while (root_ < world_.replica_roots.size()) {
    Result<Replica> opened = open_replica(world_, world_.replica_roots[root_], identity_.id,
                                          place_.key, generation_, tuning_.replica_wait);
    if (opened.ok()) {
      replica_ = std::move(*opened);
      if (watch_) watch_->add(replica_directory() / "data.mdb");
      return {};
    }
    last = std::move(opened).error();
    // Whoever left a finished workflow takes the copy along (forget_copy()), also while it is being
    // opened here: then it is made again.
    if (last.os_errno == ENOENT && ++vanished < kVanished) continue;
    // Damaged, of another build, or somebody is stuck in it: others may be using it, so it stays
    // and a new one is begun.
    const bool spoiled = last.kind == ErrorKind::corrupt || last.kind == ErrorKind::busy ||
                         last.os_errno == MDB_VERSION_MISMATCH;
    if (spoiled && generation_ + 1 < kGenerations) {
      ++generation_;
    } else {
      ++root_;
    }
  }
  root_ = 0;
  last.what = "no place for this node's copy of the store: " + last.what;
  if (last.remedy.empty()) last.remedy = "set TMPDIR to a directory on a local disk";
  return last;
}

// Stuck: a further generation beside it. Broken: the next root, then a further generation.
void JournalStore::leave_replica(bool stuck) {
  detach();
  if (!stuck && root_ + 1 < world_.replica_roots.size()) {
    ++root_;
  } else {
    if (!stuck) root_ = 0;
    generation_ = (generation_ + 1) % kGenerations;
  }
}

Error JournalStore::local_failure(int rc, const char* what) {
  if (rc == MDB_MAP_FULL) {
    grow_ = true;
  } else {
    broken_ = true;
  }
  return lmdb_error(rc, std::string(what) + " in " + replica_directory().string());
}

// Runs `work` inside the gate of a replica that works. A replica that is stuck or fails is left for
// another one: it is only a copy.
Result<Commit> JournalStore::inside(const std::function<Result<Commit>()>& work) {
  Error last{ErrorKind::busy, "no usable copy of the store on this node", {}};
  for (int tries = 0; tries < kReplicaTries; ++tries) {
    TORC_TRY(look_at_mounts());
    TORC_TRY(attach());
    if (Result<void> entered = replica_.gate->enter(world_.clock, tuning_.replica_wait);
        !entered.ok()) {
      last = std::move(entered).error();
      if (last.kind == ErrorKind::corrupt) {
        detach();  // the copy is good; attach() makes its gate anew
      } else {
        leave_replica(last.kind == ErrorKind::busy);
      }
      continue;
    }
    const GateHold hold(replica_.gate.get());
    Result<Commit> done = work();
    // After an unknown outcome nothing is run again: it might be done twice.
    if (done.ok() || done.error().kind == ErrorKind::unknown || (!broken_ && !grow_)) return done;
    last = std::move(done).error();
    if (!grow_) continue;
    grow_ = false;
    cancel_snapshot();
    if (!replica_.environment->grow().ok()) broken_ = true;
  }
  return last;
}

// Of the replica, with its head.
Result<Txn> JournalStore::begin(Access access, Head& head) {
  Result<Txn> txn = Txn::begin(replica_.environment, access);
  if (!txn.ok()) {
    broken_ = true;
    return txn;
  }
  if (const int rc = read_head(*txn, head); rc != 0)
    return local_failure(rc, "cannot read the head");
  return txn;
}

Result<Head> JournalStore::read_local_head() {
  Head head;
  TORC_TRY(begin(Access::read, head));
  return head;
}

// --- reading ---

Result<void> JournalStore::view(Freshness freshness,
                                const std::function<Result<void>(const Reader&)>& body) {
  if (freshness == Freshness::latest) TORC_TRY(look_at_mounts());
  TORC_TRY(attach());
  if (freshness == Freshness::latest || !validated_) {
    TORC_ASSIGN(const bool unchanged, quiet());
    if (!unchanged) {
      const Result<Commit> caught = inside([&]() -> Result<Commit> {
        TORC_TRY(catch_up());
        return Commit{};
      });
      if (!caught.ok()) return caught.error();
    }
  }
  Head head;
  TORC_ASSIGN(Txn txn, begin(Access::read, head));
  const LmdbTransaction reader(txn, head.sequence);
  Result<void> answer = body(reader);
  if (Result<void> health = reader.health(); !health.ok()) {
    broken_ = health.error().kind != ErrorKind::invalid;
    return health;
  }
  return answer;
}

int JournalStore::changes_fd() const {
  if (!watch_ && replica_.environment)
    watch_ = std::make_unique<FileWatch>(replica_directory() / "data.mdb");
  return watch_ ? watch_->fd() : -1;
}

void JournalStore::clear_changes() {
  if (watch_) watch_->clear();
}

void JournalStore::forget_copy() {
  const Path copy = replica_directory();
  if (copy.empty()) return;
  cancel_snapshot();
  watch_.reset();
  replica_ = {};
  validated_ = false;
  (void)remove_replica(world_.entropy, copy, kForgetPatience);
}

// --- the commit ---

Result<Commit> JournalStore::commit(std::uint64_t author, const Body& body) {
  const BootTime begun = world_.clock.boot_now();
  TORC_TRY(look_at_mounts());
  if (copied_) {
    TORC_TRY(adopt_copy(world_, directory_, identity_));
    copied_ = false;
  }
  std::uint32_t conflicts = 0;
  Result<Commit> done = inside([&] { return commit_inside(author, body, conflicts); });
  lock_.release();
  if (!done.ok()) return done;
  done->conflicts = conflicts;
  done->cost = world_.clock.boot_now() - begun;
  return done;
}

// Right after a commit of our own, with nobody else about, the next number is most likely ours as
// well; if it is not, publishing says so. Only an answer that writes nothing must then be looked at
// again.
Result<bool> JournalStore::may_skip_listing() {
  if (!validated_ || lock_.contended() || own_newest_ == 0) return false;
  if (others_seen_ && world_.clock.boot_now() - *others_seen_ < kOthersMemory) return false;
  TORC_ASSIGN(const Head head, read_local_head());
  const BootTime confirmed{shared().confirmed.load()};
  return head.sequence == own_newest_ && world_.clock.boot_now() - confirmed < kOptimism;
}

Result<Commit> JournalStore::commit_inside(std::uint64_t author, const Body& body,
                                           std::uint32_t& conflicts) {
  TORC_ASSIGN(const bool optimistic, may_skip_listing());
  for (bool listed = !optimistic; conflicts < kMaxConflicts;) {
    lock_.acquire(tuning_.lock_wait);
    if (listed) TORC_TRY(catch_up());
    TORC_ASSIGN(Attempt tried, attempt(author, body));
    switch (tried.outcome) {
      case Attempt::Outcome::committed:
        return Commit{tried.sequence, true, {}, 0};
      case Attempt::Outcome::nothing:
        if (listed) return Commit{tried.sequence, false, {}, 0};
        break;
      case Attempt::Outcome::refused:
        if (listed) return std::move(tried.refusal);
        break;
      case Attempt::Outcome::conflict:
        ++conflicts;
        // Whoever did not look first was not in a race, and need not ask for the lock.
        if (listed) lock_.saw_conflict();
        break;
    }
    listed = true;
  }
  return Error{
      ErrorKind::busy,
      directory_.string() + ": other hosts were first " + std::to_string(conflicts) + " times",
      "try again; let fewer workers commit at the same time"};
}

Result<JournalStore::Attempt> JournalStore::attempt(std::uint64_t author, const Body& body) {
  Head head;
  TORC_ASSIGN(Txn txn, begin(Access::write, head));
  WriteSet writes;
  {
    LmdbTransaction transaction(txn, head.sequence + 1, &writes);
    Result<void> answer = body(transaction);
    if (Result<void> health = transaction.health(); !health.ok()) {
      if (health.error().kind == ErrorKind::invalid) return std::move(health).error();
      return local_failure(transaction.code(), "a transaction failed");
    }
    if (!answer.ok())
      return Attempt{Attempt::Outcome::refused, head.sequence, std::move(answer).error()};
  }
  if (writes.empty()) return Attempt{Attempt::Outcome::nothing, head.sequence, {}};
  return publish(txn, author, head, writes);
}

Result<JournalStore::Attempt> JournalStore::publish(Txn& txn, std::uint64_t author,
                                                    const Head& head, const WriteSet& writes) {
  if (writes.bytes().size() > kMostWrites) {
    return Error{ErrorKind::invalid,
                 "a commit of " + std::to_string(writes.bytes().size()) + " bytes is too large; " +
                     std::to_string(kMostWrites) + " is the most",
                 "say it in several smaller ones"};
  }
  const CommitHeader header{head.sequence + 1, head.chain, random_bytes(world_.entropy), author};
  const std::string bytes = encode_commit(identity_.id, header, writes.bytes());
  const Head next{header.sequence, hash128(identity_.id, bytes), head.bytes + bytes.size(), author};
  // Everything that may fail in the replica comes before the commit becomes visible.
  int rc = write_ring(txn, header.sequence, header.id);
  if (rc == 0) rc = write_tail(txn, header.sequence, bytes);
  if (rc == 0) rc = write_head(txn, next);
  if (rc != 0) return local_failure(rc, "cannot write the head");

  const BootTime asked = world_.clock.boot_now();
  Result<Publication> published = journal_.publish(header.sequence, bytes);
  if (!published.ok()) return std::move(published).error();

  // Then what was asked since may be about other files than those that the name was asked in.
  const auto moved = [&] { return world_.disk.mount_changes() != mounts_seen_; };

  // The rule of the writer: the number may have been used, covered by a snapshot and collected
  // while this process stood still, and so have been free again. No clock is asked; the listing
  // tells.
  Result<SnapshotName> newest = look_at_snapshots();
  if (!newest.ok()) {
    Error error = std::move(newest).error();
    // The name was asked for: it may count. Unless there was no directory to ask in.
    const bool never = published->state == Publication::State::absent &&
                       (!published->asked || (published->error.os_errno == ENOENT &&
                                              error.kind == ErrorKind::fenced && !moved()));
    if (!never) error.kind = ErrorKind::unknown;
    return error;
  }
  note_snapshot(*newest);
  if (newest->sequence >= header.sequence) {
    txn.abort();
    return decide_by_ring(header.sequence, header.id);
  }
  // That nothing newer was listed is no evidence, since a listing may be old. The commit before
  // this one is: while its file is there, no number after it was ever free again. Without that a
  // name that nobody has, or somebody else, may have been ours before a lost reply, and been
  // collected.
  const Result<Agreement> agreement = agreement_of(head);
  if (!agreement.ok()) {
    if (published->state == Publication::State::absent && !published->asked)
      return std::move(published->error);
    return unknown_outcome(directory_, header.sequence, agreement.error().what, {});
  }
  if (published->state == Publication::State::absent && published->asked && moved()) {
    return unknown_outcome(directory_, header.sequence,
                           "something was mounted or unmounted while it was made", {});
  }
  if (*agreement == Agreement::covered) {
    txn.abort();
    return decide_by_ring(header.sequence, header.id);
  }
  if (published->state == Publication::State::taken) {
    taken_ = header.sequence;  // and so there, even if no listing shows it yet
    return Attempt{Attempt::Outcome::conflict, head.sequence, {}};
  }
  if (*agreement != Agreement::agrees) {
    const Error why = finding(*agreement, head);
    if (published->state == Publication::State::absent) return why;
    // Nobody can build on our file where another commit has the number before it. Where that one
    // is lost it stays: a repair may put back what it continues.
    if (*agreement == Agreement::differs) remove_own(header.sequence, header.id);
    return unknown_outcome(directory_, header.sequence, why.what, why.remedy);
  }
  if (published->state == Publication::State::absent) {
    const int e = published->error.os_errno;
    // Whoever had the number took it back before we could read it.
    if (e == EEXIST || e == ENOTEMPTY)
      return Attempt{Attempt::Outcome::conflict, head.sequence, {}};
    if (e != ENOENT) return std::move(published->error);
    return without_directory(txn, head, header);
  }
  // Committed. Should the replica fail now, it is left behind; that changes nothing for the caller.
  if (txn.commit().ok()) {
    own_newest_ = header.sequence;
    if (const auto segment = segment_ending_at(header.sequence)) due_segment_ = segment;
    confirm(asked);
    note_seen(header.sequence);
  } else {
    broken_ = true;
  }
  return Attempt{Attempt::Outcome::committed, header.sequence, {}};
}

// Nobody has the number, and nothing of ours can get it any more, since its directory is not there.
// Its maker is the author of the number before its first, who made it before that number got its
// name: so it was collected, or is lost. It is made again only here, where that number's file shows
// that nothing after it was ever collected (Agreement::agrees).
Result<JournalStore::Attempt> JournalStore::without_directory(Txn& txn, const Head& head,
                                                              const CommitHeader& header) {
  const Result<bool> asked_anew = refresh_snapshots();
  if (!asked_anew.ok())
    return unknown_outcome(directory_, header.sequence, asked_anew.error().what, {});
  if (snapshot_.sequence > head.sequence) {
    // There may have been a file of ours, collected since.
    txn.abort();
    return decide_by_ring(header.sequence, header.id);
  }
  if (first_of_directory(header.sequence) != header.sequence) {
    return Error{ErrorKind::busy,
                 journal_.directory_of(header.sequence).string() +
                     " is not there for a new commit, though the commit before is",
                 "try again in a few seconds"};
  }
  TORC_TRY(journal_.make_directory_of(header.sequence));
  return Attempt{Attempt::Outcome::conflict, head.sequence, {}};
}

// The name may be another one's by now: this process may have stood still for long.
void JournalStore::remove_own(std::uint64_t sequence, const CommitId& id) {
  const Result<CommitFile> file = journal_.read(sequence);
  if (file.ok() && file->header.id == id) (void)journal_.remove(sequence);
}

Result<JournalStore::Attempt> JournalStore::decide_by_ring(std::uint64_t sequence,
                                                           const CommitId& id) {
  const auto unknown = [&](const std::string& why) {
    return unknown_outcome(directory_, sequence, why, {});
  };
  confirm(BootTime{0});
  if (Result<void> caught = catch_up(); !caught.ok()) return unknown(caught.error().what);
  Result<Txn> txn = Txn::begin(replica_.environment, Access::read);
  if (!txn.ok()) return unknown(txn.error().what);
  RingEntry entry;
  if (const int rc = read_ring(*txn, sequence, entry); rc != 0) return unknown(mdb_strerror(rc));
  if (entry.sequence != sequence) return unknown("it was made too long ago");
  if (entry.id == id) return Attempt{Attempt::Outcome::committed, sequence, {}};
  // Our file, if there is one, sits on a number that was collected. It deceives nobody (readers
  // check the chain), but it should go.
  remove_own(sequence, id);
  return Attempt{Attempt::Outcome::conflict, sequence, {}};
}

Result<std::unique_ptr<Store>> open_journal_store(const World& world, const Path& directory,
                                                  const Meta& meta, const Tuning& tuning) {
  auto store = std::make_unique<JournalStore>(world, directory, meta, tuning);
  TORC_TRY(store->start());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace torc::store
