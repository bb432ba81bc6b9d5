// Jobs of several nodes: who is part of what, which nodes each group has, and what it keeps them
// for. Read without changing anything. Where no job needs several nodes all of it is empty.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/claim/rules/gang.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class State;

// As in Answer::gang: for one that has nothing to say for a while. Error corrupt: what its lease
// names cannot be read, or does not name it.
Result<std::optional<GangPart>> read_gang(const Reader& reader, WorkerEpoch worker);
// The same of a gang that was read.
[[nodiscard]] GangPart part_in(State& state, const Gang& gang, std::uint32_t rank);
// The gangs of the attempts of a job that have members left, the newest last: all but the last one
// are over.
[[nodiscard]] std::vector<Gang> read_gangs(const Reader& reader, JobId job);
// All of them. Error corrupt: one cannot be read.
Result<void> scan_gangs(const Reader& reader, const std::function<bool(const Gang&)>& visit);

// For whoever commits what is no exchange (an exchange answers it: Answer::concerned): to be asked
// at the end of the body, in the transaction. The members of the gangs that it changed, which are
// to be rung once it is committed: they have to end what they run of an attempt that is over. Costs
// one look at each gang that there is. What expire_worker() and release_worker(), the changes of
// live.h and reset.h do to gangs is all seen by it.
[[nodiscard]] std::vector<WorkerEpoch> concerned_by(const Transaction& tx);

// What a group keeps nodes for.
struct Reservation {
  JobId job{};
  std::uint32_t nodes = 0;
  std::optional<WallTime> until;  // when they are expected to be free; nullopt: nobody knows
};
// How a group of workers stands to jobs of a class.
struct GroupNodes {
  std::string group;
  std::uint64_t nodes = 0;    // of live workers, each name once
  std::uint64_t fitting = 0;  // that could be part of such a job
  std::uint64_t free = 0;     // of these: offered
  std::optional<Reservation> keeps;
};
// By group, in no order that means anything. `now` as for whole_offer(). A look at each live worker
// of a group. Error corrupt: a record cannot be read.
Result<std::vector<GroupNodes>> groups_for(const Reader& reader, const JobClass& job_class,
                                           WallTime now);
// For what the worker's node is kept, as it was told in its newest exchange; nullopt: it is not.
[[nodiscard]] std::optional<Reservation> reservation_on(const Reader& reader, WorkerEpoch worker);

}  // namespace torc::claim
