#include "bin/living.h"

#include <fmt/format.h>

namespace torc::cli {

bool may_live(const App& app, const claim::WorkerInfo& info) {
  const bool here = info.host == app.world.host && info.boot_id == app.world.boot_id &&
                    info.pid_namespace == app.world.pid_namespace;
  return !here || exec::exists({info.pid, info.pid_start});
}

std::vector<claim::Worker> living_workers(const App& app, const claim::Reader& reader) {
  std::vector<claim::Worker> out;
  claim::scan_workers(reader, true, [&](const claim::Worker& worker) {
    if (may_live(app, worker.info)) out.push_back(worker);
    return true;
  });
  return out;
}

std::string show_workers(const std::vector<claim::Worker>& workers) {
  std::string names;
  for (std::size_t i = 0; i < workers.size() && i < 5; ++i) {
    names += fmt::format("{}{} on {}", i == 0 ? "" : ", ", claim::raw(workers[i].epoch),
                         workers[i].info.host);
  }
  return fmt::format("{} worker(s) registered as alive ({}{})", workers.size(), names,
                     workers.size() > 5 ? ", …" : "");
}

}  // namespace torc::cli
