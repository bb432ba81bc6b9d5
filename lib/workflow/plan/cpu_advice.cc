#include "lib/workflow/plan/cpu_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lib/base/plural.h"
#include "lib/base/text/quote.h"
#include "lib/slurm/asked.h"
#include "lib/spec/text/source.h"

namespace torc::workflow {
namespace {

std::string cpus_text(std::uint32_t n) {
  return plural(n, "CPU");
}

struct Offered {
  const spec::SlurmScheduler* scheduler = nullptr;
  slurm::Asked asked;
};

std::string remedy(std::uint32_t cpus, bool by_default) {
  return fmt::format("{}add --exclusive or --cpus-per-task={} to `extra` of the scheduler",
                     by_default ? "Slurm gives one CPU a task unless it is asked for more, or the "
                                  "site's defaults say otherwise: "
                                : "",
                     cpus);
}

void advise(const spec::Workflow& workflow, const spec::ExpandedEntry& entry,
            const std::vector<Offered>& all, spec::Report& report) {
  const spec::JobEntry& job = workflow.jobs[entry.source];
  std::uint32_t need = entry.resources.cpus;
  for (const Resources& one : spec::choices_of(entry.resources)) need = std::min(need, one.cpus);
  const Offered* most = nullptr;
  for (const Offered& one : all) {
    if (!entry.scheduler.empty() && one.scheduler->name != entry.scheduler) continue;
    if (!one.asked.cpus || *one.asked.cpus >= need) return;
    if (most == nullptr || *one.asked.cpus > *most->asked.cpus) most = &one;
  }
  if (most == nullptr) return;
  const bool is_bound = !entry.scheduler.empty();
  report.add(spec::Severity::warning,
             is_bound ? job.place_of("scheduler") : job.place_of_need({"num_cpus"}),
             fmt::format("job {} needs {}, and {} has {}", torc::quoted(job.name), cpus_text(need),
                         is_bound ? "a node of scheduler " + torc::quoted(entry.scheduler)
                                  : std::string("no scheduler's node has as many: the largest"),
                         cpus_text(*most->asked.cpus)),
             remedy(need, most->asked.cpus_by_default));
}

}  // namespace

void advise_of_cpus(LoadedSpec& loaded) {
  if (!loaded.expansion || !loaded.workflow->launcher.empty()) return;
  const spec::Workflow& workflow = *loaded.workflow;
  std::vector<Offered> all;
  for (const spec::SlurmScheduler& s : workflow.slurm_schedulers)
    all.push_back({&s, slurm::asked_by(s, workflow.slurm_defaults)});
  if (all.empty()) return;
  const spec::Source source(loaded.text, loaded.file);
  spec::Report report(source);
  std::set<std::pair<std::size_t, std::string>> told;  // entries, schedulers
  for (const spec::ExpandedEntry& entry : loaded.expansion->entries) {
    if (told.emplace(entry.source, entry.scheduler).second) advise(workflow, entry, all, report);
  }
  const auto place = [](const spec::Diagnostic& d) {
    return std::pair(d.place.line, d.place.column);
  };
  for (spec::Diagnostic& d : std::move(report).sorted()) {
    const auto at = std::ranges::upper_bound(loaded.diagnostics, place(d), {}, place);
    loaded.diagnostics.insert(at, std::move(d));
  }
}

}  // namespace torc::workflow
