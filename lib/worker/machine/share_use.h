// What a worker has of its node now, and what its jobs use of that: CPUs, memory, GPUs, and which
// CPUs the jobs have that are bound to theirs. A value; it asks nobody for more (node_share.h).
//
// Jobs may use more than there is: what they run on can be lost while they run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/exec/node/node_table.h"

namespace torc::worker {

class ShareUse {
 public:
  ShareUse() = default;
  // The first 64 of `gpus`, by name, count.
  ShareUse(exec::NodeHolding has, std::vector<std::string> gpus)
      : has_(has), gpu_names_(std::move(gpus)) {
    if (gpu_names_.size() > exec::NodeMember::kMostGpus)
      gpu_names_.resize(exec::NodeMember::kMostGpus);
  }

  // Of what it has, in use by no job.
  [[nodiscard]] exec::NodeAmount free() const { return free_of(has_); }
  // What that would be if it had `other` instead.
  [[nodiscard]] exec::NodeAmount free_of(const exec::NodeHolding& other) const;
  [[nodiscard]] bool fits(const claim::Requirement& need) const;
  // What it would have to get to have `most`.
  [[nodiscard]] exec::NodeAmount lacking(const exec::NodeAmount& most) const;
  // In use or not.
  [[nodiscard]] std::uint32_t cpus() const { return has_.cpu_count(); }
  [[nodiscard]] ByteCount memory() const { return has_.memory + has_.own_memory; }
  [[nodiscard]] std::uint32_t gpus() const;
  [[nodiscard]] std::uint32_t used_cpus() const { return used_.cpus; }
  // It uses more than it has.
  [[nodiscard]] bool is_overdrawn() const { return used_.cpus > cpus(); }

  // Names of the GPUs that the job gets. Precondition: fits(), unless resources are ignored.
  std::vector<std::string> take(const claim::Requirement& need);
  void put_back(const claim::Requirement& need, const std::vector<std::string>& gpus);

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
    std::uint64_t gpus = 0;
  };

  exec::NodeHolding has_;
  std::vector<std::string> gpu_names_;
  Used used_;
  exec::CpuSet pinned_;
};

}  // namespace torc::worker
