// For tests: building workflows without YAML, and an expansion with everything written out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/spec/expand/expand.h"
#include "lib/spec/sweep/recipe.h"
#include "lib/spec/testing/test_ranges.h"

namespace torc::spec {

inline JobEntry job(std::string name, std::string command = "true", std::size_t line = 0) {
  JobEntry entry;
  entry.name = std::move(name);
  entry.command = std::move(command);
  entry.place.line = line;
  return entry;
}

// Parameter i from `first` to `last`.
inline JobEntry sweep(std::string name, std::int64_t first, std::int64_t last,
                      std::string command = "true") {
  JobEntry entry = job(std::move(name), std::move(command));
  entry.parameters = {{"i", IntegerRange{first, last, 1}}};
  return entry;
}

inline FileEntry file(std::string name, std::string path) {
  FileEntry entry;
  entry.name = std::move(name);
  entry.path = std::move(path);
  return entry;
}

inline std::vector<ParameterValue> texts(const std::vector<std::string>& values) {
  return {values.begin(), values.end()};
}

inline std::string numbered(std::string prefix, std::size_t number) {
  return prefix.append(std::to_string(number));
}

enum class Render : std::uint8_t { no, yes };

struct Jobs {
  Expansion expansion;
  std::vector<std::string> names;  // by number - 1
  std::vector<RenderedJob> rendered;

  // Names of what the job waits for, in the order of their numbers.
  [[nodiscard]] std::vector<std::string> upstream(const std::string& name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return {"no such job"};
    const auto id = static_cast<std::uint64_t>(found - names.begin()) + 1;
    std::vector<std::string> result;
    for (const DependencySet& set : expansion.dependencies) {
      if (!contains(set.members, id)) continue;
      for (const Range& r : set.upstream) {
        for (std::uint64_t j = r.first; j < r.end(); ++j) result.push_back(names[j - 1]);
      }
    }
    return result;
  }
};

inline Jobs render_all(Expansion expansion) {
  Jobs jobs;
  for (const ExpandedEntry& entry : expansion.entries) {
    const auto recipe = Recipe::decode(entry.recipe);
    EXPECT_TRUE(recipe.ok());
    if (!recipe) continue;
    EXPECT_EQ(recipe->count(), entry.count);
    EXPECT_EQ(entry.first, jobs.names.size() + 1);
    for (std::uint64_t k = 0; k < entry.count; ++k) {
      jobs.rendered.push_back(recipe->render(k));
      jobs.names.push_back(recipe->name(k));
    }
  }
  jobs.expansion = std::move(expansion);
  return jobs;
}

// Expects no error.
inline Jobs expand_all(const Workflow& workflow, Render render = Render::yes) {
  Expanded expanded = expand(workflow, "", "wf.yaml");
  EXPECT_TRUE(expanded.expansion) << to_text(expanded.diagnostics);
  if (!expanded.expansion) return {};
  if (render == Render::yes) return render_all(*std::move(expanded.expansion));
  Jobs jobs;
  jobs.expansion = *std::move(expanded.expansion);
  return jobs;
}

// "message | remedy" of everything found.
inline std::vector<std::string> mistakes(const Workflow& workflow) {
  const Expanded expanded = expand(workflow, "", "wf.yaml");
  std::vector<std::string> all;
  for (const Diagnostic& d : expanded.diagnostics) all.push_back(d.message + " | " + d.remedy);
  const bool errors =
      std::any_of(expanded.diagnostics.begin(), expanded.diagnostics.end(),
                  [](const Diagnostic& d) { return d.severity == Severity::error; });
  EXPECT_EQ(expanded.expansion.has_value(), !errors);
  return all;
}

}  // namespace torc::spec
