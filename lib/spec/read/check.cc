#include "lib/spec/read/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/text/command_line.h"
#include "lib/spec/text/placeholder.h"

namespace torc::spec {
namespace {

template <class T>
using ByName = std::unordered_map<std::string, const T*>;

template <class T>
ByName<T> index(const Session& session, const std::vector<T>& all, std::string_view kind) {
  ByName<T> by_name;
  for (const T& one : all) {
    const auto [found, is_new] = by_name.emplace(one.name, &one);
    if (is_new || one.name.empty()) continue;
    session.report.error(
        one.place, fmt::format("{} {} is defined twice", kind, torc::quoted(one.name)),
        fmt::format("rename one; the other is in line {}", found->second->place.line));
  }
  return by_name;
}

// A name that differs between the jobs of an entry is looked up when they are expanded.
bool varies(const JobEntry& job, std::string_view name) {
  for (const Placeholder& p : placeholders(name)) {
    for (const Parameter& parameter : job.parameters) {
      if (parameter.name == p.name) return true;
    }
  }
  return false;
}

// What the jobs name and nobody defines: each name is one mistake, however many jobs make it.
class Unknown {
 public:
  Unknown(const Report& report, std::string_view kind, std::string_view section,
          std::string job_key)
      : report_(report), kind_(kind), section_(section), job_key_(std::move(job_key)) {}

  template <class T>
  const T* look_up(const ByName<T>& by_name, const std::string& name, const JobEntry& job) {
    return varies(job, name) ? nullptr : look_up(by_name, name, job.place_of(job_key_));
  }
  template <class T>
  const T* look_up(const ByName<T>& by_name, const std::string& name, Place place) {
    if (name.empty()) return nullptr;
    const auto found = by_name.find(name);
    if (found != by_name.end()) return found->second;
    const auto [use, first] = uses_.try_emplace(name, Use{place, 0, {}});
    if (first) {
      use->second.guess = report_.guess(name, [&] {
        std::vector<std::string> names;
        for (const auto& [known, value] : by_name) names.push_back(known);
        std::ranges::sort(names);
        return names;
      });
    }
    ++use->second.count;
    return nullptr;
  }

  void report(const Session& session) const {
    for (const auto& [name, use] : uses_) {
      const std::string others = use.count == 1 ? "" : fmt::format(" ({} name it)", use.count);
      session.report.error(
          use.place, fmt::format("no {} is named {}{}", kind_, torc::quoted(name), others),
          use.guess.empty() ? fmt::format("define it under {}", section_)
                            : fmt::format("did you mean {}?", torc::quoted(use.guess)));
    }
  }

 private:
  struct Use {
    Place place;
    std::size_t count;
    std::string guess;
  };
  const Report& report_;
  std::string_view kind_;
  std::string_view section_;
  std::string job_key_;  // that names one
  std::map<std::string, Use> uses_;
};

// GPUs of a node by gres like gpu:2, gpu:a100:4, lustre:1,gpu:1; none: it does not say.
std::optional<std::uint64_t> gpus_of(std::string_view gres) {
  std::optional<std::uint64_t> gpus;
  for (const std::string_view one : split(gres, ',')) {
    if (one != "gpu" && !one.starts_with("gpu:")) continue;
    const auto number = parse_integer(one.substr(one.rfind(':') + 1));
    gpus = gpus.value_or(0) + static_cast<std::uint64_t>(number.ok() ? number->value_or(1) : 1);
  }
  return gpus;
}

struct Fit {
  const Session& session;
  const JobEntry& job;
  const Resources needs;
  const SlurmScheduler& scheduler;
  KeptFree kept;
  std::size_t alternative = 0;  // from 1; 0: the job has no others
  bool never = false;           // it was told that it fits on no node

  // "job 'a'", "alternative 2 of job 'a'".
  [[nodiscard]] std::string who() const {
    const std::string name = fmt::format("job {}", torc::quoted(job.name));
    return alternative == 0 ? name : fmt::format("alternative {} of {}", alternative, name);
  }

