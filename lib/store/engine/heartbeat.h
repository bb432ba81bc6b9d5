// The heartbeats of workers, in the directory `state` (Store::state_directory()). Not part of any
// transaction; a lost, late or torn one is a late one and never a sign of death.
//
// A client of a network filesystem may go on reading what it has of a file for as long as it writes
// into that file itself (GlusterFS: without end). So a worker has a file of its own while few live,
// and nobody who reads it writes into it. Where there are many, the later ones share files, so that
// a thousand workers make no thousand files; those are read around the caches.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"

namespace torc::store {

struct Heartbeat {
  std::uint64_t counter = 0;
  std::chrono::seconds ttl{};  // the silence that the worker may keep from here on
  std::uint64_t known = 0;     // a commit that it had seen an interval ago or more; 0: none yet
  WallTime at{};               // by its clock, for people; 0: an older torc, which does not tell it
};

enum class HeartbeatFile : std::uint8_t { own, shared };
// Where the heartbeats of one worker are. Its record says which.
struct HeartbeatPlace {
  std::uint64_t epoch = 0;
  HeartbeatFile file = HeartbeatFile::own;
};
// At most so many workers that live at a time have a file of their own.
inline constexpr std::uint64_t kOwnHeartbeatFiles = 64;

[[nodiscard]] Path heartbeat_path(const Path& state, HeartbeatPlace place);

// Only its worker does so.
Result<void> write_heartbeat(const World& world, const Path& state, HeartbeatPlace place,
                             Heartbeat heartbeat);

// nullopt: no heartbeat, one that was being rewritten, or one that no worker writes. What a client
// remembers of the directory and of the file is asked for anew where `caches` says so or the file
// seems not to be there.
Result<std::optional<Heartbeat>> read_heartbeat(const World& world, const Path& state,
                                                HeartbeatPlace place, Caches caches);

// The newest commit that a worker says to have seen, of those that have a file of their own; it was
// there before this was asked. `sequence` 0: nobody says so. A file that is never whole says
// nothing. Errors: the files cannot be listed, or one cannot be read.
struct KnownCommit {
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;  // of that worker
};
Result<KnownCommit> newest_known(const World& world, const Path& state, Caches caches);

// Whose heartbeats may be in the same shared file.
struct EpochRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
[[nodiscard]] EpochRange epochs_beside(std::uint64_t epoch);
// Deletes the file of a worker that has left; a shared one only when nobody lives in
// epochs_beside() any more (`nobody_beside`). Who writes there all the same makes it anew.
Result<void> remove_heartbeats(const World& world, const Path& state, HeartbeatPlace place,
                               bool nobody_beside);

}  // namespace torc::store
