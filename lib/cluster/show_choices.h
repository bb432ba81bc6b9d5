// The choices of allocations for the jobs of a workflow, for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/cluster/choices.h"
#include "lib/cluster/cluster.h"
#include "lib/cluster/job_groups.h"
#include "lib/cluster/queue.h"

namespace torc::cluster {

struct GroupPlan {
  JobGroup group;
  std::vector<Choice> choices;  // none: see the group's why_none
  Recommendation recommended;
  std::optional<Waiting> waiting;  // nullopt: not known
};

struct AllocationPlan {
  std::vector<GroupPlan> groups;
  struct Job {
    std::string name;  // as the file has it
    std::string why;
    bool wants_label = false;
  };
  std::vector<Job> left_out;
};

// Within 80 columns but for names and clauses.
[[nodiscard]] std::string to_text(const Cluster& cluster, const AllocationPlan& plan);
[[nodiscard]] nlohmann::ordered_json to_json(const Cluster& cluster, const AllocationPlan& plan,
                                             const std::string& profile);

}  // namespace torc::cluster
