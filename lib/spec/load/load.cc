#include "lib/spec/load/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "lib/base/text/utf8.h"
#include "lib/spec/read/parse.h"
#include "lib/spec/script/script_tree.h"
#include "lib/spec/text/source.h"

namespace torc::spec {
namespace {

Loaded load(std::string_view text, const std::string& file, const ReadFile& read_named,
            const ExtraCheck& extra, std::optional<StdioMode> mode, const Surroundings* around) {
  const Source source(without_bom(text), file);
  Report report(source);
  Loaded loaded;
  std::optional<Workflow> workflow =
      read_draft(source, report, read_named, around == nullptr ? nullptr : &around->existing);
  if (workflow) {
    // Nothing may be left out unawares.
    const bool sound =
        std::ranges::all_of(workflow->jobs, [](const JobEntry& job) { return job.sound; });
    if (!sound && !report.has_error())
      report.error({}, "a job cannot be read", "report this: torc should have said which, and why");
    report.end_pass();
    if (extra) extra(*workflow, report);
    report.end_pass();
    try {
      Expansion expansion = around == nullptr ? expand(*workflow, report, mode)
                                              : expand_addition(*workflow, *around, report);
      Stdio& output = workflow->execution.stdio;
      if (output.by_size) output.mode = expansion.mode;
      if (!report.has_error()) loaded.expansion = std::move(expansion);
    } catch (const std::exception& e) {  // memory
      report.error({}, fmt::format("the jobs cannot be worked out: {}", e.what()),
                   "make the workflow smaller");
    }
    if (loaded.expansion) loaded.workflow = std::move(workflow);
    if (loaded.expansion && is_script(source)) loaded.yaml = script_as_yaml(source);
  }
  loaded.diagnostics = std::move(report).sorted();
  return loaded;
}

}  // namespace

Loaded load(std::string_view text, const std::string& file, const ReadFile& read_named,
            const ExtraCheck& extra, std::optional<StdioMode> mode) {
  return load(text, file, read_named, extra, mode, nullptr);
}

Loaded load_addition(std::string_view text, const std::string& file, const ReadFile& read_named,
                     const Surroundings& around) {
  return load(text, file, read_named, {}, std::nullopt, &around);
}

}  // namespace torc::spec
