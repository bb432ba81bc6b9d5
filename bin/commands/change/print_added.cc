#include "bin/commands/change/print_added.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bin/commands/spec_report.h"
#include "lib/base/quantities.h"
#include "lib/base/quote.h"
#include "lib/report/job_view.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShownAdded = 5;

std::string some_added(const std::vector<std::string>& names, std::uint64_t of) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShownAdded; ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  return text + (of > kShownAdded ? ", …" : "");
}

}  // namespace

Exit print_added(const App& app, const store::Store& store, const workflow::AdditionText& text,
                 const workflow::Added& added, bool dry_run, bool json) {
  workflow::LoadedSpec shown;
  shown.file = text.file;
  shown.diagnostics = added.diagnostics;
  if (json) {
    const ordered_json out = {
        {"store", store.directory().string()},
        {"dry_run", dry_run},
        {"valid", added.good},
        {"added", added.jobs},
        {"jobs", added.names},
        {"there", added.there},
        {"jobs_there", added.there_names},
        {"living_workers", added.live_workers ? ordered_json(*added.live_workers) : nullptr},
        {"diagnostics", diagnostics_json(shown)["diagnostics"]}};
    say(app.out, "{}\n", report::json_text(out));
    return added.good ? Exit::ok : Exit::usage;
  }
  print_diagnostics(app, shown, "nothing was added");
  if (!added.good) return Exit::usage;
  if (added.jobs > 0) {
    say(app.out, "{} {} job(s): {}\n", dry_run ? "would add" : "added", show_count(added.jobs),
        some_added(added.names, added.jobs));
  } else {
    say(app.out, "nothing to add\n");
  }
  if (added.there > 0) {
    say(app.out, "there already: {} job(s): {}\n", show_count(added.there),
        some_added(added.there_names, added.there));
  }
  if (added.jobs > 0 && added.live_workers && *added.live_workers == 0 && !dry_run) {
    say(app.out, "no worker is registered now: torc run {}, or submit a batch script\n",
        workflow::shown_path(app, store.directory()));
  }
  return Exit::ok;
}

}  // namespace torc::cli
