// Ready jobs that nobody who is at work could ever run, as `torc status` shows them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/report/situation.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// Ready jobs of a class that no worker that is at work could ever take, nor those of a group.
struct Unserved {
  std::string name;  // of the first of them
  std::uint64_t jobs = 0;
  claim::JobClass job_class;
  std::uint8_t lacks = 0;   // claim::mismatch: what keeps all workers from it, else each
  bool allocation = false;  // one waits whose workers may take them
};

struct AtWork {
  const claim::WorkerInfo* info = nullptr;  // of the situation
  claim::Offer offer;                       // all that it has
};
[[nodiscard]] std::vector<AtWork> workers_at_work(const report::Situation& situation, WallTime now);
// Whether these could ever run such a job: one of them, or as many nodes of one group as it needs,
// whatever they do now.
[[nodiscard]] bool is_served(const claim::JobClass& c, const std::vector<AtWork>& workers);

// Adds at most `most` of them to `found`; none while nobody is at work. Error corrupt: a record of
// them cannot be read.
Result<void> find_unserved(const claim::Reader& reader, WallTime now,
                           const report::Situation& situation, std::size_t most,
                           workflow::RecipeBook& book, std::vector<Unserved>& found);

// As a person asks for it: "64 CPUs, 1 GiB, scheduler 'big'".
[[nodiscard]] std::string show_need(const claim::JobClass& c);
// "a worker with as many CPUs, as much time left"
[[nodiscard]] std::string show_lacks(const Unserved& unserved);

}  // namespace torc::cli
