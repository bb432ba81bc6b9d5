// Input files that are not there and that no job makes, before anything runs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bin/app.h"
#include "lib/workflow/plan/input_search.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// Adds a warning to the diagnostics of a file that was read: they may still come.
Result<void> note_missing_inputs(const App& app, workflow::LoadedSpec& loaded);

// Those that the jobs of a store need.
class NeededInputs {
 public:
  // Of the jobs that are not over (of `only`; null: of all), which run in `directory`. No file is
  // looked at.
  static Result<NeededInputs> of(const claim::Reader& reader, const Path& directory,
                                 const std::vector<claim::JobRange>* only);

  // Error invalid: some are not there, so that `nothing` is begun ("nothing was started"); `again`
  // is the command that does it when they are. Only a warning where actions run commands, which may
  // fetch them.
  Result<void> require(const App& app, std::string_view nothing, const std::string& again) const;

 private:
  explicit NeededInputs(workflow::InputSearch search) : search_(std::move(search)) {}

  workflow::InputSearch search_;
  bool is_over_ = false;
  bool may_be_fetched_ = false;
};

// Both, of the newest state.
Result<void> require_inputs(const App& app, store::Store& store, const Path& directory,
                            std::string_view nothing, const std::string& again,
                            const std::vector<claim::JobRange>* only = nullptr);

}  // namespace torc::cli
