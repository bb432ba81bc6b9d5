#include "lib/workflow/context/live_workers.h"

#include <fmt/format.h>

#include "lib/base/plural.h"
#include "lib/claim/queries/workers.h"

namespace torc::workflow {

// The name as well: machines that were copied while they ran have the same boot id.
bool is_here(const claim::WorkerInfo& info, const std::string& host,
             const exec::ProcessSpace& space) {
  return info.host == host && exec::is_same({info.boot_id, info.pid_namespace}, space);
}

exec::Presence presence_of(const Context& context, const claim::WorkerInfo& info) {
  const exec::ProcessSpace space{context.world.boot_id, context.world.pid_namespace};
  if (!is_here(info, context.world.host, space)) return exec::Presence::unknown;
  return exec::presence_of({info.pid, info.pid_start});
}

bool may_live(const Context& context, const claim::WorkerInfo& info) {
  return presence_of(context, info) != exec::Presence::gone;
}

Result<std::vector<claim::Worker>> live_workers(const Context& context,
                                                const claim::Reader& reader) {
  std::vector<claim::Worker> out;
  TORC_TRY(claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
    if (may_live(context, worker.info)) out.push_back(worker);
    return true;
  }));
  return out;
}

std::string show_workers(const std::vector<claim::Worker>& workers) {
  std::string names;
  for (std::size_t i = 0; i < workers.size() && i < 5; ++i) {
    names += fmt::format("{}{} on {}", i == 0 ? "" : ", ", claim::raw(workers[i].epoch),
                         workers[i].info.host);
  }
  return fmt::format("{} registered as alive ({}{})", plural(workers.size(), "worker"), names,
                     workers.size() > 5 ? ", …" : "");
}

}  // namespace torc::workflow
