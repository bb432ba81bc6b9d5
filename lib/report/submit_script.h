// The batch scripts of a store, and which jobs their workers could run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/end_margins.h"
#include "lib/base/path.h"
#include "lib/claim/rules/plan.h"
#include "lib/slurm/asked.h"

namespace torc::report {

// A batch script that `torc init` has written, or a person has changed since.
struct SubmitScript {
  std::string scheduler;  // as its file is called: the name of the scheduler, made plain
  Path file;              // absolute
  std::string job_name;   // that it gives to Slurm; empty: not known, or not plain
  slurm::Asked asked = {};
  bool refused = false;   // by Slurm, when `torc init` asked; it was not changed since
  Path other_store = {};  // that it starts workers for instead, since this one was moved or copied
};
inline constexpr const char* kScriptsFolder = "slurm";  // in the store
// Those that are there, in the order of their names.
[[nodiscard]] std::vector<SubmitScript> find_scripts(const Path& store);

// The file beside a script that says that Slurm has refused it, as long as it is no older.
[[nodiscard]] Path mark_of_refusal(const Path& script);

// Why no worker of this script could run a job of this class, as far as the script tells: "walltime
// 10 min, and 22 min are needed". Empty: nothing speaks against it.
[[nodiscard]] std::string lack_of(const SubmitScript& script, const claim::JobClass& job_class,
                                  const KeptFree& kept);

// Of scripts that lack nothing, the better one has the smaller: it was not refused, and does not
// leave it to Slurm whether there are CPUs enough.
[[nodiscard]] int doubts_of(const SubmitScript& script, const claim::JobClass& job_class);

}  // namespace torc::report
