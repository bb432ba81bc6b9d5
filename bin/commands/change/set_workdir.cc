#include "bin/commands/change/set_workdir.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "bin/commands/ringing.h"
#include "bin/commands/workdir.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/report/job_view.h"
#include "lib/workflow/plan/moved_scripts.h"

namespace torc::cli {

Result<Exit> set_workdir(const App& app, const ChangeOptions& options, const std::string& given) {
  TORC_ASSIGN(const auto where, locate_store_and_names(app, options.jobs.words));
  if (!where.names.empty() || options.jobs.all || !options.jobs.name.empty() ||
      !options.jobs.state.empty()) {
    return invalid("--workdir is for the whole workflow, but jobs were named too",
                   "set it in a separate command: torc set [STORE] --workdir DIR");
  }
  TORC_ASSIGN(const Path directory, named_workdir(app, given));
  TORC_ASSIGN(const auto store, store::Store::open(app.world, where.store, store::Tuning{}));
  Path before;
  const auto body = [&](store::Transaction& tx) -> Result<void> {
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(tx));
    TORC_ASSIGN(auto settings, workflow::decode_workflow_settings(workflow.settings));
    before = settings.directory.path;
    // That of a project that was moved lies in the directory; else it is where it was.
    Path file = directory / settings.directory.file;
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
      file = workflow::find_workflow_file(settings.directory, store->directory());
    settings.directory = workflow::record_directory(directory, store->directory(), file);
    claim::WorkflowTerms terms;
    terms.settings = workflow::encode(settings);
    return claim::replace_terms(tx, terms);
  };
  TORC_TRY(change_and_ring(app, *store, options.dry_run, body));
  std::size_t mended = 0;
  if (!options.dry_run) {
    TORC_ASSIGN(mended, workflow::mend_scripts(app, store->directory()));
  }
  if (options.json) {
    const nlohmann::ordered_json out = {{"store", store->directory().string()},
                                        {"dry_run", options.dry_run},
                                        {"workdir", directory.string()},
                                        {"workdir_before", before.string()},
                                        {"mended_scripts", mended}};
    say(app.out, "{}\n", report::json_text(out));
    return Exit::ok;
  }
  say(app.out, "jobs {} in {}{}; workers that are there stay where they are\n",
      options.dry_run ? "would run" : "run", printable(directory.string()),
      before == directory ? "" : fmt::format(", no longer in {}", printable(before.string())));
  if (mended > 0) say(app.out, "its batch scripts start workers here now\n");
  return Exit::ok;
}

}  // namespace torc::cli
