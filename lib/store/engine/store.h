// One workflow's durable state in one directory that every worker can see; no server. See
// docs/maintainer/store-protocol.md for the commit protocol, its assumptions and its proofs.
//
// A Store belongs to one thread at a time. Several processes, on any number of hosts (engine
// `journal`) or on one (engine `lmdb`), open the same directory at once. A Store survives neither
// fork nor a change of its directory.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/store/engine/transaction.h"

namespace torc::store {

class Disk;  // lib/store/disk/disk.h
enum class Engine : std::uint8_t { automatic, lmdb, journal };

// The parts of the world a store needs. The objects outlive the Store.
struct World {
  Disk& disk;
  Clock& clock;
  Entropy& entropy;
  std::string host;                 // name of this host, for messages
  std::string boot_id;              // /proc/sys/kernel/random/boot_id
  std::string pid_namespace;        // readlink /proc/self/ns/pid
  std::uint32_t uid = 0;            // effective user
  std::vector<Path> replica_roots;  // in order of preference: $TMPDIR, /dev/shm, /tmp
  // Says one sentence to the user that he must know and that is no error; may be empty.
  std::function<void(const std::string&)> tell = {};
  std::string machine = {};  // machine_id() of home.h; empty: not known
};

// All of it tunable for tests and sites; the defaults are those of
// docs/maintainer/store-protocol.md.
struct Tuning {
  std::chrono::nanoseconds lock_wait = std::chrono::seconds(2);
  std::chrono::nanoseconds replica_wait =
      std::chrono::seconds(10);            // before a stuck replica is left
  std::uint64_t checkpoint_commits = 256;  // of a small state; a large one waits up to twice that
  ByteCount checkpoint_bytes = mebibytes(8);
  // A listing shows what was there so long ago; files that a snapshot covers stay that long.
  // nullopt: what META says, and no less than this host's mount needs. create() writes it into META
  // (10 s when nothing is told).
  std::optional<std::chrono::nanoseconds> retention;
  std::uint64_t segment_commits = 3072;  // before the newest snapshot, of which segments are kept
  // Snapshots are made and published on a thread of their own, so that the one that commits need
  // not wait; a later maintain() learns of it. Needs a Disk that may be used from two threads at
  // once.
  bool snapshots_beside = false;
  bool sync = true;  // false: for tests that do not cut the power
};

struct Identity {
  std::array<std::uint8_t, 16> id{};  // random, made by create()
  Engine engine = Engine::lmdb;       // never `automatic`
  std::string host;                   // on which it was made or adopted
  // The id of this very directory: `id` at first. A copy of a store has the same `id`, since that
  // is part of its history, and gets an instance of its own before it is first written to.
  std::array<std::uint8_t, 16> instance{};
  std::string machine = {};  // engine lmdb: the only one that may open it; empty: not known
  [[nodiscard]] std::string id_hex() const;
  // Names this store in the environment of its jobs: told apart from its copies. Known for good
  // after the first commit().
  [[nodiscard]] std::string instance_hex() const;
  // The directory inside the store of everything that changes but data.mdb and its lock.mdb. It
  // bears the store's id, so that a worker whose store was deleted and made anew under the same
  // path finds nothing there to write to.
  [[nodiscard]] Path state_directory(const Path& store) const;
};

struct Commit {
  std::uint64_t sequence = 0;  // of this commit; of the newest one seen when nothing was written
  bool wrote = false;
  std::chrono::nanoseconds cost{};  // time from the call to the acknowledgement
  std::uint32_t conflicts = 0;      // times another host was first and the body ran again
};

enum class Freshness : std::uint8_t {
  cached,  // what this node knows: no request to the shared filesystem
  latest   // catches up with everything that was committed before the call
};

class Store {
 public:
  // The function of a transaction. It may run several times, on different states: it must depend on
  // nothing but what it reads and must reset what it fills. An Error aborts: nothing is written and
  // commit() returns it.
  using Body = std::function<Result<void>(Transaction&)>;

