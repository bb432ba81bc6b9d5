// What a change of jobs did, as its command tells it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bin/app.h"
#include "lib/claim/live.h"

namespace torc::cli {

// Runs `body` in a transaction; for a dry run in one that is given up.
Result<void> commit_or_try(store::Store& store, bool dry_run, const store::Store::Body& body);

struct ChangeReport {
  claim::Change change;
  std::uint64_t living = 0;        // workers
  std::vector<std::string> names;  // of change.first
};
Result<ChangeReport> report_of(store::Store& store, claim::Change change);

// `done`: "canceled", "would cancel".
void print_change(const App& app, const ChangeReport& report, std::string_view done, bool dry_run);
// {store, dry_run, changed, by_state, left_alone, ending, jobs}
void print_change_json(const App& app, const store::Store& store, const ChangeReport& report,
                       bool dry_run);

// For changes that let jobs run: when nobody is there to run them.
void say_without_workers(const App& app, const ChangeReport& report, const Path& store);

}  // namespace torc::cli
