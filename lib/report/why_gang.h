// Why a job of several nodes waits, and why one of one node waits for it: which nodes groups have,
// and what they keep them for. A part of why.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/report/why.h"

namespace torc::report {

struct GangReason {
  Reason reason;
  bool could = false;  // some group has nodes enough: it is a matter of time
};
// Of job `id` of a class that needs several nodes, where there are workers. `store`: as a word of
// commands. nullopt: the records of
// the groups cannot be read.
[[nodiscard]] std::optional<GangReason> why_gang_waits(const claim::Reader& reader,
                                                       const claim::JobClass& job_class, JobId id,
                                                       WallTime now, const std::string& store);
// Of a job of one node that all of `idle` could take: all of them keep their nodes for another one.
// nullopt: they do not.
[[nodiscard]] std::optional<Reason> why_kept_from(const claim::Reader& reader,
                                                  const claim::JobClass& job_class,
                                                  const std::vector<claim::Worker>& idle,
                                                  const std::string& store, const std::string& job);

}  // namespace torc::report
