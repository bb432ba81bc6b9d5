#include "lib/cluster/job_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lib/base/labels.h"
#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/cluster/from_slurm.h"
#include "lib/slurm/asked.h"

namespace torc::cluster {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMostBatches = 100'000;

// "a100" of a need for gpus/a100; empty: any.
std::string gpu_type_of(const Resources& needs) {
  for (const torc::Amount& amount : needs.named) {
    if (is_gpu(amount.name) && amount.name.size() > kGpus.size())
      return amount.name.substr(kGpus.size() + 1);
  }
  return {};
}

Batch batch_of(const Resources& needs) {
  Batch batch;
  batch.nodes = needs.nodes;
  batch.cpus = needs.cpus;
  batch.memory = needs.memory;
  batch.gpus = gpu_count(needs);
  batch.runtime = expected_time(needs);
  return batch;
}

Need need_of(const Resources& needs, const KeptFree& kept, const std::string& account) {
  Need need;
  need.nodes = needs.nodes;
  need.cpus = needs.cpus;
  need.memory = needs.memory;
  need.gpus = gpu_count(needs);
  need.gpu_type = gpu_type_of(needs);
  if (least_time(needs).count() > 0) need.walltime = shortest_walltime(least_time(needs), kept);
  need.account = account;
  return need;
}

template <class Value>
void at_most(std::optional<Value>& limit, const std::optional<Value>& other) {
  if (other) limit = std::min(limit.value_or(*other), *other);
}

void add_limits(AllocationBounds& bounds, const Limits& limits) {
  at_most(bounds.walltime, limits.walltime);
  at_most(bounds.running, limits.running_jobs);
  at_most(bounds.running, limits.submitted_jobs);
}

// Whether a node of the kind has what an allocation of the group has of each.
bool has_shape(const JobGroup& group, const Partition& partition, const NodeGroup& kind) {
  return partition.cpus_of(kind) >= group.node.cpus &&
         partition.memory_of(kind) >= group.node.memory &&
         kind.gpus_of(group.gpu_type) >= group.node.gpus;
}

// Its bounds but for what is kept free, and idle nodes, by the nodes that have its shape. `qos`: as
// somebody asks for it; empty: nobody does.
void bound(JobGroup& group, const Cluster& cluster, const std::string& account,
           const std::string& qos) {
  const Partition& partition = cluster.partitions[group.partition];
  AllocationBounds& bounds = group.bounds;
  std::uint64_t nodes = 0;
  std::uint64_t usable = 0;
  group.idle = 0;
  for (const NodeGroup& kind : partition.nodes) {
    if (!has_shape(group, partition, kind)) continue;
    nodes += kind.count;
    usable += kind.usable.value_or(kind.count);
    group.idle = group.idle && kind.idle ? std::optional(*group.idle + *kind.idle) : std::nullopt;
  }
  // None that can be used is not for long.
  bounds.all_nodes = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(usable == 0 ? nodes : usable, 1, std::uint64_t{1} << 20U));
  bounds.most_nodes = std::min(bounds.all_nodes, partition.max_nodes.value_or(bounds.all_nodes));
  bounds.least_nodes = std::clamp<std::uint32_t>(partition.min_nodes, 1, bounds.most_nodes);
  bounds.walltime = partition.walltime;
  Need need;
  need.account = account;
  const Association* own = account.empty() ? nullptr : association_for(cluster, partition, need);
  add_limits(bounds, limits_of(cluster, own, qos));
}

// The jobs of an entry, stage by stage.
class Stages {
 public:
  Stages(const spec::Expansion& expansion, const spec::Outline& outline) : expansion_(expansion) {
    by_entry_.resize(expansion.entries.size());
    for (const spec::Segment& segment : outline.segments) {
      auto& of = by_entry_[segment.entry];
      if (!of.empty() && of.back().first == segment.stage)
        of.back().second += segment.count;
      else
        of.emplace_back(segment.stage, segment.count);
    }
  }
  void add(JobGroup& group, std::size_t entry) const {
    group.entries.push_back(entry);
    Batch batch = batch_of(expansion_.entries[entry].resources);
    // One that goes on in the next allocation (min_time) counts as several, each as long as may be.
    std::uint64_t parts = 1;
    if (const auto most = group.bounds.time(); most && batch.runtime > *most && most->count() > 0) {
      parts = static_cast<std::uint64_t>((batch.runtime - seconds(1)) / *most) + 1;
      batch.runtime = *most;
    }
    for (const auto& [stage, jobs] : by_entry_[entry]) {
      batch.stage = stage;
      batch.jobs = jobs * parts;
      group.batches.push_back(batch);
    }
  }

