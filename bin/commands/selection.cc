#include "bin/commands/selection.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <system_error>

#include "bin/locate.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"

namespace torc::cli {
namespace {

bool names_a_store(const App& app, const std::string& word) {
  const Path path = app.directory / word;
  std::error_code error;
  if (path.extension() == ".torc" || std::filesystem::exists(path / "META", error)) return true;
  return is_workflow_file(path);
}

Result<void> match_names(const claim::Reader& reader, const RE2& pattern, JobSet& found) {
  Result<void> readable;
  TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
    const auto recipe = workflow::recipe_of(t);
    if (!recipe) {
      readable = recipe.error();
      return false;
    }
    for (std::uint64_t i = 0; i < t.count; ++i) {
      if (RE2::PartialMatch(recipe->name(i), pattern)) found.add(JobId{raw(t.first) + i});
    }
    return true;
  }));
  return readable;
}

Result<void> match_states(const claim::Reader& reader, const Selection& selection,
                          const RE2& pattern, JobSet& found) {
  workflow::RecipeBook book;
  for (const claim::JobState state : selection.states) {
    TORC_TRY(claim::scan_jobs(reader, state, [&](JobId id, const claim::Job&) {
      if (selection.regex.empty() ||
          RE2::PartialMatch(workflow::job_name(book, reader, id), pattern))
        found.add(id);
      return true;
    }));
  }
  return {};
}

}  // namespace

void add_names(Command& c, SelectOptions& o, const std::string& help) {
  c.argument("NAME", o.words, help).value(help.substr(0, help.find(':')));
  c.option("--name", o.name, "jobs whose name matches").value("REGEX");
}

void add_all(Command& c, SelectOptions& o, const std::string& help) {
  c.flag("--all", o.all, help);
}

std::vector<std::string> names_of(const std::vector<claim::JobState>& states) {
  std::vector<std::string> names;
  names.reserve(states.size());
  for (const claim::JobState state : states) names.emplace_back(claim::to_string(state));
  return names;
}

void add_state(Command& c, SelectOptions& o, const std::vector<claim::JobState>& states) {
  c.option("--state", o.state, "jobs in this state (with --name: those that match)")
      .value("STATE")
      .choices(names_of(states));
}

Result<StoreAndNames> locate_store_and_names(const App& app,
                                             const std::vector<std::string>& words) {
  if (!words.empty() && names_a_store(app, words.front())) {
    TORC_ASSIGN(Path path, locate_store(app, words.front()));
    return StoreAndNames{path, {words.begin() + 1, words.end()}};
  }
  TORC_ASSIGN(Path path, locate_store(app, ""));
  return StoreAndNames{path, words};
}

void JobSet::add(claim::JobRange range) {
  if (!ranges_.empty() && raw(ranges_.back().first) + ranges_.back().count == raw(range.first)) {
    ranges_.back().count += range.count;
  } else {
    ranges_.push_back(range);
  }
}

std::vector<claim::JobRange> JobSet::ranges() && {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<claim::JobRange> joined;
  for (const claim::JobRange& r : ranges_) {
    const std::uint64_t end = raw(r.first) + r.count;
    if (joined.empty() || raw(joined.back().first) + joined.back().count < raw(r.first)) {
      joined.push_back(r);
    } else {
      claim::JobRange& last = joined.back();
      last.count = std::max(raw(last.first) + last.count, end) - raw(last.first);
    }
  }
  return joined;
}

Result<std::vector<claim::JobRange>> select_jobs(const claim::Reader& reader,
                                                 const Selection& selection) {
  const bool searches = !selection.regex.empty() || !selection.states.empty() || selection.all;
  if (!searches && selection.names.empty()) {
    return Error{ErrorKind::invalid, "no job was named",
                 "name jobs, or choose some by a flag; --help lists them"};
  }
  const RE2 pattern(selection.regex, RE2::Quiet);
  if (!pattern.ok()) {
    return Error{ErrorKind::invalid,
                 fmt::format("--name '{}': {}", selection.regex, pattern.error()),
                 "write an RE2 regular expression, such as '^work_1.*'"};
  }
  JobSet found;
  workflow::RecipeBook book;
  for (const std::string& name : selection.names) {
    TORC_ASSIGN(const auto id, workflow::find_job(book, reader, name));
    if (!id) return workflow::no_such_job(name);
    found.add(*id);
  }
  if (!selection.states.empty()) {
    TORC_TRY(match_states(reader, selection, pattern, found));
  } else if (!selection.regex.empty()) {
    JobSet matching;
    TORC_TRY(match_names(reader, pattern, matching));
    const auto ranges = std::move(matching).ranges();
    if (ranges.empty()) {
      return Error{ErrorKind::invalid, fmt::format("no job's name matches '{}'", selection.regex),
                   "`torc jobs --name REGEX` tries an expression out"};
    }
    for (const claim::JobRange& r : ranges) found.add(r);
  } else if (selection.all) {
    TORC_ASSIGN(const claim::WorkflowState workflow, claim::read_workflow(reader));
    if (workflow.jobs > 0) found.add({JobId{1}, workflow.jobs});
  }
  return std::move(found).ranges();
}

}  // namespace torc::cli
