// A cluster as a file that people read, edit and give to commands: a profile, in YAML.
//
//   cluster: alpha
//   partitions:
//     - name: standard
//       default: true
//       walltime: 2d
//       nodes:
//         - {count: 100, cpus: 64, memory: 256g}
//   qos:
//     - {name: normal, running_jobs: 20}
//   associations:
//     - {account: proj, qos: [normal], walltime: 1d}
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/cluster/cluster.h"
#include "lib/spec/text/source.h"

namespace torc::cluster {

inline constexpr std::size_t kMostProfileBytes = 8U << 20U;

// `yes` adds what passes by itself: when Slurm told it, and which nodes are idle or down.
enum class Passing : std::uint8_t { no, yes };
// What is not known is left out.
[[nodiscard]] std::string to_profile(const Cluster& cluster, Passing passing = Passing::no);

// nullopt: it has mistakes, which the report has; unknown keys are some.
[[nodiscard]] std::optional<Cluster> read_profile(const spec::Source& source, spec::Report& report);

}  // namespace torc::cluster
