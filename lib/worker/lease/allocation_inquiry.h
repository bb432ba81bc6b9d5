// Asks Slurm about allocations beside the thread that asks: slurmctld can take its time, and
// whoever waits for it renews no lease.
#pragma once

#include <memory>
#include <vector>

#include "lib/slurm/query.h"

namespace torc::worker {

// As who keeps a lease needs it. One thread uses it.
class SlurmInquiry {
 public:
  using Answer = slurm::AllocationAnswer;

  virtual ~SlurmInquiry() = default;
  [[nodiscard]] virtual bool possible() const = 0;
  // Precondition: possible().
  virtual void ask(std::vector<slurm::Allocation> allocations) = 0;
  // Readable when the answer is there; -1: somebody else says so.
  [[nodiscard]] virtual int fd() const = 0;
  // The answer, once, with each allocation that was asked for; empty as long as there is none.
  [[nodiscard]] virtual Answer take() = 0;
};

// An inquiry under way is not waited for at the end: it ends by itself, or with
// the process.
class AllocationInquiry final : public SlurmInquiry {
 public:
  explicit AllocationInquiry(slurm::RunProgram run_program);  // an empty one: there is no Slurm
  ~AllocationInquiry() override;
  AllocationInquiry(const AllocationInquiry&) = delete;
  AllocationInquiry& operator=(const AllocationInquiry&) = delete;

  [[nodiscard]] bool possible() const override { return run_program_ && !under_way_; }
  void ask(std::vector<slurm::Allocation> allocations) override;
  [[nodiscard]] int fd() const override;
  [[nodiscard]] Answer take() override;

 private:
  struct Shared;
  slurm::RunProgram run_program_;
  std::shared_ptr<Shared> shared_;
  bool under_way_ = false;
};

}  // namespace torc::worker
