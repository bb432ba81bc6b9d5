#include "bin/commands/prepare/plan_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bin/commands/prepare/allocation_plan.h"
#include "bin/commands/spec_report.h"
#include "bin/commands/written_spec.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/cluster/written_schedulers.h"

namespace torc::cli {
namespace {

using cluster::GroupPlan;

// Why nothing can be written by the plan; nullopt: it can.
std::optional<Error> problem_of(const cluster::AllocationPlan& plan) {
  for (const cluster::AllocationPlan::Job& job : plan.left_out) {
    if (!job.wants_label)
      return invalid(fmt::format("job {}: {}", torc::quoted(job.name), job.why),
                     "change what it needs, or write slurm_schedulers yourself");
  }
  for (const GroupPlan& one : plan.groups) {
    if (!one.group.why_none.empty())
      return invalid("no allocations can be planned: " + one.group.why_none,
                     "give the jobs a runtime");
    if (!one.recommended.choice) return invalid(one.recommended.sentence, "");
  }
  if (plan.groups.empty()) return invalid("no job could use a scheduler", "");
  return std::nullopt;
}

// As slurm_schedulers may call it, and as no other is called.
std::string name_for(const std::string& partition,
                     const std::vector<cluster::WrittenScheduler>& others) {
  std::string name = partition;
  for (char& c : name) {
    if (!is_letter(c) && !is_digit(c) && c != '_' && c != '.' && c != '-') c = '_';
  }
  const std::string first = name;
  for (int i = 2;
       std::ranges::any_of(others, [&](const auto& one) { return one.scheduler.name == name; });
       ++i)
    name = fmt::format("{}_{}", first, i);
  return name;
}

Result<std::vector<cluster::WrittenScheduler>> schedulers_of(const KnownCluster& known,
                                                             const cluster::AllocationPlan& plan,
                                                             const std::string& account) {
  std::vector<cluster::WrittenScheduler> all;
  for (const GroupPlan& one : plan.groups) {
    const cluster::Choice& choice = one.choices[*one.recommended.choice];
    cluster::WrittenScheduler written{scheduler_for(known.cluster, one.group, choice, account),
                                      choice.at_once};
    if (written.scheduler.account.empty())
      return invalid("no account is given for the allocations", "name it with --account NAME");
    written.scheduler.name = name_for(written.scheduler.name, all);
    all.push_back(std::move(written));
  }
  return all;
}

// With one scheduler any worker may run any job; but a job that names another one, which is gone
// then, is bound to the new one.
Result<std::vector<cluster::WrittenBinding>> bindings_of(
    const workflow::LoadedSpec& loaded, const cluster::AllocationPlan& plan,
    const std::vector<cluster::WrittenScheduler>& schedulers) {
  std::map<std::size_t, std::string> by_job;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    for (const std::size_t entry : plan.groups[g].group.entries) {
      const std::size_t job = loaded.expansion->entries[entry].source;
      const std::string& name = schedulers[g].scheduler.name;
      if (by_job.try_emplace(job, name).first->second != name)
        return invalid(fmt::format("the jobs of {} are for several partitions, as their needs vary "
                                   "with their parameters",
                                   torc::quoted(loaded.workflow->jobs[job].name)),
                       "make an entry of each, or write slurm_schedulers yourself");
    }
  }
  std::vector<cluster::WrittenBinding> all;
  for (const auto& [job, name] : by_job) {
    if (schedulers.size() > 1 || !loaded.workflow->jobs[job].scheduler.empty())
      all.push_back({job, name});
  }
  return all;
}

}  // namespace

Result<Exit> write_plan(const App& app, const std::string& spec, const workflow::LoadedSpec& loaded,
                        const KnownCluster& known, bool asks_slurm,
                        const PlanWriteOptions& options) {
  if (!loaded.workflow->slurm_schedulers.empty() && !options.overwrite)
    return Error{ErrorKind::invalid, fmt::format("{} has slurm_schedulers already", spec),
                 "say --overwrite to replace them"};
  TORC_ASSIGN(const Path to, place_to_write(app, spec, options.output));
  TORC_ASSIGN(const auto plan,
              plan_allocations(app, loaded, known, {true, asks_slurm, options.account}));
  if (auto problem = problem_of(plan)) return *std::move(problem);
  TORC_ASSIGN(const auto schedulers, schedulers_of(known, plan, options.account));
  TORC_ASSIGN(const auto bindings, bindings_of(loaded, plan, schedulers));
  TORC_ASSIGN(const auto edits, cluster::edits_for(loaded.text, spec, schedulers, bindings));
  const std::string text = cluster::with_edits(loaded.text, edits);
  const auto changed = workflow::load_spec_text(app, spec, text);
  if (!changed.expansion) {
    print_diagnostics(app, changed);
    return invalid(fmt::format("{} would have mistakes with these schedulers", spec),
                   "nothing was written");
  }
  say(app.out, "{}{}", to_text(known.cluster, plan), cluster::show_edits(loaded.text, edits));
  if (edits.empty() && options.output.empty()) {
    say(app.out, "nothing to change in {}\n", spec);
    return Exit::ok;
  }
  if (options.dry_run) {
    say(app.out, "nothing was written (--dry-run)\n");
    return Exit::ok;
  }
  TORC_TRY(write_spec(loaded, to, text, options.output));
  say(app.out, "written: {}\n", workflow::shown_path(app, to));
  return Exit::ok;
}

}  // namespace torc::cli
