// Why a strict job waits although as many pieces are free as it needs: they lie in different
// groups. A part of why.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/transaction.h"
#include "lib/report/why.h"

namespace torc::report {

// Of a class that all of `fitting` could ever run. nullopt: some alternative of it is not strict
// and has room, or nowhere as much is free. Which pieces are free only workers know, so it goes by
// numbers: whoever has that much free takes what it can within half a minute.
[[nodiscard]] std::optional<Reason> why_pieces_lie_apart(const claim::Reader& reader,
                                                         const claim::JobClass& job_class,
                                                         const std::vector<claim::Worker>& fitting,
                                                         const std::string& store,
                                                         const std::string& job);

}  // namespace torc::report
