// Terms of jobs that a workflow file states and the claims go by: the same values for both.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/codec.h"

namespace torc {

// When a job may start, as seen from one that it depends on; named after Slurm's.
enum class Condition : std::uint8_t {
  afterok,     // it has completed
  afternotok,  // it failed, was terminated or canceled, and no attempt is left
  afterany,    // it is over, in whatever way
  after        // it runs or is over
};
[[nodiscard]] std::string_view to_string(Condition condition);

// The order of ready jobs of equal priority.
enum class SortMethod : std::uint8_t { none, gpus_runtime_memory, gpus_memory_runtime };

enum class FailureCause : std::uint8_t { oom, timeout, signal, node_death, output_missing };
inline constexpr FailureCause kLastFailureCause = FailureCause::output_missing;

// One rule of a failure handler: for which ends it is, and what is done then.
struct RetryRule {
  std::vector<std::int32_t> exit_codes;
  bool all_exit_codes = false;
  std::vector<FailureCause> on;
  std::string script;  // recovery script; empty: none
  std::uint32_t max_retries = 3;
  double memory_multiplier = 1;
  double runtime_multiplier = 1;
  std::chrono::seconds backoff{0};
  // What the job is given then is also given to jobs of its entry that have not been claimed yet.
  bool learn = false;
  auto operator<=>(const RetryRule&) const = default;
};

// How stores keep it. nullopt: no such rule was written.
void write_rule(Encoder& out, const RetryRule& rule);
[[nodiscard]] std::optional<RetryRule> read_rule(Decoder& in);

}  // namespace torc
