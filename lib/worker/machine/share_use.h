// What a worker has of its node now, and what its jobs use of that: CPUs, memory, GPUs, what has a
// name, and which CPUs the jobs have that are bound to theirs. A value; it asks nobody for more
// (node_share.h).
//
// Jobs may use more than there is: what they run on can be lost while they run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/room.h"
#include "lib/exec/node/node_table.h"

namespace torc::worker {

// What is handed out on a node by the piece: GPUs first, then what else there is, in the order of
// NodeMember::gpus. The first 64 count.
struct Pieces {
  std::vector<std::string> gpus;            // names
  std::vector<std::string> gpu_kinds = {};  // "gpus/a100" of each of them; none: not known
  std::vector<exec::MachinePiece> others = {};
  std::vector<std::uint32_t> gpu_groups = {};  // of each of `gpus`, see MachinePiece; none: of none
};

class ShareUse {
 public:
  ShareUse() = default;
  ShareUse(exec::NodeHolding has, const Pieces& pieces, Amounts sums = {});

  // What nobody uses.
  struct Free {
    std::uint32_t cpus = 0;
    ByteCount memory;
    std::uint32_t gpus = 0;    // whole ones
    std::uint64_t pieces = 0;  // bits, of whole ones, GPUs or not
    exec::NodeSums sums{};
  };
  // Of what it has, in use by no job.
  [[nodiscard]] Free free() const { return free_of(has_); }
  // What that would be if it had `other` instead.
  [[nodiscard]] Free free_of(const exec::NodeHolding& other) const;
  [[nodiscard]] bool fits(const claim::Requirement& need) const;
  // Whether it would if only that were free.
  [[nodiscard]] bool fits_in(const claim::Requirement& need, const Free& free) const;
  // As the claims count: what is free, and what there is, of what has a name.
  [[nodiscard]] Amounts named_free() const;
  [[nodiscard]] const Amounts& named_total() const { return named_; }
  // Empty where GPUs are all that is handed out by the piece, all alike, of no group and none of
  // them shared.
  [[nodiscard]] std::vector<claim::Piece> pieces() const;
  // What it would have to get to have `most`.
  [[nodiscard]] exec::NodeAmount lacking(const exec::NodeAmount& most) const;
  // In use or not.
  [[nodiscard]] std::uint32_t cpus() const { return has_.cpu_count(); }
  [[nodiscard]] ByteCount memory() const { return has_.memory + has_.own_memory; }
  [[nodiscard]] std::uint32_t piece_count() const;  // GPUs and others
  [[nodiscard]] std::uint32_t used_cpus() const { return used_.cpus; }
  // It uses more than it has.
  [[nodiscard]] bool is_overdrawn() const { return used_.cpus > cpus(); }

  // The pieces that the job gets. Precondition: fits(), unless resources are ignored.
  std::vector<claim::PieceUse> take(const claim::Requirement& need);
  // All that is free, which `all` is made to say.
  std::vector<claim::PieceUse> take_all(claim::Requirement& all);
  void put_back(const claim::Requirement& need, const std::vector<claim::PieceUse>& pieces);
  // Those for a job, out of pieces that were taken.
  [[nodiscard]] std::vector<claim::PieceUse> pick(const claim::Requirement& need,
                                                  const std::vector<claim::PieceUse>& from) const;
  // By which a job knows them.
  [[nodiscard]] std::vector<std::string> gpus_in(const std::vector<claim::PieceUse>& pieces) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> named_in(
      const claim::Requirement& need, const std::vector<claim::PieceUse>& pieces) const;

  // Which CPUs, for jobs that are bound to theirs. Pinned ones are kept as long as they are.
  // Without a ledger a worker has so many CPUs, and none by number.
  [[nodiscard]] exec::CpuSet unpinned_cpus() const { return has_.cpus - pinned_; }
  void pin(const exec::CpuSet& cpus) { pinned_ = pinned_ | cpus; }
  void unpin(const exec::CpuSet& cpus) { pinned_ = pinned_ - cpus; }

  [[nodiscard]] const exec::NodeHolding& holding() const { return has_; }
  void now_has(const exec::NodeHolding& holding) { has_ = holding; }
  // The part that jobs use, as the ledger counts: what must be kept.
  [[nodiscard]] exec::NodeHolding in_use() const;

 private:
  struct Used {
    std::uint32_t cpus = 0;
    ByteCount memory;
    std::uint64_t pieces = 0;  // bits, wholly or in part
    exec::NodeSums sums{};
  };
  [[nodiscard]] std::vector<claim::Piece> pieces_of(std::uint64_t whole, bool with_shared) const;
  [[nodiscard]] claim::Room room_of(const Free& free, bool with_shared) const;
  [[nodiscard]] std::uint64_t amount_of(const Amount& need, std::size_t sum) const;

  exec::NodeHolding has_;
  std::vector<std::string> names_;  // of the pieces
  std::vector<std::string> kinds_;
  std::vector<std::uint32_t> groups_;
  std::size_t gpus_ = 0;  // so many of them, the first ones
  bool plain_ = true;     // no piece has a type or a group, or is something else than a GPU
  std::vector<std::uint32_t>
      shared_;     // thousandths in use of each piece that is shared; empty: none
  Amounts sums_;   // in the order of NodeMember::sums
  Amounts named_;  // all that has a name
  Used used_;
  exec::CpuSet pinned_;
};

}  // namespace torc::worker
