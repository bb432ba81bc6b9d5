// What cancel, retry, hold, release and set have in common: they choose jobs, change them, and say
// what changed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bin/commands/change/change_report.h"
#include "bin/commands/commands.h"
#include "bin/commands/selection.h"

namespace torc::cli {

struct ChangeOptions {
  SelectOptions jobs;
  bool failed = false;    // retry: what failed or was terminated
  bool canceled = false;  // retry: what was canceled
  bool run = false;       // retry: they run here afterwards
  bool dry_run = false;
  bool json = false;
};

// One of the commands.
struct ChangeKind {
  std::string done;                  // "canceled 3 jobs"
  std::string would;                 // "would cancel 3 jobs"
  std::vector<claim::JobState> all;  // what --all chooses
  std::function<Result<claim::Change>(claim::Transaction&, claim::JobRanges)> apply;
  bool lets_jobs_run = false;  // so it is told when nobody is there to run them
  bool offers_anew = false;    // ready ones may be for other workers than before
  bool is_one_commit = false;  // what it says holds of all of them, or of none
};

// The flags that all of them have. `names`: what --help says of the jobs that are named.
ChangeOptions& add_change(Command& c, const std::string& about,
                          const std::string& names = kNamesHelp);

// `after`: tells what a person should know besides.
Result<Exit> run_change(const App& app, const ChangeOptions& options, const ChangeKind& kind,
                        const std::function<void(const ChangeReport&, const Path&)>& after = {});

}  // namespace torc::cli
