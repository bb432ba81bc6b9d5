// Why a job is where it is: what keeps it from running and what would let it run, where it runs, or
// how it ended. Costs what the job, the jobs that it waits for, the live workers and the resource
// classes cost; nothing here grows with the number of jobs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/claim/rules/job.h"
#include "lib/claim/tables/transaction.h"
#include "lib/report/situation.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

struct Reason {
  // One word for scripts: hold, dependency, upstream, canceled, backoff, max_failures, action,
  // limit, budget, no_worker, allocation, nodes, scheduler, label, time, cpus, gpus, memory, node,
  // gang, reserved, resource, locality, queue, claimed, running, completed, failed.
  std::string_view kind;
  std::string text;    // sentences
  std::string remedy;  // what helps, or that nothing needs to be done
};

struct Explanation {
  JobId id{};
  std::string name;
  claim::Job job;
  std::vector<Reason> reasons;  // the most important first; never empty
};

// nullopt: the job's template cannot be read. `store`: the store as a word of the commands that are
// recommended.
std::optional<Explanation> explain(const workflow::Context& context, const claim::Reader& reader,
                                   workflow::RecipeBook& book, const std::string& store,
                                   const Situation& situation, JobId id);

// As `torc why` shows it, in lines of at most `columns`.
[[nodiscard]] std::string to_text(const Explanation& found, std::size_t columns);
// job_json(), and {reasons: [{kind, message, remedy}]}.
[[nodiscard]] nlohmann::ordered_json to_json(const claim::Reader& reader,
                                             workflow::RecipeBook& book, const Explanation& found);

}  // namespace torc::report
