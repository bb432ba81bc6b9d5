// From the entries of a spec to its families of jobs, files and user data.
#pragma once

#include <string_view>
#include <vector>

#include "lib/spec/expand/reference.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/families.h"
#include "lib/spec/sweep/pattern.h"
#include "lib/spec/text/source.h"

namespace torc::spec {

// One is JobEntry, FileEntry or UserDataEntry; `kind` is "job", "file" or "user data", as a
// message has it.

// Adds a family for each entry, in their order. One that is broken is reported, and becomes a
// family of none, so that positions stay those of the entries; `resolver` forgives its name. False:
// there are more than kMaxJobs, which was reported, and what follows was not looked at.
template <class One>
[[nodiscard]] bool add_families(const std::vector<One>& entries, std::string_view kind,
                                Families& families, Resolver& resolver, Report& report);

// Calls Families::index(), and reports the clashes that it finds.
template <class One>
void report_clashes(const std::vector<One>& entries, std::string_view kind, Families& families,
                    Report& report);

// The path of each of the file families, which are those of `entries`.
[[nodiscard]] std::vector<Pattern> paths_of(const std::vector<FileEntry>& entries,
                                            const Families& files, Report& report);

}  // namespace torc::spec
