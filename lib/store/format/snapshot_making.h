// A snapshot that is made and published beside the commits of its Store, so that the one that
// commits waits neither for the compression nor for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "lib/store/format/journal.h"
#include "lib/store/format/snapshot.h"
#include "lib/store/lmdb/environment.h"

namespace torc::store {

class SnapshotMaking {
 public:
  // Of what `environment` holds when the thread begins, into `store`. `disk` outlives this and may
  // be used from two threads at once, as PosixDisk may. `seed`: for the names of temporary files.
  SnapshotMaking(std::shared_ptr<Environment> environment, Disk& disk, const Path& store,
                 const StoreId& id, PublishMethod method, Durable durable, std::uint64_t seed);
  // Cancels it and waits: for the rest of the disk's work when it came so far.
  ~SnapshotMaking();
  SnapshotMaking(const SnapshotMaking&) = delete;
  SnapshotMaking& operator=(const SnapshotMaking&) = delete;

  [[nodiscard]] bool done() const { return done_; }
  // What was published. Precondition: done(), and not taken before.
  Result<Head> take() { return *std::move(result_); }

 private:
  Result<Head> make();

  std::shared_ptr<Environment> environment_;
  SeededEntropy entropy_;
  Journal journal_;
  std::atomic<bool> canceled_{false};
  std::atomic<bool> done_{false};
  std::optional<Result<Head>> result_;  // set before done_
  std::thread thread_;
};

}  // namespace torc::store
