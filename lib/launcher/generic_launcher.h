// The launcher of a batch system that a definition tells of.
#pragma once

#include <memory>
#include <string>

#include "lib/launcher/definition.h"
#include "lib/launcher/launcher.h"
#include "lib/slurm/run_command.h"

namespace torc::launcher {

struct GenericSetup {
  slurm::RunCommand run;
  std::string user;  // the name of who runs this process
  Definition definition;
};

// The batch script also finds the try's name in TORC_INTENT. A shared name is possible only where
// the list tells the intent apart from the name; elsewhere such a submission is refused. Nodes that
// the system cannot exclude are not.
[[nodiscard]] std::unique_ptr<Launcher> generic_launcher(GenericSetup setup);

}  // namespace torc::launcher
