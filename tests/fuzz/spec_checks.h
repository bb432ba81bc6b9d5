// A spec from text to jobs: every diagnostic has a place inside the text, every job a name that
// finds it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lib/base/text/utf8.h"
#include "lib/spec/load/load.h"
#include "lib/spec/load/outline.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/spec/sweep/sweep.h"
#include "tests/fuzz/fuzz.h"

namespace torc::fuzz {

using namespace torc::spec;  // NOLINT: for three targets

// Beyond it a spec is expanded only if that must be refused: a fuzzer learns nothing from more
// jobs, and waits.
inline constexpr std::uint64_t kFewJobs = 3'000;
struct NotWorthIt {};

inline torc::Result<std::string> some_file(const std::string& path) {
  if (path.ends_with(".csv")) return std::string("a,b\n1,x\n2,y\n");
  if (path.ends_with(".jsonl")) return std::string("{\"a\": 1}\n{\"a\": \"x\"}\n");
  if (path.ends_with(".json")) return std::string("[{\"a\": 1, \"b\": \"x\"}]");
  return std::string("1\n2\n");
}

inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return lines;
}

// Whether one is an error.
inline bool check_places(const std::vector<Diagnostic>& all, std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  bool error = false;
  std::size_t last = 0;
  for (const Diagnostic& d : all) {
    error = error || d.severity == Severity::error;
    TORC_MUST(!d.message.empty() && !to_text(d).empty());
    if (d.place.line == 0) continue;
    TORC_MUST(d.place.line >= last && d.place.line <= lines.size());
    last = d.place.line;
    TORC_MUST(d.place.column >= 1 && d.place.length >= 1);
    TORC_MUST(d.place.column <= torc::count_characters(lines[d.place.line - 1]) + 1);
  }
  return error;
}

// How many jobs and files, and nothing else, the parameters ask for.
template <class Entries>
std::uint64_t asked_for(const Entries& entries) {
  std::uint64_t sum = 0;
  for (const auto& entry : entries)
    sum = std::min(sum + Sweep(entry.parameters, entry.mode).count(), Sweep::kTooMany);
  return sum;
}

inline void check_ranges(const std::vector<Range>& ranges, std::uint64_t jobs) {
  TORC_MUST(!ranges.empty());
  std::uint64_t end = 1;
  for (const Range& range : ranges) {
    TORC_MUST(range.count > 0 && range.first >= end && range.end() <= jobs + 1);
    end = range.end() + 1;  // those that touch are one
  }
}

inline void check_expansion(const Expansion& expansion) {
  std::uint64_t next = 1;
  for (const ExpandedEntry& entry : expansion.entries) {
    TORC_MUST(entry.first == next && entry.count > 0);
    next += entry.count;
    const auto recipe = Recipe::decode(entry.recipe);
    TORC_MUST(recipe.ok() && recipe->count() == entry.count);
    for (const std::uint64_t k : {std::uint64_t{0}, entry.count - 1}) {
      const RenderedJob job = recipe->render(k);
      TORC_MUST(!job.name.empty() && job.name == recipe->name(k));
      TORC_MUST(recipe->find(job.name) == k);
    }
  }
  TORC_MUST(expansion.jobs == next - 1);
  std::vector<Range> members;
  for (const DependencySet& set : expansion.dependencies) {
    check_ranges(set.upstream, expansion.jobs);
    check_ranges(set.members, expansion.jobs);
    members.insert(members.end(), set.members.begin(), set.members.end());
  }
  const std::uint64_t listed = total(members);
  normalise(members);
  TORC_MUST(total(members) == listed);  // each in one set
  const Outline shape = outline(expansion);
  next = 1;
  for (const Segment& segment : shape.segments) {
    TORC_MUST(segment.first == next && segment.count > 0 && segment.stage < shape.stages);
    next = segment.end();
  }
  TORC_MUST(next == expansion.jobs + 1);
}

// `file`: its ending says which form it has.
inline void check_spec(std::string_view input, const std::string& file) {
  std::uint64_t jobs = 0;
  bool too_many = false;
  const auto look = [&](const Workflow& draft, Report&) {
    jobs = asked_for(draft.jobs);
    const std::uint64_t files = std::max(asked_for(draft.files), asked_for(draft.user_data));
    too_many = jobs > kMaxJobs || files > kMaxJobs;
    if (!too_many && std::max(jobs, files) > kFewJobs) throw NotWorthIt{};
  };
  Loaded loaded;
  try {
    loaded = load(input, file, some_file, look);
  } catch (const NotWorthIt&) {
    return;
  }
  TORC_MUST(check_places(loaded.diagnostics, input) == !loaded.expansion.has_value());
  TORC_MUST(loaded.workflow.has_value() == loaded.expansion.has_value());
  TORC_MUST(!too_many || !loaded.expansion);
  if (!loaded.expansion) return;
  TORC_MUST(loaded.expansion->jobs == jobs);
  check_expansion(*loaded.expansion);
}

}  // namespace torc::fuzz
