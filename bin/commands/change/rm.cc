// torc rm: jobs are taken out of the workflow, as if its file had them no more.
#include "bin/commands/change/change_jobs.h"
#include "bin/flags.h"
#include "lib/base/quantities.h"
#include "lib/workflow/change/addition.h"
#include "lib/workflow/change/removal.h"

namespace torc::cli {
namespace {

struct RmOptions {
  bool with_dependents = false;
  bool undo = false;
};

claim::Origin origin_now(const App& app) {
  claim::Origin origin;
  origin.at = app.clock.wall_now();
  origin.by = workflow::who_asks(app);
  return origin;
}

Result<Exit> run(const App& app, const ChangeOptions& options, const RmOptions& rm) {
  ChangeKind kind;
  kind.is_one_commit = true;
  if (rm.undo) {
    kind.done = "back in the workflow:";
    kind.would = "would be back in the workflow:";
    kind.lets_jobs_run = true;
    std::uint64_t failed = 0;
    kind.apply = [&](claim::Transaction& tx, claim::JobRanges jobs) -> Result<claim::Change> {
      TORC_ASSIGN(workflow::PutBack back, workflow::put_back(tx, jobs, origin_now(app)));
      failed = back.failed;
      return std::move(back.change);
    };
    return run_change(app, options, kind, [&](const ChangeReport&, const Path& store) {
      if (failed == 0) return;
      say(app.out, "{} of them failed before, and {} so; to run {} again: torc retry {} --failed\n",
          show_count(failed), failed == 1 ? "stays" : "stay", failed == 1 ? "it" : "them",
          workflow::shown_path(app, store));
    });
  }
  kind.done = "removed";
  kind.would = "would remove";
  kind.apply = [&](claim::Transaction& tx, claim::JobRanges jobs) {
    using workflow::Dependents;
    return workflow::take_out(
        tx, jobs, rm.with_dependents ? Dependents::remove : Dependents::refuse, origin_now(app));
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
