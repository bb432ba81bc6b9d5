// What commits cost on a filesystem, beside the least that could make the same bytes durable:
// `torc bench`. Each measurement runs until a moment and may be interrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "lib/doctor/probe.h"

namespace torc::doctor {

struct BenchSamples {
  std::vector<std::chrono::nanoseconds> times;  // of each operation
  std::chrono::nanoseconds elapsed{};           // from the first to the end of the last
  // Of commits:
  std::uint64_t conflicts = 0;  // times another host was first
  std::uint64_t requests = 0;   // through Disk, by the commits alone
  std::uint64_t modifying = 0;
};

// A record appended to an open file and fdatasync: the least.
Result<BenchSamples> bench_append(const store::World& world, const Path& directory, BootTime until,
                                  const Interrupted& interrupted);
// A file made, synced and given its name, durably: what engine journal must do at least.
Result<BenchSamples> bench_publish(const store::World& world, const Path& directory,
                                   const store::PublishMethod& method, BootTime until,
                                   const Interrupted& interrupted);

// An empty store with records to change, as `directory`, which must not be there.
Result<void> make_bench_store(const store::World& world, const Path& directory,
                              store::Engine engine);
// One worker's commits on it: a lease, a counter and two job records each, with the maintenance
// that workers take (checkpoints). Begins at `from`.
Result<BenchSamples> bench_commits(const store::World& world, const Path& directory, BootTime from,
                                   BootTime until, const Interrupted& interrupted);

}  // namespace torc::doctor
