// Files that are told apart by their names, but are one on disk.
#pragma once

#include "lib/spec/expand/job_files.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

// Reports those of `files` (the families of workflow.files) that have one path, `./out` and `out`
// being the same: an error where a job makes one of them, since who takes the other would not wait
// for it, else a warning. What cannot be read of a path was reported before.
void report_shared_paths(const Workflow& workflow, const Families& files, const JobFiles& made,
                         Report& report);

}  // namespace torc::spec
