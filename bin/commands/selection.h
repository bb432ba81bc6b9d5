// Which jobs a command is about: names, a regular expression, a state, all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bin/app.h"
#include "bin/flags.h"
#include "lib/claim/transactions/live.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::cli {

// As the command line fills it.
struct SelectOptions {
  std::vector<std::string> words;  // [STORE] NAME…
  std::string name;                // regular expression, searched in the name
  std::string state;               // some, with commas
  bool all = false;
};
inline constexpr const char* kNamesHelp =
    "[STORE] NAME…: jobs by name, by #NUMBER, 'align_*', stage:align, @FILE or -";
// And --name. `help`: what stands for the arguments, ": ", and what they are.
void add_names(Command& c, SelectOptions& o, const std::string& help = kNamesHelp);
void add_all(Command& c, SelectOptions& o, const std::string& help);
inline constexpr const char* kStateHelp =
    "jobs in one of these states, with commas (with --name: those that match)";
Flag add_state(Command& c, SelectOptions& o, const std::vector<claim::JobState>& states,
               const std::string& help = kStateHelp);
// For help and for choices.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<claim::JobState>& states);

[[nodiscard]] std::vector<claim::JobState> states_of(const SelectOptions& o);

// Whether a store is there, or is meant by its ending or by its workflow file.
[[nodiscard]] bool names_a_store(const App& app, const std::string& word);

// The store and the names in "[STORE] NAME…": the first word is the store when a store is there, or
// when it ends in .torc; else the store is found as for other commands.
struct StoreAndNames {
  Path store;
  std::vector<std::string> names;
};
Result<StoreAndNames> locate_store_and_names(const App& app, const std::vector<std::string>& words);

// Collects jobs in any order.
class JobSet {
 public:
  void add(JobId id) { add(claim::JobRange{id, 1}); }
  void add(claim::JobRange range);
  // Sorted, disjoint, joined.
  [[nodiscard]] std::vector<claim::JobRange> ranges() &&;

 private:
  std::vector<claim::JobRange> ranges_;
};

struct Selection {
  std::vector<std::string> names;
  std::string regex;                    // empty: any name
  std::vector<claim::JobState> states;  // empty: any state
  bool all = false;
};
// Each of `names`, which may be globs and stages (job_words.h), and besides, when a regex, states
// or `all` are given, every job that is in one of the states and matches. Errors (invalid): a name
// nobody has, a bad expression, one that matches no name, nothing given at all. A regex without a
// state looks at every name in the workflow.
Result<std::vector<claim::JobRange>> select_jobs(const claim::Reader& reader,
                                                 const Selection& selection);

}  // namespace torc::cli
