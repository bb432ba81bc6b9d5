// The batch script of an allocation of one node, for a system that a definition tells of: it starts
// one worker, which knows of what allocation it is (kAllocationVariable). Multi-node allocations
// are Slurm's alone (lib/slurm/script.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/launcher/definition.h"

namespace torc::launcher {

// The system's id of the job that a worker runs in; in an allocation of Slurm there is none.
inline constexpr const char* kAllocationVariable = "TORC_ALLOCATION_ID";

struct WorkerScript {
  Path store;  // absolute
  Path torc;   // absolute path of the program
  // As the system takes them: "-l h_rt=1:0:0", a line of directives each; after the definition's.
  std::vector<std::string> options = {};
  std::string scheduler = {};           // whose jobs it serves; empty: only unbound ones
  std::vector<std::string> flags = {};  // further ones of torc worker
  // Asked of the system where the definition says how, and told the worker, so that jobs end before
  // the system ends them; none: no limit, or it is told otherwise.
  std::optional<std::chrono::seconds> walltime = {};
};

// Errors: invalid (a path that is not absolute, control characters).
[[nodiscard]] Result<std::string> render_worker_script(const Definition& definition,
                                                       const WorkerScript& script);

// The text with {{placeholders}}, of scripts/launchers/worker.sh.
[[nodiscard]] std::string_view worker_template();

}  // namespace torc::launcher
