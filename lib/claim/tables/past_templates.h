// Templates of jobs as they were before the workflow file said something else: by them is known
// what an earlier attempt ran.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/result.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

// So many are kept of a workflow: the newest.
inline constexpr std::size_t kPastTemplates = 1000;

[[nodiscard]] Key past_template_key(std::uint64_t commit, std::uint64_t first);
[[nodiscard]] std::optional<Template> decode_past_template(std::string_view key,
                                                           std::string_view value);

// `old` is replaced by this commit.
void keep_template(Transaction& tx, const Template& old);

struct PastTemplate {
  bool is_known = true;                   // else templates of that time are not kept any more
  std::optional<Template> template_then;  // if it was another one than now
};
// That of a job when commit `claim` granted it. Error corrupt.
Result<PastTemplate> past_template_of(const Reader& reader, JobId id, std::uint64_t claim);

}  // namespace torc::claim
