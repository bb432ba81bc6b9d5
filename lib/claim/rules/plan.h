// What a workflow is to the claims: templates, resource classes, dependency sets. Made once from
// the expanded spec, written by the first commit of a store. Everything here is compact: a sweep of
// a million jobs is one Template, one JobClass and one Span.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/hash.h"
#include "lib/base/job_terms.h"
#include "lib/base/resources.h"
#include "lib/base/units.h"
#include "lib/claim/rules/action.h"
#include "lib/claim/rules/allocation.h"
#include "lib/claim/rules/handler.h"

namespace torc::claim {

// Per node, as the spec says.
using Requirement = Resources;

// How much of a limit each job has that is claimed or runs.
struct LimitShare {
  std::uint32_t number = 0;  // position in Plan::limits + 1
  std::uint32_t amount = 1;  // at least 1
  auto operator<=>(const LimitShare&) const = default;
};

// What a job may have in place of its first alternative (`one_of` of the language).
struct Alternative {
  Requirement need;
  std::uint32_t weight = 0;  // JobClass::weight
  auto operator<=>(const Alternative&) const = default;
};
inline constexpr std::size_t kMostAlternatives = 16;

// One combination of everything that decides who may run a job. Jobs of one class share one ready
// queue.
//
// Where a class has alternatives, a claim takes one for each job, by which the job's newest attempt
// is reckoned with (Job::alternative). They are numbered from 0 as the workflow file has them; 0 is
// `need`, by which the jobs are also sorted. None is of several nodes.
struct JobClass {
  Requirement need;
  std::string scheduler;                // empty: any worker
  std::string labels;                   // that a worker must have, as lib/base/labels.h writes them
  std::vector<LimitShare> limits = {};  // ascending by number, each once
  Alone alone = Alone::no;              // of suspects, see Suspicion
  // First job of the template whose measured times count in place of need.runtime
  // (learned_time.h); 0: none do.
  std::uint64_t learns_from = 0;
  // The alternatives from 1 on, fewer than kMostAlternatives; none for most classes.
  std::vector<Alternative> others = {};
  std::uint32_t weight = 0;  // of `need`, among them: the heaviest that fits is taken
  auto operator<=>(const JobClass&) const = default;

  [[nodiscard]] std::uint32_t alternatives() const {
    return static_cast<std::uint32_t>(others.size()) + 1;
  }
  // Of a number that it does not have (any more): `need`.
  [[nodiscard]] const Requirement& need_of(std::uint32_t alternative) const;
  [[nodiscard]] Requirement& need_of(std::uint32_t alternative);
  // The class as it is for a job that has this alternative, which is its only one then.
  [[nodiscard]] JobClass by(std::uint32_t alternative) const;
  // Their numbers in the order in which a claim tries them: by weight, and as they are written.
  [[nodiscard]] std::vector<std::uint32_t> preferred() const;
};

// Jobs `first .. first + count - 1` of one entry of the spec.
struct Template {
  JobId first{};
  std::uint64_t count = 1;
  std::uint32_t job_class = 0;    // index into Plan::classes
  std::int32_t priority = 0;      // higher first
  std::uint64_t name_hash = 0;    // of the name when count == 1 (see name_hash()), else 0
  std::uint32_t handler = 0;      // position in Plan::handlers, from 1; 0: none
  std::uint32_t crash_limit = 0;  // lost workers before a job fails; 0: the workflow's
  std::string recipe;  // opaque here: names, commands, parameters, for whoever runs and shows jobs
};

// A contiguous run of jobs.
struct JobRange {
  JobId first{};
  std::uint64_t count = 0;
};

using torc::Condition;
using torc::SortMethod;

// A run of jobs upstream on one condition.
struct Dependency {
  JobRange jobs;
  Condition condition = Condition::afterok;
};

// `members` wait until every job of `upstream` has completed and those of `conditional` are as
// their conditions say. One record and one counter however many there are. A job is a member of at
// most one dependency set; ranges of one condition do not overlap within a set.
struct DependencySet {
  std::vector<JobRange> upstream;
  std::vector<JobRange> members;
  std::vector<Dependency> conditional = {};  // none of them afterok
  bool cancels = false;  // members are canceled when a job of `upstream` ends otherwise
  // Number of an action, from 1, that is set off instead: then there are no members.
  std::uint32_t action = 0;
};

// What jobs that are claimed or run may have together of something, on all workers.
enum class LimitKind : std::uint8_t {
  entry,    // jobs of one entry
  named,    // what the user has given a name, such as licences
  workflow  // jobs of the whole workflow
};
struct Limit {
  std::string name;  // of the entry, as written, or its own; empty: of the workflow
  std::uint32_t most = 1;
  LimitKind kind = LimitKind::entry;
  // What the workflow file says, where a person has set another one since (set_limit()).
  std::optional<std::uint32_t> before_set = {};
  [[nodiscard]] std::uint32_t of_file() const { return before_set.value_or(most); }
  bool operator==(const Limit&) const = default;
};
[[nodiscard]] inline bool is_same_limit(const Limit& a, const Limit& b) {
  return a.kind == b.kind && a.name == b.name;
}

// CPUs and nodes by the time for which jobs have them. Of a job on one node the part of it that
// counts is its CPUs over those of the worker that runs it.
struct Usage {
  std::chrono::milliseconds core{};
  std::chrono::milliseconds node{};
  auto operator<=>(const Usage&) const = default;
};

// What additions to the workflow may refer to by name besides its jobs. Opaque here: `key` is any
// byte string of 1 to 30 bytes, chosen by whoever reads it.
struct Definition {
  std::string key;
  std::string value;
};

struct Plan {
  std::string name;      // of the workflow
  std::string settings;  // opaque here: what workers need of the spec besides the jobs
  SortMethod sort = SortMethod::none;
  std::vector<JobClass> classes;
  std::vector<Template> templates;  // in id order, without gaps, the first at JobId 1
  std::vector<DependencySet> dependencies;
  std::vector<Definition> definitions;
  std::vector<Handler> handlers;
  std::uint32_t max_failures = 0;  // failed jobs after which nothing more is claimed; 0: no limit
  std::vector<Limit> limits;
  Usage budget;                 // 0: without bound
  bool pending_failed = false;  // failures that no rule of a handler is for wait for a decision
  // on_jobs_ready and on_jobs_complete that no dependency set belongs to are due from the start.
  std::vector<Action> actions;
  std::vector<Scheduler> schedulers;
  // With more classes than this the heads of their queues are kept in the order of claims.
  std::size_t few_classes = 16;
};

// What a workflow has that most do without: they are spared what it costs.
namespace rule {
inline constexpr std::uint8_t kEnds = 1;    // ends other than completion count for some barrier
inline constexpr std::uint8_t kStarts = 2;  // so do starts
inline constexpr std::uint8_t kLimits = 4;
inline constexpr std::uint8_t kBudget = 8;
inline constexpr std::uint8_t kPendingFailed =
    16;  // failures that no rule is for wait for a person
inline constexpr std::uint8_t kActions = 32;
inline constexpr std::uint8_t kLearns = 64;  // what jobs take is measured, see learned_time.h
inline constexpr std::uint8_t kGangs = 128;  // some class needs several nodes
}  // namespace rule

// 64-bit hash of a job name, as the name index keys it (FNV-1a with a finaliser). Never 0.
[[nodiscard]] inline std::uint64_t name_hash(std::string_view name) {
  std::uint64_t h = fnv1a(name);
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
  h ^= h >> 33;
  return h == 0 ? 1 : h;
}

}  // namespace torc::claim
