#include "bin/commands/look/resources_apply.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bin/commands/spec_report.h"
#include "bin/commands/written_spec.h"
#include "bin/locate.h"
#include "bin/tables.h"
#include "lib/base/json_value.h"
#include "lib/base/quantities.h"
#include "lib/base/text/table.h"
#include "lib/report/job_view.h"
#include "lib/workflow/context/spec_text.h"

namespace torc::cli {
namespace {

using nlohmann::ordered_json;
using report::NeedChange;
using report::NeedChanges;

std::string after(const NeedChange& change) {
  return spec::show_need(change.need, change.fit.amount, change.value.text);
}

std::string_view say_reason(report::FitReason reason) {
  switch (reason) {
    case report::FitReason::out_of_memory:
      return "ran out of memory";
    case report::FitReason::timed_out:
      return "reached the time limit";
    case report::FitReason::above:
      return "used more";
    case report::FitReason::wasted:
      return "much was not used";
    case report::FitReason::none:
      break;
  }
  return "";
}

// "saves 3.2", "costs 0.1", "" of nothing worth saying.
std::string say_saving(double hours) {
  if (std::abs(hours) < 1e-9) return "";
  return hours > 0 ? fmt::format("saves {:.3g}", hours) : fmt::format("costs {:.3g}", -hours);
}

void print_changes(const App& app, const NeedChanges& changes) {
  Table table({{"line", Align::right},
               {"of", Align::left, Shorten::yes},
               {"key"},
               {"now"},
               {"then"},
               {"jobs", Align::right},
               {"core-hours"},
               {"why", Align::left, Shorten::yes}});
  Table kept({{"line", Align::right},
              {"of", Align::left, Shorten::yes},
              {"key"},
              {"now"},
              {"better"},
              {"left, because", Align::left, Shorten::yes}});
  for (const NeedChange& c : changes.all) {
    const std::string line = std::to_string(c.value.line);
    const std::string of = printable(c.value.where);
    const std::string key(spec::word(c.need));
    const std::string now = printable(c.value.text);
    if (!c.kept.empty()) {
      kept.add({line, of, key, now, after(c), c.kept});
      continue;
    }
    table.add({line, of, key, now, after(c), show_count(c.jobs), say_saving(c.saved_core_hours),
               std::string(say_reason(c.fit.reason))});
  }
  if (!table.empty()) say_table(app, table);
  if (!kept.empty()) say_table(app, kept);
  if (table.empty()) return;
  const std::string saving = say_saving(changes.saved_core_hours);
  say(app.out, "if all ran once more: {} of {:.3g} core-hours ({} measured attempts)\n",
      saving.empty() ? "as many" : saving, changes.core_hours, show_count(changes.measured));
}

ordered_json to_json(const NeedChanges& changes, const std::string& file, bool dry_run) {
  auto rows = ordered_json::array();
  for (const NeedChange& c : changes.all)
    rows.push_back({{"line", c.value.line},
                    {"requirement", c.value.where},
                    {"key", spec::word(c.need)},
                    {"old_value", c.value.text},
                    {"new_value", after(c)},
                    {"jobs", c.jobs},
                    {"problem", to_string(c.fit.reason)},
                    {"saved_core_hours", c.saved_core_hours},
                    {"reason_to_stay", json_or_null(c.kept)}});
  return {{"file", file},
          {"dry_run", dry_run},
          {"amounts", std::move(rows)},
          {"attempts", changes.measured},
          {"taken_core_hours", changes.core_hours},
          {"saved_core_hours", changes.saved_core_hours}};
}

Error not_as_planned(const std::string& file) {
  return {
      ErrorKind::invalid, fmt::format("with these amounts {} would not mean what is planned", file),
      "nothing was written; write the amounts of `torc resources --apply … --dry-run` yourself"};
}

// A text that means what is planned: so it passes `torc check`.
Result<std::string> planned_text(const App& app, const workflow::LoadedSpec& loaded,
                                 const spec::NeedValues& values, const NeedChanges& changes) {
  const auto amounts = changes.amounts();
  const auto changed = workflow::load_spec_text(app, loaded.file, values.with(amounts));
  if (!report::is_as_planned(loaded, changed, values, amounts)) return not_as_planned(loaded.file);
  return changed.text;
}

}  // namespace

Result<Exit> apply_resources(const App& app, const std::string& store_word,
                             const ApplyOptions& options) {
  if (workflow::is_stdin(options.spec))
    return Error{ErrorKind::invalid, "standard input cannot be written into",
                 "name the workflow file"};
  TORC_ASSIGN(const auto loaded, workflow::load_spec(app, options.spec, workflow::Purpose::look));
  if (!loaded.expansion) return refuse_spec(app, loaded, false);
  TORC_ASSIGN(const Path to, place_to_write(app, options.spec, options.output));
  TORC_ASSIGN(const auto values, spec::NeedValues::read(loaded.text, loaded.file));
  TORC_ASSIGN(const auto store, open_store(app, store_word));
  NeedChanges changes;
  TORC_TRY(store->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
    TORC_ASSIGN(changes, report::fit_needs(reader, loaded, values, options.rules));
    return {};
  }));
  const bool any = !changes.amounts().empty();
  if (any && !options.dry_run) {
    TORC_ASSIGN(const std::string text, planned_text(app, loaded, values, changes));
    TORC_TRY(write_spec(loaded, to, text, options.output));
  }
  const std::string shown = workflow::shown_path(app, to);
  if (options.json) {
    say(app.out, "{}\n", report::json_text(to_json(changes, to.string(), options.dry_run)));
    return Exit::ok;
  }
  print_changes(app, changes);
  if (!any) {
    say(app.out, "nothing to change in {}\n", shown);
  } else if (options.dry_run) {
    say(app.out, "nothing was written (--dry-run)\n");
  } else {
    say(app.out, "written: {}; the store keeps what it has: `torc set` changes jobs in it\n",
        shown);
  }
  return Exit::ok;
}

}  // namespace torc::cli
