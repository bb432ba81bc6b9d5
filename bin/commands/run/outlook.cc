#include "bin/commands/run/outlook.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "bin/commands/selection.h"
#include "bin/tables.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/claim/transactions/reset.h"
#include "lib/report/job_view.h"
#include "lib/store/engine/memory_state.h"

namespace torc::cli {
namespace {

using claim::JobRange;
using claim::JobState;

// What is downstream of jobs that failed, were canceled or are held, where nothing but completion
// lets a job start: it waits, and is not reached. Where other ends count, nobody is said to be so.
Result<std::vector<JobRange>> behind_failures(const claim::Reader& reader) {
  if ((claim::State(reader).tally().rules & claim::rule::kEnds) != 0)
    return std::vector<JobRange>();
  JobSet set_aside;
  for (const JobState state : claim::all_states()) {
    if (!claim::is_set_aside(state)) continue;
    TORC_TRY(claim::scan_jobs(reader, state, [&](JobId id, const claim::Job&) {
      set_aside.add(id);
      return true;
    }));
  }
  const std::vector<JobRange> jobs = std::move(set_aside).ranges();
  if (jobs.empty()) return jobs;
  return claim::with_downstream(reader, jobs);
}

Result<std::vector<Outlook::Stage>> read_stages(const claim::Reader& reader,
                                                const ChosenJobs& chosen) {
  TORC_ASSIGN(auto behind, behind_failures(reader));
  if (chosen) behind = claim::without(behind, claim::without(behind, *chosen));
  TORC_ASSIGN(const auto all, report::read_stages(reader, chosen.get()));
  TORC_ASSIGN(const auto unreachable, report::read_stages(reader, &behind));
  std::vector<Outlook::Stage> stages;
  for (const report::StageCounts& one : all) {
    const auto same = std::ranges::find(unreachable, one.name, &report::StageCounts::name);
    stages.push_back({one, same == unreachable.end() ? 0 : same->of(JobState::blocked)});
  }
  return stages;
}

// What is left besides what would run: ", 1 failed, 2 never reached".
std::string rest_of(const Outlook& o) {
  std::string text;
  const auto tell = [&](std::uint64_t jobs, std::string_view what) {
    if (jobs > 0) text += fmt::format(", {} {}", show_count(jobs), what);
  };
  std::uint64_t unreachable = 0;
  for (const Outlook::Stage& stage : o.stages) unreachable += stage.unreachable;
  const std::uint64_t unmet = o.chosen ? o.chosen->unmet : o.workflow.unmet;
  tell(o.of(JobState::failed) + o.of(JobState::terminated), "failed");
  tell(o.of(JobState::canceled) - std::min(o.of(JobState::canceled), unmet), "canceled");
  tell(o.of(JobState::pending_failed), "failed and to be decided");
  tell(o.of(JobState::held), "held");
  tell(unreachable, "never reached");
  tell(o.of(JobState::claimed) + o.of(JobState::running), "with other workers");
  return text;
}

void print_stages(const App& app, const std::vector<Outlook::Stage>& stages) {
  constexpr std::size_t kMostStages = 40;
  Table table({{"stage", Align::left, Shorten::yes},
               {"would run", Align::right},
               {"of", Align::right},
               {"ready now", Align::right}});
  std::size_t more = 0;
  for (const Outlook::Stage& stage : stages) {
    if (stage.to_run() == 0) continue;
    if (table.rows() == kMostStages) {
      ++more;
      continue;
    }
    table.add({printable(stage.counts.name), show_count(stage.to_run()),
               show_count(stage.counts.jobs()), show_count(stage.counts.of(JobState::ready))});
  }
  if (table.rows() > 0) say_table(app, table);
  if (more > 0) say(app.out, "and {} more stages\n", show_count(more));
}

}  // namespace

std::uint64_t Outlook::to_run() const {
  std::uint64_t jobs = 0;
  for (const Stage& stage : stages) jobs += stage.to_run();
  return jobs;
}

Result<Outlook> outlook_after(const App& app, store::Transaction& tx,
                              const ChoiceOptions& options) {
  Outlook outlook;
  TORC_TRY(check_names(tx, options));
  if (!options.force.empty()) {
    TORC_ASSIGN(const auto named, select_jobs(tx, Selection{options.force, "", {}, false}));
    claim::Change left;
    TORC_ASSIGN(const auto jobs, claim::in_the_file(tx, named, left));
    TORC_ASSIGN(const auto change,
                claim::reset_jobs(tx, jobs, claim::Force::no, app.clock.wall_now()));
    outlook.forced = change.total();
  }
  TORC_ASSIGN(const ChosenJobs chosen, chosen_jobs(tx, options));
  TORC_ASSIGN(outlook.workflow, claim::read_workflow(tx));
  TORC_TRY(claim::leave_out_removed(tx, outlook.workflow));
  if (chosen) {
    TORC_ASSIGN(outlook.chosen, count_chosen(tx, *chosen));
  }
  TORC_ASSIGN(outlook.stages, read_stages(tx, chosen));
  return outlook;
}

Result<void> look_before_store(const workflow::LoadedSpec& loaded, const store::Store::Body& body) {
  store::MemoryState tx;
  TORC_TRY(claim::write_plan(tx, workflow::make_plan(loaded, {})));
  return body(tx);
}

void print(const App& app, const Outlook& o, const std::string& shown) {
  const std::uint64_t jobs = o.chosen ? o.chosen->jobs() : o.workflow.jobs;
  const std::uint64_t done =
      o.of(JobState::completed) + (o.chosen ? o.chosen->unmet : std::uint64_t{0});
  const std::string all = plural(jobs, "job") + (!o.chosen   ? ""
                                                 : jobs == 1 ? " that was asked for"
                                                             : " that were asked for");
  const std::uint64_t ready = o.of(JobState::ready) + o.of(JobState::delayed);
  if (o.forced > 0) say(app.out, "{} again by --force\n", plural(o.forced, "job"));
  if (o.workflow.halted()) {
    say(app.out, "nothing would run: {} failed, and max_failures is {}{}\n",
        plural(report::failures(o.workflow), "job"), show_count(o.workflow.max_failures),
        rest_of(o));
    return;
  }
  if (o.to_run() == 0) {
    say(app.out, "nothing would run: {} of {} completed{}\n", show_count(done), all, rest_of(o));
  } else {
    const std::uint64_t waiting = o.to_run() - ready;
    say(app.out, "{} would run: {} ready{}; {} of {} completed{}\n", plural(o.to_run(), "job"),
        show_count(ready),
        waiting == 0 ? ""
                     : fmt::format(", {} that {} for others", show_count(waiting),
                                   waiting == 1 ? "waits" : "wait"),
        show_count(done), all, rest_of(o));
  }
  if (report::failures(o.workflow) > 0 && !o.chosen)
    say(app.out, "those that failed stay so: `torc retry {} --failed` lets them run again\n",
        shown);
  print_stages(app, o.stages);
}

}  // namespace torc::cli
