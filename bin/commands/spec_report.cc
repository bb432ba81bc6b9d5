#include "bin/commands/spec_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/json_value.h"
#include "lib/report/job_view.h"

namespace torc::cli {
namespace {

std::string_view to_string(spec::Severity severity) {
  return severity == spec::Severity::error     ? "error"
         : severity == spec::Severity::warning ? "warning"
                                               : "note";
}

}  // namespace

void print_diagnostics(const App& app, const workflow::LoadedSpec& loaded,
                       std::string_view outcome) {
  if (loaded.diagnostics.empty()) return;
  say(app.err, "{}", spec::to_text(loaded.diagnostics));
  const auto errors =
      std::count_if(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                    [](const auto& d) { return d.severity == spec::Severity::error; });
  if (errors == 0) return;
  const std::size_t more = loaded.diagnostics.back().more;
  say(app.err, "torc: error: {} mistake{} in {}{}{}\n",
      more == 0
          ? std::to_string(errors)
          : fmt::format("the first {} of {}", errors, static_cast<std::size_t>(errors) + more),
      errors + static_cast<std::ptrdiff_t>(more) == 1 ? "" : "s", loaded.file,
      outcome.empty() ? "" : "; ", outcome);
}

nlohmann::ordered_json diagnostics_json(const workflow::LoadedSpec& loaded) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const spec::Diagnostic& d : loaded.diagnostics) {
    list.push_back({{"severity", to_string(d.severity)},
                    {"file", d.file},
                    {"line", json_or_null(d.place.line)},
                    {"column", json_or_null(d.place.column)},
                    {"message", d.message},
                    {"remedy", json_or_null(d.remedy)},
                    {"rendered", spec::to_text(d)}});
  }
  const bool asks_too_much = std::any_of(loaded.diagnostics.begin(), loaded.diagnostics.end(),
                                         [](const spec::Diagnostic& d) { return d.blocks_run; });
  const bool valid = loaded.expansion.has_value();
  return {{"spec", loaded.file},
          {"valid", valid},
          {"runnable", valid && !asks_too_much},
          {"jobs", json_if(valid, valid ? loaded.expansion->jobs : 0)},
          {"read_files", loaded.value_files},
          {"yaml", json_or_null(loaded.yaml)},
          {"diagnostics", std::move(list)},
          {"slurm", nullptr}};
}

Exit refuse_spec(const App& app, const workflow::LoadedSpec& loaded, bool json,
                 std::string_view outcome) {
  if (json)
    say(app.out, "{}\n", report::json_text(diagnostics_json(loaded)));
  else
    print_diagnostics(app, loaded, outcome);
  return Exit::usage;
}

}  // namespace torc::cli
