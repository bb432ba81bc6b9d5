// A cluster and what fits on it, for people and for scripts.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/cluster/cluster.h"
#include "lib/cluster/match.h"

namespace torc::cluster {

// `most`: how wide its table may be (Table::text()).
[[nodiscard]] std::string to_text(const Cluster& cluster,
                                  std::optional<std::size_t> most = std::nullopt);
// `profile`: the file that it was read from; empty: Slurm told it.
[[nodiscard]] nlohmann::ordered_json to_json(const Cluster& cluster, const std::string& profile);

// `fits` as match() gives them: a table, then what is recommended, with the lines of a workflow
// file for it.
[[nodiscard]] std::string to_text(const Cluster& cluster, const Need& need,
                                  const std::vector<Fit>& fits,
                                  std::optional<std::size_t> most = std::nullopt);
[[nodiscard]] nlohmann::ordered_json to_json(const Cluster& cluster, const Need& need,
                                             const std::vector<Fit>& fits,
                                             const std::string& profile);

// The entry of slurm_schedulers for allocations of `need` in that partition; `account`: as it is
// written there.
[[nodiscard]] std::string scheduler_text(const Partition& partition, const Need& need,
                                         const std::string& account);

}  // namespace torc::cluster
