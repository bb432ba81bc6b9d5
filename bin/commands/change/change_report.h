// What a change of jobs did, as its command tells it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bin/app.h"
#include "lib/claim/transactions/live.h"

namespace torc::cli {

struct ChangeReport {
  claim::Change change;
  std::vector<std::string> names;      // of change.first
  std::vector<std::string> withdrawn;  // of change.first_withdrawn
  // Left alone because it was canceled for what became of another job, with which that began.
  struct PassedOver {
    std::string name;
    std::string because;
    JobId root{};
    claim::JobState state{};  // of that other job
  };
  std::vector<PassedOver> passed_over;              // of change.passed_over
  std::vector<std::vector<std::string>> followers;  // names of change.followers
  std::optional<Error> unseen = {};
};
// The change is made already: what cannot be seen of it is left out of the report, and `unseen`
// says why.
[[nodiscard]] ChangeReport report_of(store::Store& store, claim::Change change);

// `done`: "canceled", "would cancel". `store`: for commands that are recommended.
void print_change(const App& app, const ChangeReport& report, std::string_view done, bool dry_run,
                  const Path& store);
// {store, dry_run, changed, by_state, left_alone, passed_over, followers, ending, jobs}
void print_change_json(const App& app, const store::Store& store, const ChangeReport& report,
                       bool dry_run);

// Which workers are not at work, and, where nobody is there to do what is left, how to start one.
void say_presence(const App& app, store::Store& store);

// Of what the jobs that run again had spawned, a line; empty: there is none.
[[nodiscard]] std::string show_withdrawn(const claim::Change& change,
                                         const std::vector<std::string>& names, bool dry_run);

// The first of `all` jobs.
[[nodiscard]] std::string show_first(const std::vector<std::string>& names, std::uint64_t all);

}  // namespace torc::cli
