// Who waits for work: the live workers with a bell that got less than they asked for, or have not
// asked yet. The cost does not depend on how many workers there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

struct IdleWorker {
  WorkerEpoch epoch{};
  BellPlace bell;
  std::string boot_id;  // of its host
};

// Which of them are looked for.
struct IdleSearch {
  WorkerEpoch self{};      // not this one
  std::size_t most = 0;    // so many
  std::uint64_t turn = 0;  // where in their ring the search begins: another number, others first
  bool for_ready_jobs = true;  // only those that could run one of the jobs that are ready
  WallTime now{};
};

// At most four entries and a few more are looked at for each of `most`, so that those who could run
// nothing of what is ready may hide somebody who could. Error corrupt: a record cannot be read.
Result<std::vector<IdleWorker>> find_idle_workers(const Reader& reader, const IdleSearch& search);

}  // namespace torc::claim
