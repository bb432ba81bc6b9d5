// Asks Slurm about allocations beside the thread that asks: slurmctld can take its time, and
// whoever waits for it renews no lease.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "lib/slurm/query.h"

namespace torc::worker {

// One thread uses it. An inquiry under way is not waited for at the end: it ends by itself, or with
// the process.
class AllocationInquiry {
 public:
  using States = std::map<slurm::Allocation, slurm::AllocationState>;

  explicit AllocationInquiry(slurm::RunProgram run_program);  // an empty one: there is no Slurm
  ~AllocationInquiry();
  AllocationInquiry(const AllocationInquiry&) = delete;
  AllocationInquiry& operator=(const AllocationInquiry&) = delete;

  [[nodiscard]] bool possible() const { return run_program_ && !under_way_; }
  // Precondition: possible().
  void ask(std::vector<slurm::Allocation> allocations);
  // Readable when the answer is there.
  [[nodiscard]] int fd() const;
  // The answer, once; empty as long as there is none.
  [[nodiscard]] States take();

 private:
  struct Shared;
  slurm::RunProgram run_program_;
  std::shared_ptr<Shared> shared_;
  bool under_way_ = false;
};

}  // namespace torc::worker
