// A command with all that its start needs: nothing is looked up or allocated any more when it is
// begun. Internal to lib/exec: include process_host.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/exec/end/job_groups.h"
#include "lib/exec/end/watched_lease.h"
#include "lib/exec/run/run_tag.h"
#include "lib/exec/start/command.h"
#include "lib/exec/start/launch.h"

namespace torc::exec {

// `plan` points into the rest of it, so it stays where it is.
struct Order {
  RunKey key = 0;
  Command command;
  std::string program;  // path
  std::string shell = "/bin/sh";
  std::vector<std::string> words;
  std::vector<char*> pointers;     // of `words`, as LaunchPlan::words
  std::string run_tag;             // TORC_RUN_ID=…
  std::vector<char*> environment;  // of `command` and `run_tag`
  std::vector<unsigned long> cpus;
  LaunchPlan plan;
};

// Makes of `key` and `command`, which are there, all else but the program: what file that is is not
// looked up. An order may have been another one's before. `lease` and `group` (null: none) outlive
// the start.
void prepare(Order& order, const RunTag& tag, const LeasePage* lease, const JobGroup* group);

// A variable as the command will find it, but for its RunTag; null: it is not set.
[[nodiscard]] const char* variable_of(const Command& command, std::string_view name);

}  // namespace torc::exec