  [[nodiscard]] Place place() const { return job.place_of("scheduler"); }
  void check_nodes() {
    if (needs.nodes <= scheduler.nodes) return;
    impossible(fmt::format("{} needs {} nodes, and an allocation of scheduler {} has {}", who(),
                           needs.nodes, torc::quoted(scheduler.name), scheduler.nodes),
               "raise nodes of the scheduler, or lower num_nodes");
  }
  // Of one alternative it is a mistake only where no other fits.
  void impossible(std::string message, std::string remedy) {
    never = true;
    const Severity severity = alternative == 0 ? Severity::error : Severity::warning;
    session.report.add(severity, place(), std::move(message), std::move(remedy));
  }
  void check_time() const {
    const auto limit = parse_walltime(scheduler.walltime);
    const std::chrono::seconds least = least_time(needs);
    if (!limit.ok() || !limit->has_value() || least.count() == 0) return;
    const std::string figures =
        fmt::format("{} {} {}, and scheduler {} has a walltime of {}", who(),
                    needs.min_time.count() > 0 ? "needs at least" : "may run", show_exactly(least),
                    torc::quoted(scheduler.name), show_exactly(**limit));
    if (least > **limit) {
      // Times change by a command of a moment, `torc set` or sbatch --time; what a node has does
      // not.
      session.report.add(Severity::warning, place(), figures,
                         "no worker would start it: raise the walltime, or lower the runtime");
    } else if (least > longest_runtime(**limit, kept)) {
      session.report.add(
          Severity::warning, place(), figures,
          fmt::format("no worker would start it: {}. Raise the walltime to {}, or "
                      "lower the runtime",
                      say_kept_free(kept), show_exactly(shortest_walltime(least, kept))));
    }
  }
  void check_amounts() {
    const auto memory = parse_slurm_memory(scheduler.mem);
    if (memory && needs.memory > *memory) {
      impossible(
          fmt::format("{} needs {}, and a node of scheduler {} has {}", who(),
                      show_bytes(needs.memory), torc::quoted(scheduler.name), show_bytes(*memory)),
          "raise mem, or lower the memory");
    }
    const auto gpus = gpus_of(scheduler.gres);
    if (const std::uint32_t count = gpu_count(needs); gpus && count > *gpus) {
      impossible(fmt::format("{} needs {} GPU{}, and a node of scheduler {} has {}", who(), count,
                             count == 1 ? "" : "s", torc::quoted(scheduler.name), *gpus),
                 "raise gres, or lower num_gpus");
    }
  }
};

void check_fit(const Session& session, const JobEntry& job, const std::vector<Resources>& choices,
               const SlurmScheduler& scheduler, KeptFree kept) {
  bool any = false;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Fit fit{session, job, choices[i], scheduler, kept, choices.size() == 1 ? 0 : i + 1};
    fit.check_time();
    fit.check_amounts();
    fit.check_nodes();
    any = any || !fit.never;
  }
  if (any || choices.size() == 1) return;
  session.report.error(job.place_of("scheduler"),
                       fmt::format("no alternative of job {} fits on a node of scheduler {}",
                                   torc::quoted(job.name), torc::quoted(scheduler.name)),
                       "let one of them need less, or ask for more in the scheduler");
}

// Workers of other machines (--group) are not for a workflow that names its allocations.
void check_nodes_of_all(const Session& session, const Workflow& workflow, const JobEntry& job,
                        std::uint32_t nodes) {
  if (nodes < 2 || workflow.slurm_schedulers.empty()) return;
  std::uint32_t most = 0;
  for (const SlurmScheduler& s : workflow.slurm_schedulers) most = std::max(most, s.nodes);
  if (nodes <= most) return;
  session.report.error(
      job.place_of_need({"num_nodes"}),
      fmt::format("job {} needs {} nodes, and no scheduler has allocations of more than {}",
                  torc::quoted(job.name), nodes, most),
      "raise nodes of a scheduler, or lower num_nodes");
}

// What tells how a command is started on several nodes, of a job that has one.
void check_launch(const Session& session, const JobEntry& job, std::uint32_t nodes) {
  for (const auto& [key, said] :
       {std::pair("launch", job.launch.on != LaunchOn::automatic),
        std::pair("launch_end", job.launch.end != LaunchEnd::first_failure),
        std::pair("ntasks_per_node", job.launch.tasks_per_node != 0)}) {
    if (!said || nodes > 1) continue;
    session.report.error(job.place_of(key),
                         fmt::format("'{}' is for jobs of several nodes, and job {} has one", key,
                                     torc::quoted(job.name)),
                         "remove it, or give the job a num_nodes above 1");
  }
  if (nodes > 1 && job.launch.end == LaunchEnd::all && job.launch.on != LaunchOn::all) {
    session.report.error(job.place_of("launch_end"),
                         fmt::format("'launch_end' is for commands that run on every node, and "
                                     "that of job {} runs on the first one",
                                     torc::quoted(job.name)),
                         "remove it, or write launch: all");
  }
}

// Slurm gives a step whole GPUs.
void check_gpus_of_step(const Session& session, const JobEntry& job, const Resources& needed) {
  for (const Amount& a : needed.named) {
    if (!is_gpu(a.name) || a.thousandths >= kWhole) continue;
    session.report.error(job.place_of_need({"num_gpus", "gpus", "resources"}),
                         fmt::format("{} of {} is not a part of a step of Slurm",
                                     show_thousandths(a.thousandths), torc::quoted(a.name)),
                         "ask for whole GPUs, or use mode: direct or auto, where jobs share them");
  }
}

void check_launcher(const Session& session, const JobEntry& job) {
  std::vector<std::pair<std::string, const std::string*>> texts{
      {"invocation_script", &job.invocation_script}, {"command", &job.command}};
  for (std::size_t i = 0; i < job.one_of.size(); ++i)
    texts.emplace_back(command_key(i), &job.one_of[i].command);
  for (const auto& [key, text] : texts) {
    const std::string_view word = program_of(*text);
    const std::string_view program = word.substr(word.rfind('/') + 1);
    if (!is_launcher(program)) continue;
    session.report.add(
        Severity::warning,
        place_within(session.source, job.place_of(key), *text,
                     static_cast<std::size_t>(word.data() - text->data()), word.size()),
        fmt::format(
            "in mode slurm every job is started by srun, so this {} starts tasks within its step",
            program),
        fmt::format("write the command without {}: the CPUs that it asks for are those that the "
                    "step has, and it waits for them; to start tasks yourself use mode: direct",
                    program));
  }
}

// A label that hardly anybody has, beside one that differs from it by a slip.
void check_labels(const Session& session, const Workflow& workflow) {
  std::map<std::string, std::vector<const JobEntry*>> users;
  for (const JobEntry& job : workflow.jobs) {
    for (const std::string& label : job.labels) {
      if (!varies(job, label)) users[label].push_back(&job);
    }
  }
  for (const auto& [label, jobs] : users) {
    if (jobs.size() != 1) continue;
    const std::string guess = session.report.guess(label, [&users] {
      std::vector<std::string> commoner;
      for (const auto& [other, others] : users) {
        if (others.size() > 1) commoner.push_back(other);
      }
      return commoner;
    });
    if (guess.empty()) continue;
    session.report.add(Severity::warning, jobs.front()->place_of(jobs.front()->labels_key()),
                       fmt::format("only this job has the label {}", torc::quoted(label)),
                       fmt::format("did you mean {}, as {} others have?", torc::quoted(guess),
                                   users[guess].size()));
  }
}

void check_actions(const Session& session, const Workflow& workflow,
                   const ByName<SlurmScheduler>& schedulers, Unknown& no_scheduler) {
  for (const Action& action : workflow.actions) {
    (void)no_scheduler.look_up(schedulers, action.scheduler, action.place_of("scheduler"));
    if (action.start_one_worker_per_node && workflow.execution.mode == ExecutionMode::slurm) {
      session.report.error(action.place_of("start_one_worker_per_node"),
                           "'start_one_worker_per_node' belongs to mode direct, not to slurm",
                           "remove it: in mode slurm one worker serves all nodes of an allocation");
    }
  }
}

}  // namespace

