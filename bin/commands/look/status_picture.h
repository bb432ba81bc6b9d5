// What `torc status` shows: one look at a store and all around it, as a value, and how that is
// told.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bin/app.h"
#include "bin/commands/look/unserved.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/report/quota_view.h"
#include "lib/report/situation_text.h"
#include "lib/report/stages.h"

namespace torc::cli {

struct StatusPicture {
  struct Failure {
    JobId id{};
    std::string name;
    claim::Job job;
    std::string reason;
    std::uint32_t recoveries = 0;  // that it has had without a person
  };

  claim::WorkflowState workflow;
  report::Situation situation;
  std::vector<Unserved> unserved;
  std::map<std::string, std::uint64_t> unserved_labels;  // ready jobs by what they ask for
  report::QuotaView quota;
  std::vector<Failure> failures;  // the first kShownFailures
  std::uint32_t recoveries = 0;   // of each job at most; 0: on_failure is not set
  std::optional<std::chrono::microseconds> next_due;       // of the delayed jobs
  std::optional<std::vector<report::StageCounts>> stages;  // where they were asked for
};
inline constexpr std::size_t kShownFailures = 10;

[[nodiscard]] Result<StatusPicture> look_at_status(const App& app, store::Store& store,
                                                   WallTime now, bool with_stages = false);

// completed, failed, running or waiting.
[[nodiscard]] std::string_view verdict_of(const StatusPicture& picture);
// How far a gang is.
[[nodiscard]] std::string_view word_of(claim::GangStage stage);

void print_status(const App& app, const StatusPicture& picture, const store::Store& store);
// As docs/schema/status.json says.
[[nodiscard]] nlohmann::ordered_json status_json(const App& app, const StatusPicture& picture,
                                                 const store::Store& store, WallTime now);

}  // namespace torc::cli
