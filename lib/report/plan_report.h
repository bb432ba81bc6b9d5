// What a workflow takes: stages, the critical path, core-hours, and what nodes must offer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/resources.h"
#include "lib/spec/load/outline.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

// Jobs of one entry with the same needs, within one stage.
struct StagePart {
  std::size_t entry = 0;  // position in Expansion::entries, of the first of them
  std::uint64_t jobs = 0;
};

struct PlanStage {
  std::uint64_t jobs = 0;
  std::uint64_t cpus = 0;  // if all of them ran at the same time
  std::uint64_t gpus = 0;
  std::vector<StagePart> parts;  // many jobs first
};

struct Amount {
  double core_hours = 0;
  double gpu_hours = 0;
  double node_hours = 0;  // of jobs that take whole nodes
  std::uint64_t jobs = 0;
  std::uint64_t without_runtime = 0;  // which count as nothing
};

// What its workers' nodes must offer so that every job that is bound to it can run.
struct Demand {
  Amount amount;
  Resources most = no_resources();       // of each kind, that one of the jobs needs
  std::chrono::seconds walltime_for{0};  // the longest time that one of them must have
  std::vector<std::string> labels;       // of one of them together: "gpu,ssd"
};

struct PlanReport {
  std::vector<PlanStage> stages;
  std::size_t widest = 0;  // position of the stage with the most jobs
  Amount total;
  std::map<std::string, Demand> demands;  // by scheduler; "": jobs that any worker may run
  spec::Outline outline;
};

// Precondition: loaded.expansion.
[[nodiscard]] PlanReport make_plan_report(const workflow::LoadedSpec& loaded);
[[nodiscard]] std::string to_text(const PlanReport& plan, const workflow::LoadedSpec& loaded,
                                  std::optional<std::size_t> most = std::nullopt);
[[nodiscard]] nlohmann::ordered_json to_json(const PlanReport& plan,
                                             const workflow::LoadedSpec& loaded);

}  // namespace torc::report
