#include <fmt/format.h>

#include "bin/app.h"
#include "bin/waiting_disk.h"
#include "lib/exec/machine/procfs.h"

namespace torc::cli {

Exit report(const App& app, const Error& error) {
  std::fflush(app.out);
  say(app.err, "torc: error: {}\n", error.text());
  // Whatever was made of it on the way here: what is on a dead mount is neither there nor missing.
  const WaitingDisk* disk = waiting_disk(app);
  if (const auto dead = disk != nullptr ? disk->dead() : std::nullopt) {
    const std::string mounts = exec::read_small_file("/proc/self/mountinfo").value_or("");
    say(app.err, "  {}\n", advice_on_mount(mounts, *dead));
  }
  switch (error.kind) {
    case ErrorKind::invalid:
      return Exit::usage;
    default:
      return Exit::store;
  }
}

Exit report(const App& app, const Result<Exit>& done) {
  return done.ok() ? *done : report(app, done.error());
}

}  // namespace torc::cli
