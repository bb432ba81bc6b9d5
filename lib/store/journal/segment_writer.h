// Writes segments (segment.h), from the replica, which holds nothing that is not part of the
// history; what it does not have any more, or never had, from the single files. Nothing hangs on
// them: what cannot be written is left out, and readers take the single files. Precondition: the
// replica is attached. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "lib/store/format/journal.h"
#include "lib/store/replica/node_replica.h"

namespace torc::store {

class SegmentWriter {
 public:
  // Both outlive this.
  SegmentWriter(Journal& journal, NodeReplica& replica) : journal_(journal), replica_(replica) {}

  // By the author of the last commit in it. Takes the small ones away that a large one replaces, a
  // directory later: somebody may be about to read them.
  void write(const SegmentName& due);
  // Whether the segment of the directory that begins with `first` can stand in for it: whole, and
  // of this history, which its last commit shows: it is byte for byte the single file, which
  // contains the hash of all before. Makes it when it is not there or no good.
  bool have_whole(std::uint64_t first);

 private:
  // Empty: too much for one segment.
  Result<std::string> commits_in(const SegmentName& name);

  Journal& journal_;
  NodeReplica& replica_;
};

}  // namespace torc::store
