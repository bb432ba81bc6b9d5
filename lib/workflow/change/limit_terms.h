// The limits that a class comes under, in terms that a store and a plan have in common: numbers of
// limits are those of one of them.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::workflow {

// Kind, name (of an entry's: none, since the entry may be written otherwise), how much there is of
// it, how much a job has of it; sorted.
using LimitTerms =
    std::vector<std::tuple<claim::LimitKind, std::string, std::uint32_t, std::uint32_t>>;

[[nodiscard]] LimitTerms limit_terms(const claim::Reader& reader, const claim::JobClass& job_class);
// Precondition: the class is one of the plan's.
[[nodiscard]] LimitTerms limit_terms(const claim::Plan& plan, const claim::JobClass& job_class);

}  // namespace torc::workflow
