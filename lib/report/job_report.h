// One job in full, as `torc job` shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/base/clock.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

// A job and where it stands; valid as long as the view of the store.
struct JobInStore {
  const claim::Reader& reader;
  workflow::RecipeBook& book;
  const workflow::RecipeBook::Page& page;
  JobId id{};
  const claim::Job& job;
  WallTime now{};
  [[nodiscard]] spec::RenderedJob rendered() const;
  [[nodiscard]] claim::Rank rank() const;  // as of now: it may have been set
};

// `store`: the store as a word of the commands that are recommended.
[[nodiscard]] std::string to_text(const JobInStore& in, const std::string& store);
[[nodiscard]] nlohmann::ordered_json to_json(const JobInStore& in);

}  // namespace torc::report
