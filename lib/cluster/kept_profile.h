// What Slurm said of a cluster, kept for its user: a profile in the directory of his caches, by the
// cluster's name, for when Slurm does not answer, and so that it is not asked again and again.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/cluster/cluster.h"

namespace torc::cluster {

// So long it is used without asking Slurm again.
inline constexpr std::chrono::seconds kFresh{60};
[[nodiscard]] bool is_fresh(const Cluster& kept, WallTime now);

// "alpha" of "ClusterName=Alpha" in a slurm.conf, as Slurm calls it; empty: it says none.
[[nodiscard]] std::string configured_name(std::string_view slurm_conf);

// "torc/clusters/alpha.yaml", below the directory of caches; empty: such a name makes no file.
[[nodiscard]] Path kept_file(const std::string& cluster);

// Below `caches`, which is made, no symbolic link is followed. Error invalid: its name makes no
// file.
Result<void> keep(const Path& caches, const Cluster& cluster);

// The one of that name, as it was at `read_at`. Of one that is not fresh nobody knows any more
// which nodes are idle or down. Errors: not_found; permission (it is not a file of user `uid`
// alone, so that others may have written it); corrupt (it has mistakes, or is of another cluster).
Result<Cluster> kept(const Path& caches, const std::string& cluster, std::uint32_t uid,
                     WallTime now);

}  // namespace torc::cluster
