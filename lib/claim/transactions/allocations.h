// What is done to the ledger of allocations (rules/allocation.h), each in a transaction of its
// caller.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/allocation.h"
#include "lib/claim/rules/demand.h"
#include "lib/claim/tables/allocation_record.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// Notes that the caller begins a pass over the ledger, unless somebody has since it saw `passes`.
// False: nothing was changed, and it is somebody else's turn.
// `by_last`: by a worker that leaves as the last one.
Result<bool> begin_pass(Transaction& tx, std::uint64_t passes, WallTime now, bool by_last = false);

// A command asks what the queue says, and makes no pass of it. False: nothing was changed, since
// somebody has asked since it saw `looked_at`.
Result<bool> begin_look(Transaction& tx, WallTime looked_at, WallTime now);
// The batch system has given a whole answer.
Result<void> note_answer(Transaction& tx, WallTime now);

struct Wish {
  std::uint32_t scheduler = 0;
  std::uint32_t count = 1;
  AskedBy by = AskedBy::person;
  std::string who = {};
  std::string why = {};
  std::uint32_t max_parallel_jobs = 0;
};
// Allocations of the scheduler are wanted: their numbers. A person's wish begins anew what had
// stopped. Error invalid: there is no such scheduler, or the ledger is full.
Result<std::vector<std::uint32_t>> want(Transaction& tx, const Wish& wish, WallTime now);

// The next try at a wanted one begins: its record with the number of the try. nullopt: it may not
// (may_submit()), somebody has begun it, or there is none.
Result<std::optional<Allocation>> begin_submission(Transaction& tx, std::uint32_t number,
                                                   const Submitter& by, WallTime now);
// What came of a try. The id of what is to be canceled, since another one is the allocation; empty:
// none.
Result<std::string> end_submission(Transaction& tx, std::uint32_t number, std::uint32_t attempt,
                                   const AttemptEnd& end, WallTime now);

// What the batch system lists of allocations, by number: those of `looks`. The ids that are to be
// canceled, since nobody knows them.
Result<std::vector<std::string>> note_looks(Transaction& tx,
                                            const std::map<std::uint32_t, Look>& looks,
                                            WallTime now);

// What the jobs need: further allocations are wanted, those that are wanted and not needed are
// withdrawn, those that wait and are not needed marked. What was reckoned on an older state asks
// for no more than the terms of the scheduler allow now. The ids of all that are marked, and live;
// with a cluster: of that one, and of those whose cluster is not known.
Result<std::vector<std::string>> note_demand(Transaction& tx, const Demand& demand,
                                             const std::string& who, WallTime now,
                                             const std::string& cluster = {});
// These are not to be, on a person's word. As note_demand().
Result<std::vector<std::string>> cancel_allocations(Transaction& tx,
                                                    const std::vector<std::uint32_t>& numbers,
                                                    WallTime now, const std::string& cluster = {});

// Those of a store that this one was copied from: the other one sees to them.
Result<void> disown_allocations(Transaction& tx, const std::vector<std::uint32_t>& numbers,
                                WallTime now);

// A worker of an allocation that was submitted as that try registers.
struct Binding {
  IntentName intent;
  std::string cluster = {};
  std::string id = {};
  WallTime start{};
  Resources node = no_resources();  // what a node has there; cpus 0: not known
};
// An intent that the ledger does not know is none of its business: yes. What a node has is learned,
// where nobody knew.
Result<Admission> bind_allocation(Transaction& tx, const Binding& binding, WallTime now);

// A worker leaves that node, since it can run no jobs there. False: it was noted, or as many are as
// are kept.
Result<bool> note_left_node(Transaction& tx, const LeftNode& left);
// On a person's word. False: it was not among them.
Result<bool> readmit_node(Transaction& tx, std::string_view node);

// Whether allocations of these schedulers are asked for as jobs need them; a person's word, which
// also begins anew what had stopped. What there is to work in where nobody said so.
Result<void> manage(Transaction& tx, std::uint32_t scheduler, bool is_managed);
// They are not, whatever a newer version of the workflow file says, until manage().
Result<void> tell_off(Transaction& tx, std::uint32_t scheduler);

}  // namespace torc::claim
