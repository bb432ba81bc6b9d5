#include "bin/commands/change/print_added.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bin/commands/change/change_report.h"
#include "bin/commands/spec_report.h"
#include "lib/base/json_value.h"
#include "lib/base/plural.h"
#include "lib/base/quantities.h"
#include "lib/report/job_view.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {
Exit print_added(const App& app, store::Store& store, const workflow::AdditionText& text,
                 const workflow::Added& added, bool dry_run, bool json) {
  workflow::LoadedSpec shown;
  shown.file = text.file;
  shown.diagnostics = added.diagnostics;
  if (json) {
    const nlohmann::ordered_json out = {
        {"store", store.directory().string()},
        {"dry_run", dry_run},
        {"valid", added.good},
        {"added_jobs", added.jobs},
        {"added_names", added.names},
        {"respawned_jobs", added.anew},
        {"respawned_names", added.anew_names},
        {"existing_jobs", added.there},
        {"existing_names", added.there_names},
        {"returned_jobs", added.returned},
        {"returned_names", added.returned_names},
        {"registered_workers",
         json_if(added.live_workers.has_value(), added.live_workers.value_or(0))},
        {"diagnostics", diagnostics_json(shown)["diagnostics"]}};
    say(app.out, "{}\n", report::json_text(out));
    return added.good ? Exit::ok : Exit::usage;
  }
  print_diagnostics(app, shown, "nothing was added");
  if (!added.good) return Exit::usage;
  if (added.jobs > 0) {
    say(app.out, "{} {}: {}\n", dry_run ? "would add" : "added", plural(added.jobs, "job"),
        show_first(added.names, added.jobs));
  } else if (added.returned + added.anew == 0) {
    say(app.out, "nothing to add\n");
  }
  if (added.returned > 0) {
    say(app.out, "{}: {}: {}\n", dry_run ? "would be back in the workflow" : "back in the workflow",
        plural(added.returned, "job"), show_first(added.returned_names, added.returned));
  }
  if (added.anew > 0) {
    say(app.out, "{} {}: {}\n", dry_run ? "would spawn again" : "spawned again",
        plural(added.anew, "job"), show_first(added.anew_names, added.anew));
  }
  if (added.there > 0) {
    say(app.out, "there already: {}: {}\n", plural(added.there, "job"),
        show_first(added.there_names, added.there));
  }
  if (added.jobs + added.returned + added.anew > 0 && !dry_run) say_presence(app, store);
  return Exit::ok;
}

}  // namespace torc::cli
