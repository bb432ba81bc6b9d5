#include "lib/workflow/change/beside_file.h"

#include <algorithm>

#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/tables/origin.h"
#include "lib/claim/tables/state.h"

namespace torc::workflow {
namespace {

bool may_run(const claim::Job& job, Failed failed) {
  const bool is_over = claim::is_terminal(job.state) && job.revoked == claim::Revoked::no &&
                       !claim::is_passed_over(job);
  const bool has_failed =
      job.state == claim::JobState::failed || job.state == claim::JobState::terminated;
  return !is_over || (has_failed && failed == Failed::is_retried);
}

}  // namespace

Result<std::optional<JobId>> first_beside_file(const claim::Reader& reader,
                                               const std::vector<claim::JobRange>& added,
                                               Failed failed) {
  claim::State state(reader);
  for (const claim::JobRange& range : added) {
    const std::uint64_t end = raw(range.first) + range.count;
    for (std::uint64_t at = raw(range.first); at < end;) {
      TORC_ASSIGN(const auto origin, claim::read_origin(reader, JobId{at}));
      const std::uint64_t last =
          origin ? std::min(end, raw(origin->jobs.first) + origin->jobs.count) : end;
      const bool is_of_a_job = origin && raw(origin->parent) != 0;
      if (is_of_a_job && !claim::has_job(added, raw(origin->root))) {
        at = last;
        continue;
      }
      for (; at < last; ++at) {
        const auto job = state.job(at);
        TORC_TRY(state.sound());
        if (!job || may_run(*job, failed)) return std::optional(JobId{at});
      }
    }
  }
  return std::optional<JobId>();
}

}  // namespace torc::workflow
