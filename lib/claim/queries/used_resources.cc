#include "lib/claim/queries/used_resources.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

void add(Amounts& used, std::string_view name, std::uint64_t thousandths) {
  const Amount* there = find_amount(used, name);
  const std::uint64_t before = there == nullptr ? 0 : there->thousandths;
  set_amount(used, {std::string(name), std::min(kAllThereIs, before + thousandths)});
}

}  // namespace

Result<Resources> used_by_jobs_of(const Reader& reader, WorkerEpoch worker) {
  State state(reader);
  Resources used = no_resources();
  const auto lease = state.lease(worker);
  TORC_TRY(state.sound());
  if (!lease) return used;
  for (const std::uint64_t id : lease->held) {
    const auto job = state.job(id);
    const auto rank = state.rank_of(id);
    if (!job || !rank) continue;
    const JobClass job_class = state.job_class(rank->job_class);
    const Resources& need = job_class.need_of(job->alternative);
    for (const ResourceKind& kind : kResourceKinds) {
      if (kind.shared) kind.put(used, kind.get(used) + kind.get(need));
    }
    if (need.gpus > 0) add(used.named, kGpus, need.gpus * kWhole);
    for (const Amount& a : need.named) {
      add(used.named, a.name, a.thousandths);
      if (is_gpu(a.name) && a.name != kGpus) add(used.named, kGpus, a.thousandths);
    }
  }
  TORC_TRY(state.sound());
  return used;
}

}  // namespace torc::claim
