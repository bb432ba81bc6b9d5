// What the command of a job over several nodes finds: who its nodes are, in the forms that
// launchers read, and variables by which they do the right thing unasked. Values, and the files
// that they name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/base/result.h"
#include "lib/claim/rules/gang.h"
#include "lib/exec/output/output_disk.h"
#include "lib/spec/language/workflow.h"

namespace torc::worker {

// Of the job and its worker.
struct GangTerms {
  spec::Launch launch;
  std::uint32_t cpus = 1;  // of each node
  ByteCount memory;        // of each node, that its steps are held to; 0: all that there is
  std::string workflow_id;
  std::string directory;  // of the attempt, on a filesystem that all nodes share; absolute
  bool in_slurm = false;
  std::uint32_t allocation_nodes = 0;  // of its allocation; 0: not known
};

// How many processes of it belong on each node.
[[nodiscard]] std::uint32_t slots_of(const GangTerms& terms);

inline constexpr std::string_view kHostsFile = "hosts";
struct GangFile {
  std::string path;
  std::string text;
  bool executable = false;
};
// The hosts in the three forms, one host a line in order of rank: `hosts`, `hosts.openmpi`,
// `hosts.mpich`; and `agent`, by which launchers start their daemons on other nodes. Each node that
// runs the command has its own, so that nobody writes what another one reads: those of rank 0 have
// these names, those of rank R end in `.R`.
[[nodiscard]] std::vector<GangFile> gang_files(const claim::GangPart& part, const GangTerms& terms);
// Below `root`, which the directory lies in, with its directories. Those of a start that came to
// nothing are written again. Error: which file, and why; what has been written stays.
Result<void> write_gang_files(const std::vector<GangFile>& files, const exec::OutputRoot& root);

// Each "NAME=value". None is in two of the lists.
struct GangVariables {
  // What torc says, whatever else says so. Without TORC_NODELIST where that is too long for a
  // variable.
  std::vector<std::string> own;
  // Of Slurm: instead of what it said to the worker, unless the workflow or the job set them.
  std::vector<std::string> slurm;
  // For launchers and libraries: only those that nobody has set.
  std::vector<std::string> unless_set;
};
[[nodiscard]] GangVariables gang_variables(const claim::GangPart& part, const GangTerms& terms);

// Below Slurm: the line that runs `line` as one step over the nodes, see docs/user/multi-node.md.
// `stem`: the name of its logs; `mpi`: as srun --mpi takes it, empty: as the site has it.
[[nodiscard]] std::string step_line(const std::string& line, const claim::GangPart& part,
                                    const GangTerms& terms, const std::string& stem,
                                    const std::string& mpi, bool binds);
// Whether the command of a job over several nodes becomes such a step: nothing else was asked for,
// and it is no launcher, which makes steps of its own.
[[nodiscard]] bool is_step(const std::string& line, const spec::Launch& launch,
                           spec::ExecutionMode mode, bool in_slurm);

// A port of this host that nobody uses just now, for what a gang's nodes run together; 0: none can
// be had. Somebody else may take it before they do.
[[nodiscard]] std::uint16_t free_port();

}  // namespace torc::worker
