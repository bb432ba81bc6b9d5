#include "bin/commands/run/unrunnable.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bin/commands/look/unserved.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/claim/queries/learned_times.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/exec/machine/machine.h"
#include "lib/report/situation.h"
#include "lib/report/start_by_hand.h"
#include "lib/report/why_remedy.h"
#include "lib/worker/text/mismatch_text.h"

namespace torc::cli {
namespace {

constexpr std::size_t kMostShown = 10;  // classes

// As it will register.
claim::WorkerInfo info_of(const worker::WorkerSetup& setup) {
  claim::WorkerInfo info;
  info.group = setup.group;
  info.node_name = setup.node_name;
  info.scheduler = setup.scheduler;
  info.labels = setup.labels;
  info.also_unlabelled = setup.also_unlabelled;
  info.any_binding = setup.any_scheduler;
  info.ignores_resources = setup.max_parallel_jobs.has_value();
  info.cpus = setup.machine.cpus;
  info.gpus = static_cast<std::uint32_t>(setup.machine.gpus.size());
  info.memory = setup.machine.memory;
  info.more.named = exec::named_of(setup.machine);
  info.ends_at = setup.ends_at.value_or(WallTime{});
  return info;
}

struct Unrunnable {
  claim::JobClass job_class;
  JobId first{};
  std::uint64_t jobs = 0;
};
using ByClass = std::map<std::uint32_t, Unrunnable>;

// Jobs that are not over, of classes that `workers` could never run. Those of an entry that were
// given other needs (`torc set`) are left out.
Result<ByClass> find_unrunnable(const claim::Reader& reader, const std::vector<AtWork>& workers) {
  ByClass found;
  std::map<std::uint32_t, bool> served;
  claim::State state(reader);
  TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
    const auto [at, is_new] = served.try_emplace(t.job_class);
    const claim::JobClass c = claim::as_learned(reader, claim::read_class(reader, t.job_class));
    if (is_new) at->second = is_served(c, workers);
    if (at->second) return true;
    for (std::uint64_t id = raw(t.first); id < raw(t.first) + t.count; ++id) {
      const auto job = state.job(id);
      const auto rank = state.rank_of(id);
      if (!job || claim::is_over(job->state) || !rank || rank->job_class != t.job_class) continue;
      Unrunnable& one = found.try_emplace(t.job_class, Unrunnable{c, JobId{id}, 0}).first->second;
      ++one.jobs;
    }
    return true;
  }));
  TORC_TRY(state.sound());
  return found;
}

std::string say_one(const Unrunnable& one, const std::string& name, const claim::Offer& here,
                    const std::string& store) {
  const std::string word = shell_word(name);
  const std::string which = one.jobs == 1 ? torc::quoted(name)
                                          : fmt::format("{} jobs (the first is {})",
                                                        show_count(one.jobs), torc::quoted(name));
  const std::string less = report::settings_that_fit(one.job_class, here);
  const bool wide = one.job_class.need.nodes > 1;
  return fmt::format(
      "{} cannot run here: {}; {}start {} where there is more: torc worker {}{}", which,
      worker::show_mismatches(one.job_class, here),
      less.empty() ? ""
                   : fmt::format("let it need less (torc set {} {}{}), or ", store, word, less),
      wide ? "workers" : "a worker", store, report::worker_flags(one.job_class));
}

}  // namespace

Result<std::vector<std::string>> unrunnable_jobs(const App& app, store::Store& store,
                                                 const worker::WorkerSetup& setup) {
  TORC_ASSIGN(const auto situation, report::look_around(app, store, report::AskSlurm::no));
  const WallTime now = app.clock.wall_now();
  const claim::WorkerInfo info = info_of(setup);
  const claim::Offer here = claim::whole_offer(info, now);
  std::vector<AtWork> workers = workers_at_work(situation, now);
  workers.push_back({&info, here});
  const std::string shown = shell_word(workflow::shown_path(app, store.directory()));
  std::vector<std::string> lines;
  TORC_TRY(store.view(store::Freshness::cached, [&](const claim::Reader& reader) -> Result<void> {
    lines.clear();
    TORC_ASSIGN(const ByClass found, find_unrunnable(reader, workers));
    workflow::RecipeBook book;
    for (const auto& [number, one] : found) {
      if (lines.size() == kMostShown) break;
      lines.push_back(say_one(one, workflow::job_name(book, reader, one.first), here, shown));
    }
    if (found.size() > kMostShown)
      lines.push_back(fmt::format("and jobs with {} other requirements: torc status {}",
                                  found.size() - kMostShown, shown));
    return {};
  }));
  return lines;
}

}  // namespace torc::cli
