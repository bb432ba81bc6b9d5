// A workflow file and its store: what `torc apply` and `torc run FILE` do about what differs, and
// how they tell it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bin/app.h"
#include "lib/workflow/change/apply.h"

namespace torc::cli {

// Two files with one name would take the store from each other at every run: error exists, when
// the file that the store was made of is there too.
Result<void> refuse_other_file(const App& app, store::Store& store,
                               const workflow::LoadedSpec& loaded);

// Makes the store what the file says, or tries to, and keeps the file's text in the store.
Result<workflow::Applied> apply_file(const App& app, store::Store& store,
                                     const workflow::LoadedSpec& loaded,
                                     const workflow::ApplyTerms& terms, bool dry_run);

// At most a screen, the most important first. Of a dry run what would be. `until_the_end`: whoever
// applies it stays until what is at work has ended, and applies it again then.
void print_applied(const App& app, const workflow::Applied& applied, bool dry_run,
                   bool until_the_end = false);
[[nodiscard]] nlohmann::ordered_json applied_json(const store::Store& store,
                                                  const workflow::Applied& applied, bool dry_run);

struct ApplyRequest {
  std::string file;
  std::string store;  // empty: the one that `torc run FILE` would use
  workflow::ApplyTerms terms;
  bool dry_run = false;
  bool json = false;
};
// All of `torc apply`, with what it prints.
Result<Exit> apply_and_tell(const App& app, const ApplyRequest& request);

}  // namespace torc::cli
