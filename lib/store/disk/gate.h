// The queue of one node's processes in front of an LMDB write transaction. LMDB's own write mutex
// waits for ever, so a process that was stopped (SIGSTOP, a debugger, a hung disk) while holding it
// would stop all others of its node. The gate is a robust mutex in a small file mapped by all of
// them: the wait for it is bounded, and a holder that died leaves it to the next.
//
// The mapped page also carries what the node's processes tell each other; see Gate::Shared. It
// lives as long as one boot of the node, which is why its file is named by the boot.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/clock.h"
#include "lib/base/file/descriptor.h"
#include "lib/base/file/shared_mapping.h"
#include "lib/base/result.h"
#include "lib/store/disk/disk.h"

namespace torc::store {

// "process 1234 (torc, stopped)": what /proc knows of it.
[[nodiscard]] std::string describe_process(std::uint32_t pid);

class Gate {
 public:
  // A moment at which this node knew of the snapshot with this number.
  struct SnapshotNote {
    std::int64_t at = 0;  // boot time, ns; 0: none
    std::uint64_t sequence = 0;
  };
  struct Shared {
    std::uint64_t magic;
    pthread_mutex_t mutex;
    std::atomic<std::uint32_t> holder;     // process id; 0: nobody
    std::atomic<std::int64_t> held_since;  // boot time, ns
    std::atomic<std::int64_t>
        confirmed;  // boot time, ns, at which the replica was known to be the newest; 0: never
    std::atomic<std::int64_t>
        snapshot_begun;               // boot time, ns, of a snapshot that is being written; 0: none
    std::atomic<std::uint64_t> owed;  // a snapshot of this node that nothing was collected for; 0
    std::atomic<std::uint64_t> collected;         // below this number everything is collected
    std::array<SnapshotNote, 16> snapshot_notes;  // only under the gate
    // The commit whose file was last seen to be what the replica holds, and when (boot time, ns).
    std::atomic<std::uint64_t> seen;
    std::atomic<std::int64_t> seen_at;
  };

  // Opens `file`, making it when absent, and anew when it is one that somebody cut short or
  // emptied. Error corrupt: it is something else.
  static Result<std::unique_ptr<Gate>> open(const Path& file);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Waits at most `patience`, counted from when the present holder entered. Kind busy: it was not
  // had; the text names the holder and what its process is doing. Kind corrupt: the file was cut
  // short or overwritten meanwhile; open it again. shared() of such a gate is zeros, which say
  // nothing, and touching it harms nobody where mind_shared_mappings() was called.
  Result<void> enter(Clock& clock, std::chrono::nanoseconds patience);
  void leave();
  [[nodiscard]] Shared& shared() { return *static_cast<Shared*>(mapping_.at()); }

 private:
  Gate(Descriptor fd, SharedMapping mapping, Path file)
      : fd_(std::move(fd)), mapping_(std::move(mapping)), file_(std::move(file)) {}
  [[nodiscard]] bool spoiled();
  [[nodiscard]] Error busy();

  Descriptor fd_;
  SharedMapping mapping_;
  Path file_;
  bool stays_ = false;  // its memory, for the C library
};

// Leaves the gate on scope exit.
class GateHold {
 public:
  explicit GateHold(Gate* gate) : gate_(gate) {}
  GateHold(GateHold&& other) noexcept : gate_(other.gate_) { other.gate_ = nullptr; }
  GateHold& operator=(GateHold&&) = delete;
  ~GateHold() {
    if (gate_ != nullptr) gate_->leave();
  }

 private:
  Gate* gate_;
};

}  // namespace torc::store
