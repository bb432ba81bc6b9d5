// A workflow in a store becomes what a new version of its file says, while workers run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/signature.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/retired.h"

namespace torc::claim {

// What is to become of it. All jobs are named by the numbers of the store.
struct Reshape {
  // `templates`: the jobs that are new, from the next number on. `dependencies`: of new jobs, and
  // of jobs that are there and wait for other ones from now on than they do. Classes, handlers,
  // limits and definitions as for add_jobs(); what it says of the whole workflow counts for
  // nothing.
  Plan plan;
  // Jobs that are there and whose entry says something else of them than it did, or that belong to
  // another entry: what their template is from now on, with classes and handlers of `plan`. In id
  // order, disjoint.
  std::vector<Template> entries;
  // Jobs that are out of the workflow and whose name another job has from now on: what their
  // template is then, with classes and handlers of the store. In id order, disjoint.
  std::vector<Template> renamed;
  std::vector<JobRange> unbound;  // jobs that wait for nothing from now on; sorted
  std::vector<JobRange> removed;  // that the file has no more; sorted
  // That were removed, and are in the file again; sorted. They come back as they went: completed,
  // failed, held or canceled by a person; what failed runs again where what it was made of has done
  // so since, or it is `stale`. Others wait.
  std::vector<JobRange> returned;
  std::vector<JobRange> stale;  // whose results count for nothing any more; sorted
  // Jobs whose earlier results may count again, if they were made by what is said now (retired.h);
  // sorted.
  std::vector<JobRange> taken_back;
  // By what is said now. Empty: none are taken back.
  DefinitionOf definition_of = {};
  // Results that are thrown away are kept for that. Not where what all jobs run by is another one
  // now, which definition_of does not tell of what was before.
  bool keeps_results = true;
};

// A template of the `count` jobs from `from` on of the jobs of a template: recipe and name_hash are
// filled in. The claims do not know what a recipe is.
using PartOf =
    std::function<Result<Template>(const Template& of, std::uint64_t from, std::uint64_t count)>;

struct Reshaped {
  JobRange added;
  // A worker has them now: they go on as they were, and so do their entry and what they wait for.
  // Said again when they have ended, the change is made for them, too.
  std::vector<JobRange> kept;
  Change removed;   // those that will not run; completed ones stay what they are
  Change returned;  // those that are back, but for completed ones
  Change again;     // what runs again: `stale`, what follows from it, and what had completed and
                    // waits for a job now that has not
  std::uint64_t taken_back = 0;  // jobs whose results count again
};

// One transaction, which costs what the entries and dependencies that change cost, and the records
// of their jobs; a sweep to which nothing has happened costs as much as one job. Before and after
// it all that lib/claim/audit looks at holds.
//
// What a person set for single jobs of an entry whose resources or priority change (`torc set`) is
// what the file says then.
//
// Jobs downstream of `stale` that run are ended and run again, as by reset_jobs(). Error invalid:
// the plan is none; nothing may be committed then.
Result<Reshaped> reshape(Transaction& tx, Reshape what, const PartOf& part_of, Origin origin);

// Notes of which jobs it is known that they go by what the file said before (queries.h, Behind):
// `kept`, as of a Reshaped, of which `outdated` have results by that; of no others. Whether
// anything is another one by it.
bool note_behind(Transaction& tx, const std::vector<JobRange>& kept,
                 const std::vector<JobRange>& outdated);

// The files of a result are taken as they look now, and compared with that from now on. Nothing
// where the job is not over, or another attempt has begun since `claim`. Whether it was done.
bool renew_signature(Transaction& tx, JobId id, std::uint64_t claim, Signature now);

}  // namespace torc::claim
