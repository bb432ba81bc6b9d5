// How many allocations the jobs of a workflow need, and which of those that wait are not needed any
// more: pure.
//
// The rule. Jobs are laid into what is there, the widest and then the longest first: into
// allocations that run, then into those that wait, each as nodes by time. What a job takes of a
// node is its largest share of what the node has; it fits only where as much time is left as it
// must have. For jobs that fit nowhere one allocation is asked for however little fills it, since
// else they would never run: it ends itself when they have ended. For what is left over then
// further ones are asked for, one by one, as long as what is left over fills each to
// `min_utilization` of its nodes by its walltime. What no job was laid into, and waits, is surplus;
// what a person or an action asked for only when nothing at all is left that could run there.
//
// This is first fit decreasing for bins of unequal size (Johnson 1973), in which jobs of one class
// are laid as a quantity, not one by one: its cost is classes times allocations.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/claim/rules/allocation.h"
#include "lib/claim/rules/plan.h"

namespace torc::claim {

struct WorkLeft {
  JobClass job_class;       // with the runtime that is expected
  std::uint64_t ready = 0;  // jobs that could start now
  std::uint64_t held = 0;   // that workers have
  std::uint64_t soon = 0;   // that wait only for such
  std::uint64_t later = 0;  // that wait for others
  [[nodiscard]] std::uint64_t all() const { return ready + held + soon + later; }
};

// Where jobs can run, or will.
struct Place {
  std::uint32_t allocation = 0;  // its number; 0: workers of no allocation of the ledger
  std::uint32_t scheduler = 0;   // its number; 0: of none
  std::string scheduler_name;
  std::string labels;
  bool any_binding = false;
  bool waits = false;            // it does not run yet
  bool is_asked_for = false;     // by a person or an action: not as jobs need it
  bool has_limit = false;        // of time
  std::chrono::seconds left{0};  // for jobs, of that limit
  std::uint32_t nodes = 1;
  Resources node = no_resources();  // cpus 0: not known
};

struct DemandInput {
  std::vector<Scheduler> schedulers;  // by number, from 1
  std::vector<WorkLeft> work;
  std::vector<Place> places;
  // By scheduler, from 0: what its allocations were granted so far, live ones with their whole
  // walltime.
  std::vector<double> core_hours;
  std::vector<double> node_hours;
  // By scheduler, from 0: what jobs have of a whole allocation's time; not there: all of it.
  std::vector<std::chrono::seconds> usable;
  bool is_over = false;  // nothing more will be claimed
};

struct Ask {
  std::uint32_t scheduler = 0;  // number
  std::uint32_t allocations = 0;
  std::string why;  // a clause
  bool operator==(const Ask&) const = default;
};
// Of classes that no scheduler's allocation could ever run.
struct Stranded {
  std::uint32_t work = 0;  // its position in the input
  bool operator==(const Stranded&) const = default;
};
struct Demand {
  std::vector<Ask> ask;                // in this order; a scheduler may be there more than once
  std::vector<std::uint32_t> surplus;  // numbers of allocations that wait, ascending
  std::vector<Stranded> stranded;      // nothing of what runs or waits fits them, either
};

[[nodiscard]] Demand demand_of(const DemandInput& input);

// How many jobs of the class fit beside each other on `nodes` such nodes, in `left`, one after the
// other in each slot; 0: none ever does. A node of which nothing is known has room for one job.
// UINT64_MAX: as many as you like.
[[nodiscard]] std::uint64_t slots_on(const JobClass& job_class, const Resources& node,
                                     std::uint32_t nodes);

}  // namespace torc::claim
