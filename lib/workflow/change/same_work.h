// Whether a store that was found beside a workflow file would run what the file says. Compared is
// what the store has recorded, which is what its workers run, with what `torc init` would record
// for the file; the store's copy of the file is not asked.
#pragma once

#include <optional>
#include <string>

#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/tables/user_datum.h"

namespace torc::workflow {

class JobNumberMap;

// `runs_in`: where the store's jobs run (find_working_directory()); empty: whoever named the store
// knows that, and it is not compared.
//
// The first thing in which they differ, as a sentence without its full stop; nullopt: none. Of jobs
// it compares entries: their commands, environments, output, files, resources, failure handlers and
// what they wait for. Then the directory, the settings of the workflow, its actions, and what the
// user data of the file begin as. Entries of
// the store alone count while one of their jobs may still run: those that were added, or that
// `torc reinit` left out.
//
// `learn_runtimes` is one of those settings. Which class an entry's jobs are of for it is not
// compared beside that: it follows from the setting and the number of jobs, and decides when a job
// runs, and not what.
//
// Not compared: what changes while a workflow runs (states, values of user data, what `torc set` or
// a failure handler gave single jobs), and the definitions that additions refer to. Costs what the
// entries and dependencies cost, not what the jobs do, but for entries that differ or are the
// store's alone. Error corrupt: records that cannot be read.
Result<std::optional<std::string>> other_work(const claim::Reader& reader, const claim::Plan& plan,
                                              const std::vector<claim::UserDatum>& user_data,
                                              const Path& runs_in);

// The same of the actions alone: what they run, and what sets them off.
Result<std::optional<std::string>> other_actions(const claim::Reader& reader,
                                                 const claim::Plan& plan,
                                                 const JobNumberMap& numbers);

}  // namespace torc::workflow
