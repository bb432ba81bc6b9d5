// From a checked Workflow to its jobs and their dependencies, compactly: an entry of a million jobs stays one
// value, jobs with the same dependencies share one set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/spec/diagnostic.h"
#include "lib/spec/workflow.h"

namespace torc::spec {

// Jobs are numbered from 1 in the order of the file; the jobs of one entry are contiguous, the last parameter
// varying fastest.
struct ExpandedEntry {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
  ResourceRequirements resources;
  std::string scheduler;   // an entry whose label varies with its parameters is split into several
  std::string label;
  std::int32_t priority = 0;
  std::string recipe;      // encoded Recipe, see recipe.h
};

struct Range {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct DependencySet {
  std::vector<Range> upstream;  // sorted, disjoint
  std::vector<Range> members;   // sorted, disjoint; a job is a member of at most one set
};

struct Expansion {
  std::uint64_t jobs = 0;
  std::vector<ExpandedEntry> entries;
  std::vector<DependencySet> dependencies;
};

struct Expanded {
  std::optional<Expansion> expansion;   // absent when there was any error
  std::vector<Diagnostic> diagnostics;  // duplicate names, unknown dependencies, cycles (one shown in full), …
};

// `text` is the spec's source, for the lines that diagnostics show.
[[nodiscard]] Expanded expand(const Workflow& workflow, std::string_view text, const std::string& file);

}  // namespace torc::spec
