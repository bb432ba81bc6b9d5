// Which job of a workflow file is which of a store that was made from an earlier version of it: by
// their names, wherever their entries stand now.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::workflow {

// Jobs of one entry of the file that follow each other, and so do they in the store.
struct Segment {
  std::uint64_t from = 0;  // place of the first in the entry
  std::uint64_t count = 0;
  std::uint64_t there = 0;  // number of the first in the store; 0: it has none of them yet
  bool is_new = false;
  bool is_same = false;  // the store makes name, command and all from the same recipe
};

struct JobMatching {
  std::vector<std::vector<Segment>> entries;  // of each entry of the file, in its order
  // Of the store, sorted: jobs that the file has no more, and jobs that it has again; both with
  // what these have spawned.
  std::vector<claim::JobRange> removed;
  std::vector<claim::JobRange> returned;
  std::vector<claim::JobRange> added;    // to the store alone, by a person or by a job
  std::vector<claim::JobRange> adopted;  // spawned by jobs, and jobs of the file by now; sorted
  // Out of the workflow, and another job, which had another name before, has theirs now; sorted.
  std::vector<claim::JobRange> displaced;
  // Entries with a former name that a job of the store has, and another entry is that job.
  std::set<std::size_t> taken_names;
};

// Names that jobs had in an earlier version of the file (`was`): of some entries, by their place in
// the plan, an encoded spec::Recipe of nothing but these.
using FormerNames = std::map<std::size_t, std::string>;

// Jobs that were added by a person to the store alone are none of the file's business unless it
// has one of that name; those that were added by jobs are in the workflow as long as these are. A
// job whose name nobody has, or only one that is out of the workflow, is the one that had its
// former name, unless the file has another one of that name. Costs what the entries cost, and the
// names of the jobs in those that are not as they were. Error corrupt: recipes or additions that
// cannot be read.
Result<JobMatching> match_jobs(const claim::Reader& reader, const claim::Plan& plan,
                               const FormerNames& former);

}  // namespace torc::workflow
