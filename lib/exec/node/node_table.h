// The table in which the workers of a node write what they hold: one slot each, in memory that they
// share. Internal to the node ledger (node_ledger.h), which has the lock and the mapping.
//
// A slot is written by its owner; only slots of processes that have gone are cleared by others.
// Whatever is written can be cut off after any word (SIGKILL): a slot counts only when its state
// word, written last, names the generation that all its parts are made for, and what a worker holds
// is kept twice, each copy with a checksum; a half-written copy is no copy, and the other one, of
// before the change, counts.
//
// Two rules keep that safe without trusting anybody's last words. Taking more is decided from the
// sum over all slots and therefore needs the lock; holding less is true at any time and needs none.
#pragma once

#include <array>
#include <vector>

#include "lib/base/clock.h"
#include "lib/exec/node/node_member.h"

namespace torc::exec {

// The shared memory, in words of 64 bits. Each load and store is whole, stores are seen in order.
class WordMemory {
 public:
  virtual ~WordMemory() = default;
  [[nodiscard]] virtual std::uint64_t load(std::size_t word) const = 0;
  virtual void store(std::size_t word, std::uint64_t value) = 0;
  // Makes a range usable before it is touched; false: there is no room.
  virtual bool reserve(std::size_t first, std::size_t words) = 0;
};

using NodeSums = std::array<std::uint64_t, NodeMember::kMostSums>;

// What one worker holds.
struct NodeHolding {
  CpuSet cpus;
  std::uint32_t own_cpus = 0;  // of NodeMember::own_cpus
  ByteCount memory;            // own memory not counted
  ByteCount own_memory;
  std::uint64_t gpus = 0;    // bit i: NodeMember::gpus[i], also of what is no GPU
  NodeSums sums{};           // of NodeMember::sums, thousandths
  BootTime waiting_since{};  // for more than this; 0: it does not wait
  [[nodiscard]] std::uint32_t cpu_count() const;
  bool operator==(const NodeHolding&) const = default;
};

struct NodeEntry {
  std::size_t slot = 0;
  std::uint64_t generation = 0;
  NodeMember member;
  NodeHolding holding;
};

struct NodeAmount {
  std::uint32_t cpus = 0;
  ByteCount memory;
  std::uint32_t gpus = 0;  // and whatever else is handed out by the piece
  NodeSums sums{};
};

// What `member` could hold beyond `holding`, at most `want`, while the others hold what they do. A
// pure function. CPUs are taken where the fewest others could use them.
[[nodiscard]] NodeHolding add_free(const NodeMember& member, NodeHolding holding,
                                   const NodeAmount& want, const std::vector<NodeEntry>& others);

class NodeTable {
 public:
  static constexpr std::size_t kSlots = 256;
  static constexpr std::size_t kSlotWords = 1024;
  static constexpr std::size_t kWords = (kSlots + 1) * kSlotWords;
  // Written from outside of this class by whoever wants to wake the others, never read.
  static constexpr std::size_t kBellWord = 8;

  explicit NodeTable(WordMemory& memory) : memory_(memory) {}

  // With the lock. Makes the table usable, anew if it is damaged (all entries are gone then, and
  // their owners enter again); false: there is no room. `now` makes generations differ from those
  // of before.
  bool prepare(BootTime now);
  // With the lock. A new slot; nullopt: none is left, or no room.
  std::optional<NodeEntry> enter(const NodeMember& member, const NodeHolding& holding);
  // With the lock, or by the owner. Nothing when the slot is another's by now.
  void clear(std::size_t slot, std::uint64_t generation);

  // By the owner; with the lock if it holds more than before.
  void write(const NodeEntry& entry, std::uint64_t& sequence);
  [[nodiscard]] bool is_there(const NodeEntry& entry) const;
  // Whether others can read what it holds.
  [[nodiscard]] bool is_whole(const NodeEntry& entry) const;

  // Every slot in use but `except` (a slot number). With the lock they are complete; without, one
  // that is being written at the moment can be missing.
  [[nodiscard]] std::vector<NodeEntry> read(std::size_t except = kSlots) const;

  // When something was given back while others waited; for their order.
  [[nodiscard]] BootTime released_at() const;
  void set_released_at(BootTime at);

 private:
  [[nodiscard]] std::optional<NodeMember> read_member(std::size_t slot,
                                                      std::uint64_t generation) const;
  [[nodiscard]] std::optional<NodeHolding> read_holding(std::size_t slot,
                                                        std::uint64_t generation) const;
  [[nodiscard]] std::size_t used() const;

  // What a generation says of itself never changes.
  struct Known {
    std::uint64_t generation = 0;
    std::optional<NodeMember> member;
  };
  WordMemory& memory_;
  mutable std::vector<Known> known_;
};

}  // namespace torc::exec
