// Which of the node's replicas (replica.h) a Store uses, and what it may believe of it.
//
// It is only a copy, so one that is stuck or fails is left for another: a further generation beside
// one in which a process is stuck; another root, then a further generation, for one that broke.
// Nothing is left here by itself: a failure is noted, and whoever runs the work decides (failed(),
// leave(), grow()), since a snapshot that is made of the replica must end first
// (snapshot_writer.h).
//
// It owns the environment and the gate, which live as long as it is attached. One thread at a time;
// transactions hold the environment themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/store/disk/watch.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/replica/replica.h"

namespace torc::store {

class NodeReplica {
 public:
  enum class Why : std::uint8_t { broken, stuck };

  // `world` outlives this. `patience`: how long to wait for whoever opens or uses a replica.
  NodeReplica(const World& world, const StoreId& id, std::chrono::nanoseconds patience)
      : world_(world), id_(id), patience_(patience) {}

  // --- which one

  // Opens the replica of the store at `place` (Place::key) unless one is attached. Error: no root
  // is usable; it says what the last one lacks. The next attach() begins with the first root again.
  Result<void> attach(const std::string& place);
  // The files stay where they are: others may use them. Another one is attached next.
  void leave(Why why);
  // The same one is attached next, with a new gate.
  void detach();
  // The first of all is attached next: for another place.
  void start_over();
  // Deletes its files, unless somebody is opening it.
  void forget();
  [[nodiscard]] bool is_attached() const { return replica_.environment != nullptr; }
  // Of the files; empty: none is attached.
  [[nodiscard]] Path directory() const;

  // --- using it. Precondition: it is attached

  [[nodiscard]] Gate& gate() { return *replica_.gate; }
  [[nodiscard]] Gate::Shared& shared() { return replica_.gate->shared(); }
  [[nodiscard]] const std::shared_ptr<Environment>& environment() const {
    return replica_.environment;
  }
  Result<Txn> begin(Access access);
  // With its head.
  Result<Txn> begin(Access access, Head& head);
  Result<Head> read_head();

  // --- what went wrong

  // Notes that LMDB failed with `rc`, and says it: "`what` in <directory>: …".
  Error failure(int rc, const char* what);
  void note_broken() { broken_ = true; }
  [[nodiscard]] bool is_broken() const { return broken_; }
  [[nodiscard]] bool is_full() const { return full_; }
  [[nodiscard]] bool failed() const { return broken_ || full_; }
  // Makes room in a full one; one that cannot grow is broken. No transaction of this process may be
  // open.
  void grow();

  // --- what is known of it

  // It was compared with the journal and caught up since it was attached.
  [[nodiscard]] bool is_validated() const { return validated_; }
  void note_validated() { validated_ = true; }
  // When it was last known to be the newest; all processes of the node share it. 0: never.
  void confirm(BootTime asked) { shared().confirmed = asked.count(); }
  [[nodiscard]] BootTime confirmed() { return BootTime{shared().confirmed.load()}; }

  // --- commits of other processes, see Store::changes_fd()

  [[nodiscard]] int changes_fd() const;
  void clear_changes();

 private:
  const World& world_;
  StoreId id_;
  std::chrono::nanoseconds patience_;
  Replica replica_;
  std::size_t root_ = 0;
  unsigned generation_ = 0;
  bool broken_ = false;  // it must be left
  bool full_ = false;    // its map is
  bool validated_ = false;
  mutable std::unique_ptr<FileWatch> watch_;
};

}  // namespace torc::store
