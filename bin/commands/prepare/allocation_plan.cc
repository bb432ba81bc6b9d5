#include "bin/commands/prepare/allocation_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/text/text.h"
#include "lib/slurm/options.h"
#include "lib/slurm/script.h"
#include "lib/slurm/squeue.h"
#include "lib/spec/load/outline.h"
#include "lib/worker/setup/worker_setup.h"
#include "lib/workflow/plan/script_template.h"
#include "lib/workflow/plan/slurm_question.h"

namespace torc::cli {
namespace {

using cluster::Choice;
using std::chrono::seconds;

const spec::SlurmScheduler* find_scheduler(const workflow::LoadedSpec& loaded,
                                           const std::string& name) {
  for (const spec::SlurmScheduler& one : loaded.workflow->slurm_schedulers) {
    if (!name.empty() && one.name == name) return &one;
  }
  return nullptr;
}

// "to start at 2026-11-25T04:30:00 using …".
std::optional<seconds> start_in(const slurm::Answer& answer, WallTime now) {
  constexpr std::string_view kStart = "to start at ";
  for (const std::string& line : answer.words) {
    const std::size_t at = line.find(kStart);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(line).substr(at + kStart.size());
    const auto time = slurm::time_of(rest.substr(0, rest.find(' ')));
    if (!time) return std::nullopt;
    return std::max(std::chrono::duration_cast<seconds>(*time - now), seconds(0));
  }
  return std::nullopt;
}

void take(Choice& choice, const slurm::Answer& answer, WallTime now) {
  const std::string words = fmt::format("{}", fmt::join(answer.words, "; "));
  switch (answer.verdict) {
    case slurm::Verdict::accepted:
      choice.answer = Choice::Answer::accepted;
      choice.start = start_in(answer, now);
      if (!choice.start) choice.why = "the start is not understood: " + words;
      return;
    case slurm::Verdict::refused:
      choice.answer = Choice::Answer::refused;
      choice.why = words;
      return;
    case slurm::Verdict::unanswered:
      choice.why = answer.why;
      if (!words.empty()) choice.why += ": " + answer.words.back();
  }
}

Result<void> ask_about(const App& app, const workflow::LoadedSpec& loaded,
                       const KnownCluster& known, const PlanQuestion& question,
                       cluster::AllocationPlan& plan) {
  TORC_ASSIGN(const auto from, workflow::find_template(app, ""));
  const slurm::ScriptContext context{loaded.workflow->name,
                                     workflow::default_store(app, loaded),
                                     app.program,
                                     workflow::file_name_of(loaded.workflow->name),
                                     from.text,
                                     false,
                                     loaded.workflow->execution.srun_mpi};
  std::vector<workflow::BatchScript> scripts;
  std::vector<Choice*> asked;
  for (cluster::GroupPlan& one : plan.groups) {
    const spec::SlurmScheduler* own = find_scheduler(loaded, one.group.scheduler);
    for (Choice& choice : one.choices) {
      spec::SlurmScheduler scheduler =
          own != nullptr ? *own : scheduler_for(known.cluster, one.group, choice, question.account);
      scheduler.nodes = choice.nodes;
      scheduler.walltime = slurm::show_walltime(choice.walltime);
      TORC_ASSIGN(std::string text,
                  slurm::render_script(context, scheduler, loaded.workflow->slurm_defaults));
      scripts.push_back({scheduler.name, {}, {}, std::move(text)});
      asked.push_back(&choice);
    }
  }
  const WallTime now = app.clock.wall_now();
  const auto answers =
      workflow::ask_slurm(app, scripts, workflow::ReadFrom::standard_input, kForAllChoices);
  for (std::size_t i = 0; answers && i < asked.size(); ++i) take(*asked[i], answers->at(i), now);
  return {};
}

}  // namespace

spec::SlurmScheduler scheduler_for(const cluster::Cluster& cluster, const cluster::JobGroup& group,
                                   const Choice& choice, const std::string& account) {
  const cluster::Partition& partition = cluster.partitions[group.partition];
  spec::SlurmScheduler scheduler;
  scheduler.name = partition.name;
  scheduler.account = account;
  if (account.empty()) scheduler.account = cluster::account_for(cluster, partition, {});
  if (!partition.is_default) scheduler.partition = partition.name;
  scheduler.nodes = choice.nodes;
  scheduler.walltime = slurm::show_walltime(choice.walltime);
  const std::uint64_t mib = group.node.memory.value >> 20U;
  scheduler.mem = mib % 1024 == 0 ? fmt::format("{}G", mib / 1024) : fmt::format("{}M", mib);
  if (group.node.gpus != 0)
    scheduler.gres = fmt::format("gpu:{}{}{}", group.gpu_type, group.gpu_type.empty() ? "" : ":",
                                 group.node.gpus);
  scheduler.extra = "--exclusive";
  return scheduler;
}

Result<cluster::AllocationPlan> plan_allocations(const App& app, const workflow::LoadedSpec& loaded,
                                                 const KnownCluster& known,
                                                 const PlanQuestion& question) {
  const spec::Workflow& workflow = *loaded.workflow;
  const spec::Expansion& expansion = *loaded.expansion;
  const spec::Outline outline = spec::outline(expansion);
  cluster::JobGroups groups =
      workflow.slurm_schedulers.empty() || question.by_partition
          ? cluster::group_by_partition(workflow, expansion, outline, known.cluster,
                                        question.account)
          : cluster::group_by_scheduler(workflow, expansion, outline, known.cluster);
  cluster::AllocationPlan plan;
  for (const cluster::LeftOut& one : groups.left_out)
    plan.left_out.push_back(
        {workflow.jobs[expansion.entries[one.entry].source].name, one.why, one.wants_label});
  bool any = false;
  for (cluster::JobGroup& group : groups.groups) {
    cluster::GroupPlan one;
    const spec::SlurmScheduler* own = find_scheduler(loaded, group.scheduler);
    if (group.why_none.empty())
      one.choices = cluster::choices_for(group, own == nullptr ? 0 : own->nodes);
    any = any || !one.choices.empty();
    one.group = std::move(group);
    plan.groups.push_back(std::move(one));
  }
  const bool asks = question.asks_slurm && any && workflow::can_ask_slurm(app);
  if (asks) TORC_TRY(ask_about(app, loaded, known, question, plan));
  std::optional<cluster::Queue> queue;
  if (asks) {
    if (auto told = cluster::ask_queue(worker::query_program(app, kAskLimit)); told.ok())
      queue = *std::move(told);
  }
  for (cluster::GroupPlan& one : plan.groups) {
    if (one.choices.empty()) continue;
    if (queue) one.waiting = (*queue)[known.cluster.partitions[one.group.partition].name];
    cluster::settle(one.group, one.choices);
    one.recommended = cluster::recommend(one.group, one.choices);
  }
  return plan;
}

}  // namespace torc::cli
