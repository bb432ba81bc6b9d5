// Keeps the output of a worker's jobs in one file instead of two files a job.
//
// A job writes into the scratch files of its slot, so that nothing is lost with the worker, and
// nothing that the job does to its own output (`> /dev/stdout` empties it) touches that of others.
// When it has ended, what it wrote is copied to the end of the worker's data file, then noted in
// the index, and only then are the scratch files emptied for the next job. Whoever reads finds each
// byte exactly once, whenever the worker is cut off; docs/maintainer/execution.md shows why.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/result.h"
#include "lib/exec/output/output_disk.h"
#include "lib/exec/output/packed_format.h"

namespace torc::exec {

enum class Keep : std::uint8_t { yes, no };

// Whether other nodes see what this one writes in the order in which it is written.
enum class Coherence : std::uint8_t {
  ordered,  // local filesystems; those of clusters, which have locks for it
  delayed   // NFS: only what was synced
};

// One thread. Descriptors are owned by it.
class PackedWriter {
 public:
  // Output larger than this is not copied: its scratch file becomes its own.
  static constexpr std::uint64_t kLargest = 64ULL << 20;

  // Makes data file and index; the directory must exist. Error exists: another worker's files have
  // these names.
  static Result<std::unique_ptr<PackedWriter>> create(OutputDisk& disk, PackedNames names,
                                                      Coherence coherence);
  ~PackedWriter();
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

  struct Place {
    std::uint32_t slot = 0;
    int out = -1;  // for the job's descriptors 1 and 2
    int err = -1;
  };
  // Empty scratch files for an attempt. After an Error nothing is held; the attempt needs other
  // files.
  Result<Place> begin(AttemptKey key);

  // The attempt's processes have gone. Precondition: `slot` was begun and has not ended. After an
  // Error the output can be read all the same, in files of its own.
  Result<void> end(std::uint32_t slot, Keep keep);

  // Removes the scratch files of slots without a job, which are empty. Nothing is begun afterwards.
  void tidy();

 private:
  struct Slot {
    std::uint32_t number = 0;
    AttemptKey key;
    int fds[2] = {-1, -1};
    bool gone[2] = {false, false};  // renamed
    bool busy = false;
  };
  using Slots = std::vector<Slot>;

  PackedWriter(OutputDisk& disk, PackedNames names, Coherence coherence)
      : disk_(disk), names_(std::move(names)), coherence_(coherence) {}
  Result<Slot*> free_slot();
  Result<void> add_slot();
  Result<void> note(std::string_view records);
  Result<void> pack(Slot& slot, const std::uint64_t (&sizes)[2]);
  Result<void> keep_apart(Slot& slot, Stream stream);
  Result<void> empty(Slot& slot, const std::uint64_t (&sizes)[2]);
  Slots::iterator retire(Slots::iterator slot);  // gives the next one

  OutputDisk& disk_;
  PackedNames names_;
  Coherence coherence_;
  int index_ = -1;
  int data_ = -1;
  std::uint64_t index_size_ = 0;
  std::uint64_t data_size_ = 0;
  std::uint32_t next_slot_ = 0;
  Slots slots_;  // as many as ever ran at once
};

}  // namespace torc::exec