 private:
  const spec::Expansion& expansion_;
  std::vector<std::vector<std::pair<std::size_t, std::uint64_t>>> by_entry_;
};

void guess_runtimes(JobGroup& group) {
  seconds longest{0};
  for (const Batch& batch : group.batches) longest = std::max(longest, batch.runtime);
  if (group.batches.empty() && group.why_none.empty()) group.why_none = "no job uses it";
  if (!group.batches.empty() && longest.count() == 0)
    group.why_none = "no job declares a runtime, so it is not known how much there is to do";
  if (group.batches.size() > kMostBatches)
    group.why_none = fmt::format("more than {} kinds of jobs and stages", show_count(kMostBatches));
  for (Batch& batch : group.batches) {
    if (batch.runtime.count() != 0) continue;
    batch.runtime = longest;
    group.guessed += batch.jobs;
  }
}

std::string label_problem(const spec::ExpandedEntry& entry) {
  return entry.labels.empty() ? ""
                              : fmt::format(
                                    "its workers must have the label {}, which a scheduler "
                                    "does not give them",
                                    printable(entry.labels));
}

// What a scheduler's allocations have; its why_none where nothing is known of them.
JobGroup group_of(const spec::Workflow& workflow, const spec::SlurmScheduler& scheduler,
                  const Cluster& cluster) {
  JobGroup group;
  group.scheduler = scheduler.name;
  const std::string name = scheduler.partition.substr(0, scheduler.partition.find(','));
  const auto partition = std::ranges::find_if(cluster.partitions, [&](const Partition& one) {
    return name.empty() ? one.is_default : one.name == name;
  });
  if (partition == cluster.partitions.end()) {
    group.why_none = name.empty() ? std::string("it names no partition, and none is the default")
                                  : fmt::format("the cluster has no partition {}", printable(name));
    return group;
  }
  group.partition = static_cast<std::size_t>(partition - cluster.partitions.begin());
  const slurm::Asked asked = slurm::asked_by(scheduler, workflow.slurm_defaults);
  const std::vector<Gpus> gres = read_gres(scheduler.gres);
  std::uint32_t gpus = 0;
  for (const Gpus& some : gres) gpus += some.count;
  if (gres.size() == 1) group.gpu_type = gres.front().type;
  const NodeGroup* smallest = nullptr;
  for (const NodeGroup& kind : partition->nodes) {
    const bool holds = kind.cpus >= asked.cpus.value_or(1) &&
                       kind.memory >= asked.memory.value_or(ByteCount{}) &&
                       kind.gpus_of(group.gpu_type) >= gpus;
    if (holds && (smallest == nullptr ||
                  std::tie(kind.memory, kind.cpus) < std::tie(smallest->memory, smallest->cpus)))
      smallest = &kind;
  }
  if (smallest == nullptr) {
    group.why_none =
        fmt::format("no node of partition {} has what it asks for", printable(partition->name));
    return group;
  }
  const bool whole = partition->whole_nodes && asked.cpus_by_default;
  group.node.cpus = asked.cpus && !whole ? *asked.cpus : smallest->cpus;
  group.node.memory = asked.memory.value_or(smallest->memory);
  group.node.gpus = gpus;
  bound(group, cluster, scheduler.account, scheduler.qos);
  at_most(group.bounds.walltime, asked.walltime);
  group.bounds.kept = workflow.kept_free();
  return group;
}

// Of allocations on the nodes of a fit.
JobGroup group_of(const Cluster& cluster, const Fit& fit, const Need& need, const KeptFree& kept) {
  const Partition& partition = cluster.partitions[fit.partition];
  const NodeGroup& kind = partition.nodes[fit.kind];
  JobGroup group;
  group.partition = fit.partition;
  group.node = {partition.cpus_of(kind), partition.memory_of(kind),
                need.gpus == 0 ? 0 : kind.gpus_of(need.gpu_type)};
  group.gpu_type = need.gpu_type;
  bound(group, cluster, account_for(cluster, partition, need), "");
  group.bounds.kept = kept;
  return group;
}

