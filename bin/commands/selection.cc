#include "bin/commands/selection.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "bin/commands/job_words.h"
#include "bin/locate.h"
#include "lib/base/text/quote.h"
#include "lib/base/text/table.h"
#include "lib/base/text/text.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/rules/workflow_state.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::cli {
namespace {

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

// Each template with the name of its entry.
template <class Visit>
Result<void> scan_entries(const claim::Reader& reader, const Visit& visit) {
  Result<void> readable;
  TORC_TRY(claim::scan_templates(reader, [&](const claim::Template& t) {
    const auto recipe = workflow::recipe_of(t);
    if (recipe)
      visit(t, *recipe, recipe->entry_name());
    else
      readable = recipe.error();
    return readable.ok();
  }));
  return readable;
}

// Nobody is called so. What it may have meant.
Error nobody(const claim::Reader& reader, const std::string& word,
             const std::set<std::string>& stages) {
  constexpr std::size_t kMostOfAName = 100;  // cells
  const auto shown = [](std::string_view name) { return shortened(printable(name), kMostOfAName); };
  const std::string stage(stage_in(word).value_or(word));
  if (stage == word && stages.contains(word)) {
    return Error{ErrorKind::invalid, fmt::format("there is no job '{}'", shown(word)),
                 fmt::format("there are several: stage:{} means all of them, '{}_*' those whose "
                             "name begins so",
                             shown(word), shown(word))};
  }
  const std::string near = spec::nearest(stage, {stages.begin(), stages.end()});
  Error error = workflow::no_such_job(word);
  if (stage != word) error.what = fmt::format("there is no stage '{}'", shown(stage));
  if (expression_of_glob(word)) error.what = fmt::format("no job's name matches '{}'", shown(word));
  if (!near.empty()) {
    workflow::RecipeBook book;
    const auto job = workflow::find_job(book, reader, near);
    const bool is_job = stage == word && job && *job;
    error.remedy =
        fmt::format("did you mean {}{}? {}", is_job ? "" : "stage:", shown(near), error.remedy);
  }
  return error;
}

// stage:NAME or a glob. A template of which no name can match costs nothing but its look.
Result<void> match_word(const claim::Reader& reader, const std::string& word, JobSet& found) {
  const auto stage = stage_in(word);
  const auto glob = expression_of_glob(word);
  const RE2 pattern(glob.value_or(""), RE2::Quiet);
  if (!pattern.ok()) {
    return Error{ErrorKind::invalid, fmt::format("'{}': {}", printable(word), pattern.error()),
                 "* is any text, ? a character, [a-f] one of some"};
  }
  const std::string_view beginning = fixed_beginning(word);
  std::set<std::string> stages;
  bool any = false;
  TORC_TRY(scan_entries(
      reader, [&](const claim::Template& t, const spec::Recipe& recipe, const std::string& entry) {
        if (const std::string name = stage_name(entry); !name.empty()) stages.insert(name);
        if (stage) {
          if (entry != *stage && stage_name(entry) != *stage) return;
          found.add(claim::JobRange{t.first, t.count});
          any = true;
          return;
        }
        const std::string_view fixed = std::string_view(entry).substr(0, entry.find('{'));
        const std::size_t both = std::min(fixed.size(), beginning.size());
        if (!glob || fixed.substr(0, both) != beginning.substr(0, both)) return;
        for (std::uint64_t i = 0; i < t.count; ++i) {
          if (!RE2::PartialMatch(recipe.name(i), pattern)) continue;
          found.add(JobId{raw(t.first) + i});
          any = true;
        }
      }));
  if (any) return {};
  return nobody(reader, word, stages);
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

Flag add_state(Command& c, SelectOptions& o, const std::vector<claim::JobState>& states,
               const std::string& help) {
  return c
      .option("--state", o.state, fmt::format("{}: {}", help, fmt::join(names_of(states), ", ")))
      .value("STATES")
      .check([names = names_of(states)](const std::string& value) -> std::string {
        for (const std::string_view word : split(value, ',')) {
          if (std::ranges::find(names, word) == names.end())
            return fmt::format("'{}' is not one of {}", printable(word), fmt::join(names, ", "));
        }
        return "";
      });
}

std::vector<claim::JobState> states_of(const SelectOptions& o) {
  std::vector<claim::JobState> states;
  for (const std::string_view word : split(o.state, ',')) {
    if (const auto state = claim::state_named(word)) states.push_back(*state);
  }
  return states;
}

bool names_a_store(const App& app, const std::string& word) {
  const Path path = app.directory / word;
  std::error_code error;
  if (word.starts_with('/') || word.starts_with("./") || word.starts_with("../")) return true;
  if (path.extension() == ".torc" || std::filesystem::exists(path / "META", error)) return true;
  // A script without an ending may as well be called as a job is.
  return is_workflow_file(path) && (path.has_extension() || word.find('/') != std::string::npos);
}

Result<StoreAndNames> locate_store_and_names(const App& app,
                                             const std::vector<std::string>& words) {
  if (!words.empty() && names_a_store(app, words.front())) {
    TORC_ASSIGN(Path path, locate_store(app, words.front()));
    TORC_ASSIGN(auto names, job_words(app, {words.begin() + 1, words.end()}));
    return StoreAndNames{path, std::move(names)};
  }
  TORC_ASSIGN(Path path, locate_store(app, ""));
  TORC_ASSIGN(auto names, job_words(app, words));
  return StoreAndNames{path, std::move(names)};
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
    if (id) {
      found.add(*id);
    } else {
      TORC_TRY(match_word(reader, name, found));
    }
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
