// The jobs of a workflow and their dependencies, compactly: an entry of a million jobs stays one
// value, jobs with the same dependencies share one set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/limits.h"
#include "lib/spec/expand/dependency_sets.h"
#include "lib/spec/language/workflow.h"
#include "lib/spec/sweep/definitions.h"
#include "lib/spec/sweep/range.h"

namespace torc::spec {

// A workflow has at most so many jobs, and as many files. More is a diagnostic.
using torc::kMaxJobs;

// Jobs are numbered from 1 in the order of the file; the jobs of one entry are contiguous, the last
// parameter varying fastest.
struct ExpandedEntry {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
  ResourceRequirements resources;
  std::string
      scheduler;       // an entry whose resources, scheduler or labels vary with its parameters is
  std::string labels;  // split into several; as lib/base/labels.h writes them
  std::int32_t priority = 0;
  std::string recipe;        // encoded Recipe, see recipe.h
  std::string former_names;  // an encoded Recipe of names alone, those before; empty: none
  std::size_t source = 0;    // position in Workflow::jobs
  bool there = false;        // in the workflow already
};

// Members start on another condition than the completion of their upstream. A job may be a member
// of one such set for each condition.
struct ConditionalSet {
  Condition condition = Condition::afterany;
  DependencySet set;
};

struct ExpandedUserData {
  std::string name;
  std::string data;  // JSON text; empty: nothing yet
  bool is_ephemeral = false;
  std::uint64_t maker = 0;  // the job that outputs it; 0: none
  // Of the workflow that is added to: only its maker, which it had not, is new.
  bool is_elsewhere = false;
};

// The jobs that an action names.
struct ExpandedAction {
  std::size_t source = 0;   // position in Workflow::actions
  std::vector<Range> jobs;  // normalised; empty for those that name none
};

struct Expansion {
  std::uint64_t jobs = 0;
  StdioMode mode = StdioMode::separate;  // of jobs for which the file says none
  std::vector<ExpandedAction> actions;
  std::vector<ExpandedEntry> entries;
  std::vector<DependencySet> dependencies;  // afterok
  std::vector<ConditionalSet> conditional;
  std::vector<Definition> definitions;      // for later additions
  std::vector<Range> there;                 // of an addition: jobs that the workflow has already
  std::vector<ExpandedUserData> user_data;  // in the order of the file
};

// Who waits for whom on whatever condition, each job a member of at most one set.
[[nodiscard]] std::vector<DependencySet> all_dependencies(const Expansion& expansion);

}  // namespace torc::spec