// Why it can never run in allocations of the group; empty: it can.
std::string problem_of(const JobGroup& group, const Resources& needs) {
  const Pool pool{group.node, group.bounds.most_nodes, {}, group.bounds.time()};
  Batch batch = batch_of(needs);
  batch.runtime = least_time(needs);
  const std::string type = gpu_type_of(needs);
  if (batch.gpus != 0 && !type.empty() && !group.gpu_type.empty() && type != group.gpu_type)
    return fmt::format("no {} GPUs", printable(type));
  return why_never(pool, batch);
}

std::string no_partition(const Cluster& cluster, const std::vector<Fit>& fits) {
  std::string text = "no partition can hold it";
  for (const Fit& fit : fits)
    text += fmt::format("{}{}: {}", &fit == &fits.front() ? " (" : "; ",
                        printable(cluster.partitions[fit.partition].name), fit.why_not);
  return text + (fits.empty() ? "" : ")");
}

}  // namespace

std::optional<seconds> AllocationBounds::time() const {
  if (!walltime) return std::nullopt;
  return longest_runtime(*walltime, kept);
}

JobGroups group_by_scheduler(const spec::Workflow& workflow, const spec::Expansion& expansion,
                             const spec::Outline& outline, const Cluster& cluster) {
  JobGroups all;
  for (const spec::SlurmScheduler& scheduler : workflow.slurm_schedulers)
    all.groups.push_back(group_of(workflow, scheduler, cluster));
  const Stages stages(expansion, outline);
  for (std::size_t e = 0; e < expansion.entries.size(); ++e) {
    const spec::ExpandedEntry& entry = expansion.entries[e];
    std::string why = entry.scheduler.empty() ? label_problem(entry) : "";
    bool taken = false;
    for (JobGroup& group : all.groups) {
      const bool is_for_it = entry.scheduler.empty() || entry.scheduler == group.scheduler;
      if (taken || !is_for_it || !group.why_none.empty()) continue;
      if (entry.scheduler.empty() && !entry.labels.empty()) continue;
      const std::string problem = problem_of(group, entry.resources);
      if (problem.empty()) stages.add(group, e);
      taken = problem.empty();
      if (!taken && why.empty())
        why = fmt::format("scheduler {} has {}", printable(group.scheduler), problem);
    }
    if (!taken && !why.empty())
      all.left_out.push_back({e, entry.scheduler.empty() && !entry.labels.empty(), why});
  }
  for (JobGroup& group : all.groups) guess_runtimes(group);
  return all;
}

JobGroups group_by_partition(const spec::Workflow& workflow, const spec::Expansion& expansion,
                             const spec::Outline& outline, const Cluster& cluster,
                             const std::string& account) {
  JobGroups all;
  const Stages stages(expansion, outline);
  for (std::size_t e = 0; e < expansion.entries.size(); ++e) {
    const spec::ExpandedEntry& entry = expansion.entries[e];
    if (std::string why = label_problem(entry); !why.empty()) {
      all.left_out.push_back({e, true, std::move(why)});
      continue;
    }
    const Need need = need_of(entry.resources, workflow.kept_free(), account);
    const std::vector<Fit> fits = match(cluster, need);
    if (fits.empty() || !fits.front().why_not.empty()) {
      all.left_out.push_back({e, false, no_partition(cluster, fits)});
      continue;
    }
    std::string why;
    bool taken = false;
    for (const Fit& fit : fits) {
      if (taken || !fit.why_not.empty()) break;
      JobGroup made = group_of(cluster, fit, need, workflow.kept_free());
      if (const std::string problem = problem_of(made, entry.resources); !problem.empty()) {
        why += fmt::format("{}{}: {}", why.empty() ? "" : "; ",
                           printable(cluster.partitions[fit.partition].name), problem);
        continue;
      }
      auto group = std::ranges::find_if(all.groups, [&](const JobGroup& one) {
        return one.partition == made.partition && one.node == made.node &&
               one.gpu_type == made.gpu_type;
      });
      if (group == all.groups.end()) group = all.groups.insert(all.groups.end(), std::move(made));
      stages.add(*group, e);
      taken = true;
    }
    if (!taken)
      all.left_out.push_back({e, false, fmt::format("no partition can hold it ({})", why)});
  }
  for (JobGroup& group : all.groups) guess_runtimes(group);
  return all;
}

}  // namespace torc::cluster
