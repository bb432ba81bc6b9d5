// What commands know of a cluster: by asking Slurm, by what they kept of its last answer, or by a
// profile that they were given.
#pragma once

#include <chrono>
#include <string>

#include "bin/app.h"
#include "bin/flags.h"
#include "lib/cluster/cluster.h"

namespace torc::cli {

struct ClusterSource {
  std::string profile;   // as the user named it; empty: Slurm is asked
  bool refresh = false;  // what was kept does not do
};
void add_cluster_source(Command& c, ClusterSource& source);

struct KnownCluster {
  cluster::Cluster cluster;
  std::string profile;  // the file that it was read from; empty: Slurm told it just now
};

// The cluster that Slurm's programs ask here, by its configuration alone; empty: not known.
[[nodiscard]] std::string cluster_here(const App& app);

// Of the programs of Slurm, each.
inline constexpr std::chrono::seconds kAskLimit{20};

// What Slurm tells is kept. What was kept is used where it is younger than cluster::kFresh, or
// where Slurm does not answer; that, its age, and what is wrong with it, is told on standard error.
Result<KnownCluster> know_cluster(const App& app, const ClusterSource& source);

}  // namespace torc::cli
