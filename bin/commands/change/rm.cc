// torc rm: jobs are taken out of the workflow, as if its file had them no more.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "bin/commands/change/change_jobs.h"
#include "bin/flags.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/reshape.h"
#include "lib/workflow/change/difference.h"
#include "lib/workflow/context/sharing.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

struct RmOptions {
  bool with_dependents = false;
  bool undo = false;
};

// What waits for jobs that are gone would wait for ever.
Result<void> refuse_dependents(const claim::Reader& reader,
                               const std::vector<claim::JobRange>& jobs,
                               const std::vector<claim::JobRange>& all) {
  constexpr std::size_t kNamedJobs = 3;
  const std::uint64_t waiting = jobs_in(all) - jobs_in(jobs);
  if (waiting == 0) return {};
  workflow::RecipeBook book;
  std::string names;
  std::size_t named = 0;
  for (const claim::JobRange& range : all) {
    for (std::uint64_t i = 0; i < range.count && named < kNamedJobs; ++i) {
      const JobId id{raw(range.first) + i};
      if (claim::has_job(jobs, raw(id))) continue;
      names += (named++ == 0 ? "" : ", ") + printable(workflow::job_name(book, reader, id));
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

Result<claim::Reshaped> reshape(const App& app, claim::Transaction& tx, claim::Reshape what) {
  claim::Origin origin;
  origin.at = app.clock.wall_now();
  origin.by = workflow::who_asks(app);
  return claim::reshape(tx, std::move(what), workflow::part_of_template, std::move(origin));
}

Result<claim::Change> remove_jobs(const App& app, claim::Transaction& tx, claim::JobRanges named,
                                  const RmOptions& options) {
  claim::Change left;
  TORC_ASSIGN(auto jobs, claim::in_the_file(tx, named, left));
  TORC_ASSIGN(const auto downstream, claim::with_downstream(tx, jobs));
  claim::Change others;
  TORC_ASSIGN(const auto all, claim::in_the_file(tx, downstream, others));
  if (!options.with_dependents) TORC_TRY(refuse_dependents(tx, jobs, all));
  claim::Change change = change_of(tx, all);
  claim::Reshape what;
  what.removed = all;
  TORC_ASSIGN(const auto done, reshape(app, tx, std::move(what)));
  change.ending = done.removed.ending;
  change.add(left);
  return change;
}

// And what they wait for, which would else never be there.
Result<claim::Change> bring_back(const App& app, claim::Transaction& tx, claim::JobRanges named) {
  TORC_ASSIGN(const auto all, claim::with_upstreams(tx, {named.begin(), named.end()}));
  TORC_ASSIGN(const auto removed, claim::removed_jobs(tx, all));
  claim::Change change = change_of(tx, removed);
  claim::Reshape what;
  what.returned = removed;
  TORC_TRY(reshape(app, tx, std::move(what)));
  return change;
}

Result<Exit> run(const App& app, const ChangeOptions& options, const RmOptions& rm) {
  ChangeKind kind;
  kind.is_one_commit = true;
  if (rm.undo) {
    kind.done = "back in the workflow:";
    kind.would = "would be back in the workflow:";
    kind.lets_jobs_run = true;
    kind.apply = [&](claim::Transaction& tx, claim::JobRanges jobs) {
      return bring_back(app, tx, jobs);
    };
    return run_change(app, options, kind);
  }
  kind.done = "removed";
  kind.would = "would remove";
  kind.apply = [&](claim::Transaction& tx, claim::JobRanges jobs) {
    return remove_jobs(app, tx, jobs, rm);
  };
  return run_change(app, options, kind, [&](const ChangeReport& done, const Path& store) {
    if (done.change.total() == 0) return;
    say(app.out,
        "what completed stays in `torc history`; a job that is still in the workflow file comes "
        "back when it is applied again; to bring back others: torc rm --undo {} NAME…\n",
        workflow::shown_path(app, store));
  });
}

}  // namespace

void add_rm(Command& c) {
  auto& o = add_change(c, "Take jobs out of the workflow: they no longer run, and no longer count");
  auto& rm = c.options<RmOptions>();
  c.flag("--with-dependents", rm.with_dependents, "and everything that depends on them");
  c.flag("--undo", rm.undo, "put back jobs that were taken out, and the jobs that they depend on");
  c.run([&](const App& app) { return run(app, o, rm); });
}

}  // namespace torc::cli
