// Allocations that a workflow asks for: each is a record, from the wish for it to its end. Values,
// and the rules by which one becomes the next: pure.
//
//   wanted -> intent -> queued -> running -> ended
//
// Before anything is submitted the record says so, with a name that no other try has (the intent).
// Whoever submits may die, freeze or never hear an answer: then that name is looked for, and only
// when it is certainly not there is the allocation wanted again, under another name. A try that was
// frozen for longer and acts then gets an allocation that nobody knows: its workers ask the ledger
// before anything else (bind()), are told that it is another try's, and leave. So one intent has at
// most one allocation that works, whatever happens to who submits it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/allocate_terms.h"
#include "lib/base/clock.h"
#include "lib/base/resources.h"

namespace torc::claim {

enum class AllocationStage : std::uint8_t {
  wanted,   // to be submitted, by whoever may
  intent,   // somebody submits it, or did: whether it is there is not known
  queued,   // the batch system has it, and said its id
  running,  // it has nodes
  ended
};
inline constexpr AllocationStage kLastAllocationStage = AllocationStage::ended;
[[nodiscard]] std::string_view to_string(AllocationStage stage);

enum class AllocationEnd : std::uint8_t {
  none,
  withdrawn,  // not needed any more before it was submitted
  refused,    // by the batch system, for good
  canceled,   // while it waited, or by somebody's word
  over,       // it ran, and has ended
  failed,     // it ended by a failure: of a node, or of its script
  lost        // the batch system has it no longer, and nobody says how it ended
};
inline constexpr AllocationEnd kLastAllocationEnd = AllocationEnd::lost;
[[nodiscard]] std::string_view to_string(AllocationEnd end);

// On whose word it was asked for.
enum class AskedBy : std::uint8_t { demand, action, person };
[[nodiscard]] std::string_view to_string(AskedBy by);

// Who begins a try.
struct Submitter {
  std::string who = {};             // for people
  std::string mark = {};            // of the store that submits, see intent_name()
  std::string cluster = {};         // that it is sent to; empty: not known
  std::uint32_t user = UINT32_MAX;  // uid; UINT32_MAX: not known
};

struct Allocation {
  AllocationStage stage = AllocationStage::wanted;
  std::uint32_t scheduler = 0;  // its number, from 1
  AskedBy by = AskedBy::demand;
  std::uint32_t action = 0;  // by == action: its number
  std::string who = {};      // user and host of who decided; for people
  std::string why = {};      // one clause; for people
  std::uint32_t nodes = 1;
  std::chrono::seconds walltime{0};     // 0: no limit, or not known
  std::uint32_t max_parallel_jobs = 0;  // of each of its workers; 0: by resources
  WallTime wanted_at{};
  WallTime submitted_at{};  // the newest try began
  WallTime started_at{};    // 0: not, or not known, as below
  WallTime ends_at{};       // of one that runs: of its time
  WallTime ended_at{};
  std::uint32_t tries = 0;     // submissions begun; the newest one's name has this number
  std::string submitter = {};  // who does, or did, the newest one
  std::string mark = {};       // of the store that did: a copy of it has another one
  // uid of who did: nobody else sees it in the queue, or may cancel it; UINT32_MAX: not known.
  std::uint32_t user = UINT32_MAX;
  std::uint32_t absent = 0;   // whole answers in a row in which it was not
  WallTime absent_since{};    // of the first of these
  std::string cluster = {};   // whose id it is
  std::string id = {};        // of the batch system; empty: not known
  std::string state = {};     // the batch system's word
  std::string reason = {};    // of one that waits
  WallTime expected_start{};  // of one that waits; 0: not told
  bool is_surplus = false;    // it is to be canceled: nothing needs it any more
  AllocationEnd end = AllocationEnd::none;
  std::string said = {};           // what the batch system said when it was last submitted
  std::uint64_t core_seconds = 0;  // granted, by what its workers told: CPUs by its time
  std::uint32_t cpus = 0;          // of all of its nodes, as its workers told; 0: not known
  // By attempts that ended, of those of its workers that have left.
  std::uint64_t used_core_ms = 0;
  bool operator==(const Allocation&) const = default;
};
[[nodiscard]] constexpr bool is_live(const Allocation& a) {
  return a.stage != AllocationStage::ended;
}
// It has, or may have, something at the batch system.
[[nodiscard]] constexpr bool may_be_there(const Allocation& a) {
  return a.stage == AllocationStage::intent || a.stage == AllocationStage::queued ||
         a.stage == AllocationStage::running;
}

// A scheduler of the workflow file, and how asking for its allocations goes.
struct Scheduler {
  std::string name;
  std::string script;                // the file of its batch script, below the store
  std::string job_name;              // that its script gives to the batch system
  bool serialize = false;            // one after the other: they share that name
  std::uint32_t nodes = 1;           // of an allocation
  std::chrono::seconds walltime{0};  // 0: no limit
  // What jobs may have of each node; cpus 0: not known.
  Resources node = no_resources();
  AllocateTerms terms;
  bool from_login = false;  // its allocations are submitted where people log in
  bool is_managed = false;  // allocations are asked for as jobs need them
  // From here on what happens to it:
  std::string stopped = {};    // why nothing is submitted any more; empty: it is
  std::uint32_t failures = 0;  // submissions in a row that may work later
  WallTime not_before{};       // the next try
  std::string said = {};       // of the newest of these
  bool not_from_here = false;  // compute nodes may not submit: the batch system said so
  bool is_told_off = false;    // a person stopped the asking, which no file begins again
  bool operator==(const Scheduler&) const = default;
};
// A person's word begins anew what had stopped.
[[nodiscard]] Scheduler restarted(Scheduler scheduler);
// As a newer version of the file has it; what has happened to it stays with it.
[[nodiscard]] Scheduler taken_over(const Scheduler& before, Scheduler now);

// 1, 2, 4, … 30 minutes.
[[nodiscard]] std::chrono::seconds pause_after(std::uint32_t failures);

// The name of a try; `mark` tells stores apart that call their schedulers alike.
[[nodiscard]] std::string intent_name(std::string_view job_name, std::string_view mark,
                                      std::uint32_t number, std::uint32_t attempt);
// The names of its newest tries, as many as are looked for.
inline constexpr std::uint32_t kTriesLookedFor = 5;
[[nodiscard]] std::vector<std::string> intent_names(const Scheduler& scheduler,
                                                    std::uint32_t number,
                                                    const Allocation& allocation);
struct IntentName {
  std::uint32_t number = 0;
  std::uint32_t attempt = 0;
  bool operator==(const IntentName&) const = default;
};
// Of a name with that mark; nullopt: it is none.
[[nodiscard]] std::optional<IntentName> read_intent_name(std::string_view name,
                                                         std::string_view mark);

// --- submission ---

// What came of a try. As lib/launcher tells it.
enum class Attempted : std::uint8_t { accepted, refused, later, unclear };
struct AttemptEnd {
  Attempted what = Attempted::unclear;
  bool not_from_here = false;  // of `refused`: this host may not submit
  std::string cluster = {};
  std::string id = {};
  std::string said = {};  // one line, for people
};

// Whether a try may begin: it is wanted, not to be canceled, and its scheduler goes on.
[[nodiscard]] bool may_submit(const Allocation& allocation, const Scheduler& scheduler,
                              WallTime now);
[[nodiscard]] Allocation begun(Allocation allocation, Submitter by, WallTime now);
// Both of them after the try with that number. Whichever try was accepted first is the allocation;
// other answers to older ones change nothing.
struct AfterTry {
  Allocation allocation;
  Scheduler scheduler;
  std::string surplus =
      {};  // the id of what the try brought, where another one has: to be canceled
};
[[nodiscard]] AfterTry after_try(Allocation allocation, Scheduler scheduler, std::uint32_t attempt,
                                 const AttemptEnd& end, WallTime now);

// --- what the batch system lists ---

// One row that is of this allocation, by its id or by the name of one of its tries.
struct Seen {
  enum class As : std::uint8_t { waits, runs, over, other };
  As as = As::other;
  std::uint32_t attempt = 0;  // of its name; 0: known by its id alone
  std::string cluster;
  std::string id;
  std::string state;
  std::string reason;
  WallTime submitted{};
  WallTime start{};
  WallTime end{};
};
// An answer, as far as it is about this allocation.
struct Look {
  std::vector<Seen> rows;
  bool whole = false;       // all that the queue has was listed
  bool accounting = false;  // and all that the accounting has
};
struct AfterLook {
  Allocation allocation;
  std::vector<std::string> surplus;  // ids that another try brought: to be canceled
};
// What is not there must not have been seen so often in a row, and for so long (longer where there
// is no accounting that would know it), before an intent is wanted again, and another allocation is
// lost. An sbatch is killed after a minute. What is taken for lost and is listed again lives again,
// and so does that whose workers bind. What should have ended by its time is not waited for so
// long.
inline constexpr std::uint32_t kAbsentLooks = 3;
inline constexpr std::chrono::minutes kAbsentFor{3};
inline constexpr std::chrono::minutes kIntentAbsentFor{10};  // without an accounting
inline constexpr std::chrono::minutes kLostAfter{30};        // the same
[[nodiscard]] AfterLook after_look(Allocation allocation, const Look& look, WallTime now);

// --- its workers ---

// A worker of the allocation with this id says that it was submitted as that try, and how many CPUs
// its node has (0: it does not say).
enum class Admission : std::uint8_t {
  yes,
  surplus,  // the allocation is another one, or is not to be: the worker leaves
};
struct AfterBinding {
  Allocation allocation;
  Admission admission = Admission::yes;
};
[[nodiscard]] AfterBinding after_binding(Allocation allocation, std::uint32_t attempt,
                                         std::string_view cluster, std::string_view id,
                                         WallTime start, WallTime now, std::uint32_t node_cpus = 0);

}  // namespace torc::claim
