// What the allocations of a workflow cost, and what the steps in them used: from Slurm's accounting
// where that tells it (sacct), else from what the store knows of the workers that were there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/slurm/accounting.h"
#include "lib/store/engine/store.h"
#include "lib/workflow/context/context.h"

namespace torc::report {

// Who says a figure.
enum class Source : std::uint8_t { sacct, torc };
[[nodiscard]] std::string_view to_string(Source source);

// One run of an allocation; one that Slurm requeued has several.
struct AllocationUse {
  Source from = Source::torc;
  std::string allocation;
  std::string cluster;    // empty: not known
  std::string scheduler;  // of its workers; empty: none, or none has registered
  std::string state;      // Slurm's word; of torc "workers" or "ended": whether some are registered
  WallTime start{};
  WallTime end{};  // 0: it has not ended, as far as is known
  std::chrono::seconds elapsed{0};
  std::uint64_t nodes = 0;
  std::uint64_t cpus = 0;  // on all nodes together
  [[nodiscard]] std::chrono::seconds node_time() const;
  [[nodiscard]] std::chrono::seconds core_time() const;
};

// From the workers alone, in the order of their starts: of each run of an allocation the nodes on
// which workers registered, with the CPUs that they handed out, from its start (where Slurm has
// told it, else the first registration) to the end of its last worker, or `now`. What a worker used
// that never registered is not in it.
[[nodiscard]] std::vector<AllocationUse> use_by_workers(const std::vector<claim::Worker>& workers,
                                                        WallTime now);

// What sacct tells of these runs, and of further ones with their ids, takes their place; of another
// cluster's allocation with the same number nothing is taken.
[[nodiscard]] std::vector<AllocationUse> with_accounting(std::vector<AllocationUse> known,
                                                         const std::vector<slurm::Accounted>& told);
// The steps of what is in `known`, in the order of sacct.
[[nodiscard]] std::vector<slurm::Accounted> steps_of(const std::vector<AllocationUse>& known,
                                                     const std::vector<slurm::Accounted>& told);

// All that is known of the allocations of a workflow.
struct SlurmUsage {
  std::string workflow;
  std::vector<AllocationUse> allocations;
  std::vector<slurm::Accounted> steps;
  bool answered = false;     // by sacct; also with nothing
  std::string failure = {};  // why sacct did not, or not with all: a clause
};
// Asks sacct once, where there is one and some worker was in an allocation: so this blocks for at
// most kAccountingLimit longer than the filesystem does.
inline constexpr std::chrono::seconds kAccountingLimit{10};
Result<SlurmUsage> look_at_usage(const workflow::Context& context, store::Store& store);

// `torc slurm usage`, and the table of steps of `torc slurm stats`. Empty: no steps.
[[nodiscard]] std::string to_text(const SlurmUsage& usage,
                                  std::optional<std::size_t> most = std::nullopt);
[[nodiscard]] std::string steps_text(const SlurmUsage& usage,
                                     std::optional<std::size_t> most = std::nullopt);
// Why figures are torc's own; empty: they need not be.
[[nodiscard]] std::string show_silence(const SlurmUsage& usage);
[[nodiscard]] nlohmann::ordered_json to_json(const SlurmUsage& usage);
[[nodiscard]] nlohmann::ordered_json accounting_json(const SlurmUsage& usage);
[[nodiscard]] nlohmann::ordered_json step_json(const slurm::Accounted& step);

}  // namespace torc::report
