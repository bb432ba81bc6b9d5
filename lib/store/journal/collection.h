// Collection: what nobody needs any more goes. Commit files that a snapshot covers, by the
// directory and in ascending order, on which the evidence of readers and writers rests
// (evidence.h); snapshots but the two newest; segments; what authors that died have left.
//
// Each call deletes what it can, and the next goes on where an Error ended it. Precondition: the
// replica is attached, and this process is not in its gate. It owns since when it has seen
// temporary files. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/store/format/journal.h"
#include "lib/store/journal/known_snapshots.h"
#include "lib/store/journal/location.h"
#include "lib/store/journal/segment_writer.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

class Collection {
 public:
  // All outlive this. `segment_commits`: before the newest snapshot, of which segments stay.
  Collection(const World& world, Journal& journal, Location& location, NodeReplica& replica,
             KnownSnapshots& snapshots, SegmentWriter& segments, std::uint64_t segment_commits)
      : disk_(world.disk),
        clock_(world.clock),
        journal_(journal),
        location_(location),
        replica_(replica),
        snapshots_(snapshots),
        segments_(segments),
        segment_commits_(segment_commits) {}

  // The node owes it, and it was not tried in the last eighth of a retention.
  [[nodiscard]] bool is_due();
  // Asks the filesystem nothing before a snapshot has been known for the retention.
  Result<void> run();
  // At another place.
  void forget_temporaries() { temporaries_.clear(); }

 private:
  Result<bool> collect(std::uint64_t known);
  Result<void> collect_directories(std::uint64_t floor, std::uint64_t second);
  bool collect_directory(std::uint64_t first, std::uint64_t second);
  void collect_segments(std::uint64_t newest, std::uint64_t second);
  void collect_temporaries(const Path& directory, const std::vector<std::string>& names);
  bool sweep(const Path& dead);

  Disk& disk_;
  Clock& clock_;
  Journal& journal_;
  Location& location_;
  NodeReplica& replica_;
  KnownSnapshots& snapshots_;
  SegmentWriter& segments_;
  std::uint64_t segment_commits_;
  BootTime next_{};
  std::map<Path, BootTime> temporaries_;  // with the time when first seen
};

}  // namespace torc::store
