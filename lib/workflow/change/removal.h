// Jobs that a person takes out of the workflow, as if its file had them no more, and puts back.
#pragma once

#include <cstdint>

#include "lib/base/result.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/live.h"

namespace torc::workflow {

enum class Dependents : std::uint8_t {
  refuse,  // Error invalid where there are some: they would wait for ever
  remove   // with the jobs named
};

// One transaction each. The change counts the jobs by what they were before; `ending` of them a
// worker has. Jobs that were taken out before are left alone, and counted so.
Result<claim::Change> take_out(claim::Transaction& tx, claim::JobRanges named,
                               Dependents dependents, claim::Origin origin);

struct PutBack {
  claim::Change change;
  std::uint64_t failed = 0;  // of these: they had failed, and have again
};
// And what they wait for, which would else never be there.
Result<PutBack> put_back(claim::Transaction& tx, claim::JobRanges named, claim::Origin origin);

}  // namespace torc::workflow
