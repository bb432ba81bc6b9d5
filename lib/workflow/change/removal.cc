#include "lib/workflow/change/removal.h"
#include "lib/base/plural.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/reshape.h"
#include "lib/workflow/change/difference.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {
namespace {

// What waits for jobs that are gone would wait for ever.
Result<void> refuse_dependents(const claim::Reader& reader,
                               const std::vector<claim::JobRange>& jobs,
                               const std::vector<claim::JobRange>& all) {
  constexpr std::size_t kNamedJobs = 3;
  const std::uint64_t waiting = claim::jobs_in(all) - claim::jobs_in(jobs);
  if (waiting == 0) return {};
  RecipeBook book;
  std::string names;
  std::size_t named = 0;
  for (const claim::JobRange& range : all) {
    for (std::uint64_t i = 0; i < range.count && named < kNamedJobs; ++i) {
      const JobId id{raw(range.first) + i};
      if (claim::has_job(jobs, raw(id))) continue;
      names += (named++ == 0 ? "" : ", ") + printable(job_name(book, reader, id));
    }
  }
  return Error{
      ErrorKind::invalid,
      fmt::format("{} {} on these: {}{}", plural(waiting, "job"),
                  waiting == 1 ? "depends" : "depend", names, waiting > kNamedJobs ? ", …" : ""),
      "--with-dependents removes all of them; nothing was changed"};
}

claim::Change change_of(claim::Transaction& tx, const std::vector<claim::JobRange>& jobs) {
  claim::Change change;
  claim::State state(tx);
  claim::each_job(state, jobs, [&](std::uint64_t id, const claim::Job& job) {
    change.note(JobId{id}, job, job);
  });
  return change;
}

}  // namespace

Result<claim::Change> take_out(claim::Transaction& tx, claim::JobRanges named,
                               Dependents dependents, claim::Origin origin) {
  claim::Change left;
  TORC_ASSIGN(auto jobs, claim::in_the_file(tx, named, left));
  TORC_ASSIGN(const auto downstream, claim::with_downstream(tx, jobs));
  claim::Change others;
  TORC_ASSIGN(const auto all, claim::in_the_file(tx, downstream, others));
  if (dependents == Dependents::refuse) TORC_TRY(refuse_dependents(tx, jobs, all));
  claim::Change change = change_of(tx, all);
  claim::Reshape what;
  what.removed = all;
  TORC_ASSIGN(const auto done,
              claim::reshape(tx, std::move(what), part_of_template, std::move(origin)));
  change.ending = done.removed.ending;
  change.add(left);
  return change;
}

Result<PutBack> put_back(claim::Transaction& tx, claim::JobRanges named, claim::Origin origin) {
  TORC_ASSIGN(const auto all, claim::with_upstreams(tx, {named.begin(), named.end()}));
  TORC_ASSIGN(const auto removed, claim::removed_jobs(tx, all));
  PutBack back{change_of(tx, removed)};
  claim::Reshape what;
  what.returned = removed;
  TORC_TRY(claim::reshape(tx, std::move(what), part_of_template, std::move(origin)));
  claim::State state(tx);
  claim::each_job(state, removed, [&](std::uint64_t, const claim::Job& job) {
    if (claim::has(job.state, claim::trait::kTroubled)) ++back.failed;
  });
  TORC_TRY(state.sound());
  return back;
}

}  // namespace torc::workflow
