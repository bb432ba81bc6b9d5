// One user's allocations as whoever submits them looks for them: by name, by what was written into
// the comment, by id; in the queue and in the accounting. Of this host's own cluster, whatever the
// user's variables say. Something is said to be absent by a whole answer only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/slurm/run_command.h"
#include "lib/slurm/shown.h"

namespace torc::slurm {

struct OwnJob {
  ShownAllocation shown;
  // What --comment said: in the accounting also where it keeps no comments, by the command line.
  std::string comment = {};
  std::uint32_t nodes = 0;  // how many; 0: not told
  bool operator==(const OwnJob&) const = default;
};

struct OwnJobs {
  std::vector<OwnJob> jobs;
  bool whole = false;        // all lines were read: what is not in it is not there
  std::string failure = {};  // why there is no answer, or a wrong one: a clause; else empty
};

struct OwnQuestion {
  std::uint32_t user = 0;
  std::string cluster;  // its name; empty: not known. An answer of another one is none
  // Only those that are called so; empty: all. Where they are more than fit on a command line, or
  // one of them means more than a name to Slurm, all are asked for.
  std::vector<std::string> names = {};
};

inline constexpr std::chrono::seconds kAskLimit{30};

// By one squeue. What has ended is listed for some minutes (MinJobAge).
[[nodiscard]] OwnJobs own_in_queue(const RunCommand& run, const OwnQuestion& question);

// By one sacct: all that did not end before `since`, a day earlier for clocks that differ; 0: all.
// `comments`: the command lines are asked for, too (Slurm 21.08), which hold the comments.
[[nodiscard]] OwnJobs own_in_accounting(const RunCommand& run, const OwnQuestion& question,
                                        WallTime since, bool comments);

// "alpha", as `scontrol show config` says it; empty: it does not.
[[nodiscard]] std::string cluster_name(const RunProgram& run);

// The value of --comment in a command line as the accounting keeps it; empty: none.
[[nodiscard]] std::string comment_of_line(std::string_view submit_line);

}  // namespace torc::slurm
