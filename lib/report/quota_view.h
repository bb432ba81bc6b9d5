// How far limits and the budget are used up, and which ready jobs they keep from starting: for
// `torc status` and `torc job`.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/budget.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

struct QuotaView {
  struct Held {
    std::string name;  // of the first ready job of a class
    claim::Requirement need;
    std::uint64_t jobs = 0;
  };
  struct Limit {
    claim::LimitState state;
    std::uint64_t waiting = 0;  // ready jobs for which it leaves too little
  };
  std::vector<Limit> limits;
  std::optional<claim::Expense> budget;
  std::vector<Held> beyond_budget;  // ready jobs that it keeps from starting, the first few
};

// Costs as much as there are limits and classes with ready jobs.
[[nodiscard]] Result<QuotaView> look_at_quota(const claim::Reader& reader,
                                              workflow::RecipeBook& book);

[[nodiscard]] std::string quota_text(const QuotaView& view,
                                     std::optional<std::size_t> most = std::nullopt);
// {core_hours: {most, used, promised, left}, node_hours: …, holds_jobs}, null without a budget.
[[nodiscard]] nlohmann::ordered_json budget_json(const QuotaView& view);
// [{entry, resource, limit, in_use, …}]
[[nodiscard]] nlohmann::ordered_json limits_json(const QuotaView& view);

// Why a job waits or was passed over, as lines of `torc job`: {"waits for", "prepare, train"}.
struct ObstacleLine {
  std::string_view name;
  std::string text;
};
[[nodiscard]] std::vector<ObstacleLine> obstacle_lines(const claim::Reader& reader,
                                                       workflow::RecipeBook& book, JobId id);

// "licence_x: 2, max_parallel of the workflow"; empty: it comes under none.
[[nodiscard]] std::string show_shares(const claim::Reader& reader,
                                      const claim::JobClass& job_class);
// What a limit is called: "licence_x", "max_parallel of the workflow", "max_parallel of 'a_{i}'".
[[nodiscard]] std::string show_limit(const claim::Limit& limit);
// "2 min 10 s, or less, in 19 of 20 of the 130 jobs …"; empty: nothing is to be learned.
[[nodiscard]] std::string show_learned(const claim::Reader& reader,
                                       const claim::JobClass& job_class, std::uint32_t alternative);

// "1.50 of 100.00 core hours used, 2.00 promised to what runs, 96.50 left"
[[nodiscard]] std::string show_budget(const claim::Expense& expense);

}  // namespace torc::report
