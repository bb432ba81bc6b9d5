// Random workflow files for simulated lives, and what each of them says of its jobs, without
// anything of lib/workflow: that is what it is compared with.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/claim/rules/plan.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::simulation {

struct FileEntry {
  int number = 0;
  std::uint64_t from = 1;
  std::uint64_t count = 1;
  int command = 0;
  int priority = 0;
  bool fails = false;   // whenever it runs by this command
  std::set<int> needs;  // entries further up, all jobs of each
};
using WorkflowFile = std::vector<FileEntry>;

struct FileJob {
  std::string command;
  std::set<std::string> needs;  // names
  int priority = 0;
};

[[nodiscard]] WorkflowFile any_file(SeededEntropy& random);
// One to three edits later.
[[nodiscard]] WorkflowFile edited(WorkflowFile file, SeededEntropy& random);

// By name.
[[nodiscard]] std::map<std::string, FileJob> jobs_of(const WorkflowFile& file);
// Whether a job of that command ends with another exit code than 0.
[[nodiscard]] bool is_to_fail(const std::string& command);

// As a command reads it.
[[nodiscard]] workflow::LoadedSpec loaded_of(const WorkflowFile& file);
[[nodiscard]] claim::Plan plan_of(const WorkflowFile& file);

}  // namespace torc::simulation
