#include "lib/worker/jobs/gang_tag.h"

#include <fmt/format.h>

namespace torc::worker {

std::string gang_tag(const claim::ClaimToken& token) {
  return fmt::format("{}.{}.{}", raw(token.job), token.attempt, token.claim);
}

std::vector<std::string> gang_tags(const std::string& workflow_id, const claim::ClaimToken& token) {
  return {fmt::format("TORC_WORKFLOW_ID={}", workflow_id),
          fmt::format("{}={}", kGangVariable, gang_tag(token))};
}

}  // namespace torc::worker
