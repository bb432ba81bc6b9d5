#include "lib/workflow/change/limit_terms.h"

#include <algorithm>

#include "lib/claim/queries/queries.h"

namespace torc::workflow {
namespace {

void add(LimitTerms& terms, const claim::Limit& limit, std::uint32_t amount) {
  terms.emplace_back(limit.kind, limit.kind == claim::LimitKind::entry ? "" : limit.name,
                     limit.of_file(), amount);
}

}  // namespace

LimitTerms limit_terms(const claim::Reader& reader, const claim::JobClass& job_class) {
  LimitTerms terms;
  for (const claim::LimitShare& share : job_class.limits) {
    if (const auto limit = claim::read_limit(reader, share.number))
      add(terms, limit->limit, share.amount);
  }
  std::ranges::sort(terms);
  return terms;
}

LimitTerms limit_terms(const claim::Plan& plan, const claim::JobClass& job_class) {
  LimitTerms terms;
  for (const claim::LimitShare& share : job_class.limits)
    add(terms, plan.limits[share.number - 1], share.amount);
  std::ranges::sort(terms);
  return terms;
}

}  // namespace torc::workflow
