#include "lib/spec/load/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/labels.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/utf8.h"
#include "lib/spec/expand/reference.h"
#include "lib/spec/text/command_line.h"
#include "lib/spec/text/source.h"

namespace torc::spec {
namespace {

// Nodes with fewer CPUs for each of several nodes are common; a number this large in all looks like
// their sum.
constexpr std::uint32_t kManyCpusEach = 32;

class Adviser {
 public:
  Adviser(const Workflow& workflow, const Expansion& expansion, Report& report)
      : workflow_(workflow), expansion_(expansion), report_(report) {}

  void run() {
    for (const ResourceRequirements& r : workflow_.resource_requirements)
      totals(r, r.name, r.place);
    for (const ExpandedEntry& entry : expansion_.entries) {
      const JobEntry& job = workflow_.jobs[entry.source];
      if (!job.needs.empty() && totalled_.insert(entry.source).second)
        totals(entry.resources, job.name, job.place_of_need({"num_nodes", "num_cpus"}));
      launcher(job, entry);
      independent(job, entry);
      walltime(job, entry);
      label(job, entry);
    }
    unscheduled();
  }

 private:
  void warn(Place place, std::string message, std::string remedy) {
    report_.add(Severity::warning, place, std::move(message), std::move(remedy));
  }

  void totals(const Resources& r, const std::string& name, Place place) {
    if (r.nodes < 2 || r.cpus % r.nodes != 0) return;
    const std::uint32_t each = r.cpus / r.nodes;
    if (each < kManyCpusEach) return;
    warn(place,
         fmt::format("{} asks for {} CPUs and {} on each of {} nodes: {} CPUs and {} in all",
                     torc::quoted(name), r.cpus, show_bytes(r.memory), r.nodes,
                     std::uint64_t{r.cpus} * r.nodes,
                     show_bytes(ByteCount{r.memory.value * r.nodes})),
         fmt::format("amounts are those of one node; if {} CPUs are the total, write {}", r.cpus,
                     each));
  }

  // In mode slurm it was told when the spec was read.
  void launcher(const JobEntry& job, const ExpandedEntry& entry) {
    const std::string_view word = program_of(job.command);
    const bool undecided = workflow_.execution.mode == ExecutionMode::automatic;
    if (!undecided || entry.scheduler.empty() || !is_launcher(word)) return;
    if (entry.resources.nodes > 1) return;  // the head runs it, in every mode
    warn(place_within(report_.source(), job.place_of("command"), job.command,
                      static_cast<std::size_t>(word.data() - job.command.data()), word.size()),
         fmt::format("in mode slurm srun starts every job, and this {} would start tasks within it",
                     word.substr(word.rfind('/') + 1)),
         "say mode: direct in execution_config, or write the command without it");
  }

  void independent(const JobEntry& job, const ExpandedEntry& entry) {
    const std::uint32_t nodes = entry.resources.nodes;
    if (nodes < 2 || entry.count < 2 || !told_.insert(entry.source).second) return;
    warn(job.place,
         fmt::format("each of the {} jobs of {} takes {} whole nodes for itself", entry.count,
                     torc::quoted(job.name), nodes),
         "num_nodes is for one job that spans nodes; for independent jobs leave it at 1, and give "
         "the scheduler more nodes");
  }

  // Of a scheduler that the job is bound to it was told when the spec was read.
  void walltime(const JobEntry& job, const ExpandedEntry& entry) {
    // Of alternatives the one that is done first.
    const std::vector<Resources> choices = choices_of(entry.resources);
    const Resources& shortest = *std::ranges::min_element(choices, {}, least_time);
    const auto runtime = least_time(shortest);
    if (!entry.scheduler.empty() || runtime.count() == 0 || workflow_.slurm_schedulers.empty())
      return;
    std::chrono::seconds longest{0};
    for (const SlurmScheduler& s : workflow_.slurm_schedulers) {
      const auto limit = parse_walltime(s.walltime);
      if (s.walltime.empty() || !limit.ok() || !limit->has_value()) return;
      longest = std::max(longest, **limit);
    }
    const KeptFree kept = workflow_.kept_free();
    if (runtime <= longest_runtime(longest, kept)) return;
    warn(job.place_of_need({"min_time", "runtime", "time_limit"}),
         fmt::format("{} {} {}, and no scheduler has a walltime of more than {}",
                     torc::quoted(job.name),
                     shortest.min_time.count() > 0 ? "needs at least" : "may run",
                     show_exactly(runtime), show_exactly(longest)),
         runtime > longest
             ? "raise a walltime, or lower the runtime"
             : fmt::format("no worker would start it: {}. Raise a walltime to {}, or lower the "
                           "runtime",
                           say_kept_free(kept), show_exactly(shortest_walltime(runtime, kept))));
  }

  void label(const JobEntry& job, const ExpandedEntry& entry) {
    if (entry.labels.empty() || !labels_.insert(entry.labels).second) return;
    warn(job.place_of(job.labels_key()),
         fmt::format("no batch script starts workers with the {}", say_labels(entry.labels)),
         fmt::format("start some with 'torc worker --label {}', or submit with "
                     "TORC_WORKER_FLAGS='--label {}'",
                     entry.labels, entry.labels));
  }

  // Where actions or terms ask for allocations, those of every scheduler must be asked for.
  void unscheduled() {
    std::set<std::string_view> served;
    for (const Action& action : workflow_.actions) {
      if (action.kind == Action::Kind::schedule_nodes) served.insert(action.scheduler);
    }
    for (const SlurmScheduler& s : workflow_.slurm_schedulers) {
      if (s.allocate) served.insert(s.name);
    }
    if (served.empty()) return;
    std::set<std::string_view> told;
    for (const ExpandedEntry& entry : expansion_.entries) {
      if (entry.scheduler.empty() || served.contains(entry.scheduler)) continue;
      if (!told.insert(entry.scheduler).second) continue;
      warn(workflow_.jobs[entry.source].place_of("scheduler"),
           fmt::format("nothing asks for allocations of scheduler {}",
                       torc::quoted(entry.scheduler)),
           "give it 'allocate: {}' or an action with schedule_nodes, or submit its batch script "
           "yourself");
    }
  }

  const Workflow& workflow_;
  const Expansion& expansion_;
  Report& report_;
  std::set<std::size_t> told_;
  std::set<std::size_t> totalled_;
  std::set<std::string> labels_;
};

}  // namespace

std::vector<Diagnostic> advice(const Workflow& workflow, const Expansion& expansion,
                               std::string_view text, const std::string& file) {
  const Source source(without_bom(text), file);
  Report report(source);
  Adviser(workflow, expansion, report).run();
  return std::move(report).sorted();
}

}  // namespace torc::spec
