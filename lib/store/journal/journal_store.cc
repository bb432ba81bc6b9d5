#include "lib/store/journal/journal_store.h"

#include <utility>

namespace torc::store {
namespace {

constexpr int kReplicaTries = 24;

}  // namespace

JournalStore::JournalStore(const World& world, const Path& directory, const Meta& meta,
                           const Tuning& tuning)
    : world_(world),
      tuning_(tuning),
      location_(world_, directory, meta, tuning.retention),
      journal_(world.disk, directory, meta.identity.id,
               Publisher(world.disk, world.entropy, meta.publish,
                         tuning.sync ? Durable::yes : Durable::no)),
      replica_(world_, meta.identity.id, tuning.replica_wait),
      snapshots_(world.clock, journal_, location_, replica_),
      evidence_(world.clock, journal_, replica_, snapshots_),
      survey_(world.clock, journal_, location_, snapshots_),
      reader_(world.clock, journal_, location_, replica_, snapshots_, evidence_, survey_),
      catch_up_(world.clock, journal_, location_, replica_, snapshots_, evidence_, survey_,
                reader_),
      writer_(world_,
              {journal_, location_, replica_, snapshots_, evidence_, survey_, reader_, catch_up_},
              tuning.lock_wait),
      segments_(journal_, replica_),
      snapshot_writer_(world_, tuning_, journal_, location_, replica_, snapshots_),
      collection_(world_, journal_, location_, replica_, snapshots_, segments_,
                  tuning.segment_commits) {
  if (meta.filesystem == "tmpfs" || meta.filesystem == "overlay") {
    note_ = directory.string() + " is on " + meta.filesystem +
            ", which only this host sees: workers on other hosts cannot join";
  }
}

Result<void> JournalStore::start() {
  // Before the first note that the node's processes share, see KnownSnapshots::note().
  TORC_TRY(location_.read_retention());
  return view(Freshness::latest, [](const Reader&) { return Result<void>(); });
}

// --- where it lies, and which replica ---

Result<void> JournalStore::look_at_mounts() {
  TORC_ASSIGN(const std::optional<Location::Look> look, location_.look());
  if (!look) return {};
  if (location_.is_elsewhere(*look)) forget_place();
  journal_.publisher().use(look->meta.publish);
  return location_.accept(*look);
}

// What was seen there says nothing of the files here, and the replica is that of the other place.
void JournalStore::forget_place() {
  snapshot_writer_.cancel();
  replica_.start_over();
  snapshots_.forget();
  evidence_.forget_own();
  survey_.forget_taken();
  reader_.forget_others();
  (void)writer_.take_due_segment();
  snapshot_writer_.forget();
  collection_.forget_temporaries();
}

Result<void> JournalStore::attach() {
  if (replica_.is_broken()) leave_replica(NodeReplica::Why::broken);
  return replica_.attach(location_.key());
}

void JournalStore::leave_replica(NodeReplica::Why why) {
  snapshot_writer_.cancel();
  replica_.leave(why);
}

// Runs `work` inside the gate of a replica that works. A replica that is stuck or fails is left for
// another one: it is only a copy.
Result<Commit> JournalStore::inside_gate(const std::function<Result<Commit>()>& work) {
  Error last{ErrorKind::busy, "no usable copy of the store on this node", {}};
  for (int tries = 0; tries < kReplicaTries; ++tries) {
    TORC_TRY(look_at_mounts());
    TORC_TRY(attach());
    if (Result<void> entered = replica_.gate().enter(world_.clock, tuning_.replica_wait);
        !entered.ok()) {
      last = std::move(entered).error();
      if (last.kind == ErrorKind::corrupt) {
        snapshot_writer_.cancel();
        replica_.detach();  // the copy is good; attach() makes its gate anew
      } else {
        leave_replica(last.kind == ErrorKind::busy ? NodeReplica::Why::stuck
                                                   : NodeReplica::Why::broken);
      }
      continue;
    }
    const GateHold hold(&replica_.gate());
    Result<Commit> done = work();
    // After an unknown outcome nothing is run again: it might be done twice.
    if (done.ok() || done.error().kind == ErrorKind::unknown || !replica_.failed()) return done;
    last = std::move(done).error();
    if (!replica_.is_full()) continue;
    snapshot_writer_.cancel();
    replica_.grow();
  }
  return last;
}

// --- what a store does ---

Result<void> JournalStore::view(Freshness freshness,
                                const std::function<Result<void>(const Reader&)>& body) {
  if (freshness == Freshness::latest) TORC_TRY(look_at_mounts());
  TORC_TRY(attach());
  if (freshness == Freshness::latest || !replica_.is_validated()) {
    TORC_ASSIGN(const bool unchanged, catch_up_.quiet());
    if (!unchanged) {
      const Result<Commit> caught = inside_gate([&]() -> Result<Commit> {
        TORC_TRY(catch_up_.run());
        return Commit{};
      });
      if (!caught.ok()) return caught.error();
    }
  }
  Head head;
  TORC_ASSIGN(Txn txn, replica_.begin(Access::read, head));
  const LmdbTransaction reader(txn, head.sequence);
  Result<void> answer = body(reader);
  if (Result<void> health = reader.health(); !health.ok()) {
    if (health.error().kind != ErrorKind::invalid) replica_.note_broken();
    return health;
  }
  return answer;
}

Result<Commit> JournalStore::commit(std::uint64_t author, const Body& body) {
  const BootTime begun = world_.clock.boot_now();
  TORC_TRY(look_at_mounts());
  TORC_TRY(location_.adopt_if_copied());
  std::uint32_t conflicts = 0;
  Result<Commit> done = inside_gate([&] { return writer_.commit(author, body, conflicts); });
  writer_.release_lock();
  if (!done.ok()) return done;
  done->conflicts = conflicts;
  done->cost = world_.clock.boot_now() - begun;
  return done;
}

Result<void> JournalStore::maintain() {
  TORC_TRY(look_at_mounts());
  TORC_TRY(attach());
  replica_.environment()->forget_dead_readers(world_.clock.boot_now());
  if (const auto due = writer_.take_due_segment()) segments_.write(*due);
  Head head;
  std::uint64_t state_bytes = 0;
  {
    TORC_ASSIGN(const Txn txn, Txn::begin(replica_.environment(), Access::read));
    if (const int rc = read_head(txn, head); rc != 0)
      return replica_.failure(rc, "cannot read the head");
    state_bytes = state_size(txn);
  }
  TORC_TRY(snapshot_writer_.maintain(head, state_bytes));
  return collection_.is_due() ? collection_.run() : Result<void>();
}

void JournalStore::forget_copy() {
  if (!replica_.is_attached()) return;
  snapshot_writer_.cancel();
  replica_.forget();
}

Result<std::unique_ptr<Store>> open_journal_store(const World& world, const Path& directory,
                                                  const Meta& meta, const Tuning& tuning) {
  auto store = std::make_unique<JournalStore>(world, directory, meta, tuning);
  TORC_TRY(store->start());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace torc::store