void check_references(const Session& session, const Workflow& workflow) {
  const auto resources =
      index(session, workflow.resource_requirements, "the set of resource requirements");
  const auto schedulers = index(session, workflow.slurm_schedulers, "the scheduler");
  const auto handlers = index(session, workflow.failure_handlers, "the failure handler");
  Unknown no_resources(session.report, "set of resource requirements", "resource_requirements",
                       "resource_requirements");
  Unknown no_scheduler(session.report, "scheduler", "slurm_schedulers", "scheduler");
  Unknown no_handler(session.report, "failure handler", "failure_handlers", "failure_handler");
  const auto datasets = index(session, workflow.datasets, "the dataset");
  Unknown no_dataset(session.report, "dataset", "datasets", "input_datasets");
  for (const JobEntry& job : workflow.jobs) {
    for (const auto& [key, names] : {std::pair("input_datasets", &job.input_datasets),
                                     std::pair("output_datasets", &job.output_datasets)}) {
      for (std::size_t i = 0; i < names->size(); ++i)
        (void)no_dataset.look_up(datasets, (*names)[i], job.place_of(key, i));
    }
    // One for all jobs of an entry: parameters are not filled in.
    (void)no_handler.look_up(handlers, job.failure_handler, job.place_of("failure_handler"));
    const ResourceRequirements* set =
        no_resources.look_up(resources, job.resource_requirements, job);
    const SlurmScheduler* scheduler = no_scheduler.look_up(schedulers, job.scheduler, job);
    if (!job.sound || (set == nullptr && !job.resource_requirements.empty())) continue;
    const ResourceRequirements needed = job.needs_with(set);
    const std::vector<Resources> choices = choices_of(needed);
    if (workflow.execution.mode == ExecutionMode::slurm) {
      // Of several nodes the first one runs it, and it makes steps of its own.
      if (needed.nodes == 1) check_launcher(session, job);
      for (const Resources& one : choices) check_gpus_of_step(session, job, one);
    }
    check_launch(session, job, needed.nodes);
    if (job.scheduler.empty()) check_nodes_of_all(session, workflow, job, needed.nodes);
    if (scheduler == nullptr) continue;
    check_fit(session, job, choices, *scheduler, workflow.kept_free());
  }
  check_actions(session, workflow, schedulers, no_scheduler);
  check_labels(session, workflow);
  check_limits(session, workflow);
  check_times(session, workflow);
  check_needs(session, workflow);
  no_resources.report(session);
  no_dataset.report(session);
  no_scheduler.report(session);
  no_handler.report(session);
}

}  // namespace torc::spec