  // Makes a store whose first commit is `first`. All or nothing: `directory` appears complete, by
  // rename, or not at all. `automatic` is lmdb on a filesystem that only this host sees (ext4, xfs,
  // btrfs, tmpfs, overlay …) and journal on every other, also on an unknown one. Errors: exists;
  // unsupported (no put-if-absent, engine lmdb on a network filesystem). `files` are put into it
  // (spec.yaml, slurm/…; their directories are made). It may stay without any commit when `first`
  // writes nothing.
  struct File {
    Path path;  // relative to the store
    std::string content;
  };
  static Result<std::unique_ptr<Store>> create(const World& world, const Path& directory,
                                               Engine engine, const Tuning& tuning,
                                               const Body& first,
                                               const std::vector<File>& files = {});

  // Errors: not_found (not a store; says what is there), unsupported (format, host), corrupt,
  // permission.
  static Result<std::unique_ptr<Store>> open(const World& world, const Path& directory,
                                             const Tuning& tuning);

  virtual ~Store() = default;

  // Runs `body` on the newest state and makes its writes durable, visible to all and final;
  // `author` is kept with the commit. An ok() answer means: in the chain, whatever crashes next.
  // Kind unknown: the outcome could not be learned; the caller must act as if it had lost its
  // lease. Every other error: surely not committed; after no_space and busy it may be tried again.
  // A body that writes nothing costs no commit.
  virtual Result<Commit> commit(std::uint64_t author, const Body& body) = 0;

  // Runs `body` on a consistent state without writing. Keep it short: it pins the pages of its
  // state.
  virtual Result<void> view(Freshness freshness,
                            const std::function<Result<void>(const Reader&)>& body) = 0;

  // Somebody says that there is a commit of this number: until the next call of this no listing is
  // believed that does not show it. Only a hint: where there is no such commit, each look costs one
  // request more. 0: nothing is said.
  virtual void expect(std::uint64_t sequence) { (void)sequence; }

  // What recurring maintenance is due (checkpoint, collection); cheap when none is. Workers call it
  // between commits.
  virtual Result<void> maintain() = 0;

  // A descriptor that becomes readable when another process of this node may have committed
  // (inotify); -1 where there is none. clear_changes() empties it. It says nothing of other nodes:
  // those are seen by polling.
  [[nodiscard]] virtual int changes_fd() const = 0;
  virtual void clear_changes() = 0;

  [[nodiscard]] virtual const Identity& identity() const = 0;
  [[nodiscard]] virtual const Path& directory() const = 0;
  [[nodiscard]] Path state_directory() const { return identity().state_directory(directory()); }
  // Deletes this node's copy of the state, if the engine keeps one: for the end of a workflow, so
  // that nothing stays in a node's memory. Other processes that use it go on with it; whoever comes
  // later makes a new one.
  virtual void forget_copy() = 0;

  // What a person should know about this store on this filesystem, or empty: one sentence.
  [[nodiscard]] virtual const std::string& note() const = 0;
};

// Whether an error says that the store was deleted, moved or replaced while it was open: for good,
// as its own filesystem has shown. Whether a commit that met it was made may be unknown.
[[nodiscard]] bool is_gone(const Error& error);

// Which store an open one is and on which filesystem it lies, for who may have to open it again
// when that fails.
class LastSeen {
 public:
  // Asks the disk once, which outlives it.
  static Result<LastSeen> of(const World& world, const Store& store);
  // Errors: one of is_gone(); any other says that it cannot be seen now.
  [[nodiscard]] Result<void> check_still_there() const { return check_(); }

 private:
  explicit LastSeen(std::function<Result<void>()> check) : check_(std::move(check)) {}
  std::function<Result<void>()> check_;
};

// What `torc verify` reports of the store itself: chain, checkpoints, replica against replay. Stops
// at the first wrong thing. `check_state` is then run on the replayed state (the recount of
// lib/claim).
struct Verified {
  std::uint64_t first_sequence = 0;  // oldest commit file still there
  std::uint64_t last_sequence = 0;
  std::uint64_t newest_snapshot = 0;
  std::uint64_t files = 0;
};
Result<Verified> verify(const World& world, const Path& directory,
                        const std::function<Result<void>(const Reader&)>& check_state);

}  // namespace torc::store
