// What jobs have used, against what the workflow file says that they need, and what it should say.
// Pure, but for reading the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/tables/transaction.h"
#include "lib/spec/load/need_values.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::report {

struct FitRules {
  double memory = 1.2;  // times the most that was used
  double runtime = 1.2;
  double cpus = 1.2;
  bool lowers = true;
};

// Of all jobs that have one value of the file.
struct NeedUse {
  std::uint64_t jobs = 0;
  std::uint64_t completed = 0;
  std::uint64_t weighed = 0;        // of these, whose peak memory is known
  std::uint64_t out_of_memory = 0;  // newest attempts
  std::uint64_t timed_out = 0;
  ByteCount most_memory;
  std::chrono::microseconds longest{};
  double most_cpus = 0;  // on the average of its time
  // Of which too little is known to give them less: of some jobs nothing, or they run on several
  // nodes.
  bool in_part = false;
};

enum class FitReason : std::uint8_t {
  none,
  out_of_memory,
  timed_out,
  above,  // they used more than it says
  wasted
};
[[nodiscard]] std::string_view to_string(FitReason reason);

struct Fit {
  std::uint64_t amount = 0;  // that the file should say; as it is, where there is no reason
  FitReason reason = FitReason::none;
};
// More where jobs were ended for it, or used more; less only where all of them completed, all were
// measured, and it is worth while: more than 1 GiB, more than 30 minutes, a CPU. A time limit is
// never lowered.
[[nodiscard]] Fit fitted(spec::Need need, std::uint64_t asked, const NeedUse& use,
                         const FitRules& rules);

struct NeedChange {
  spec::NeedValue value;
  spec::Need need{};
  std::uint64_t jobs = 0;
  Fit fit;
  std::string kept;             // why it stays though another amount is right; empty: it changes
  double saved_core_hours = 0;  // by this change alone; below 0: it costs
};

struct NeedChanges {
  std::vector<NeedChange> all;  // in the order of the file
  double core_hours = 0;        // that the measured attempts took, as they asked
  double saved_core_hours = 0;  // of these, by all changes together
  std::uint64_t measured = 0;   // attempts
  // What changes, as NeedValues::with() takes it.
  [[nodiscard]] std::map<std::size_t, std::uint64_t> amounts() const;
};
// `loaded`: the file, which may have changed since the store was made: what the store's jobs did
// not have is left alone.
Result<NeedChanges> fit_needs(const claim::Reader& reader, const workflow::LoadedSpec& loaded,
                              const spec::NeedValues& values, const FitRules& rules);
// Whether the file that `before` becomes by the amounts is the same workflow, with these.
[[nodiscard]] bool is_as_planned(const workflow::LoadedSpec& before,
                                 const workflow::LoadedSpec& after, const spec::NeedValues& values,
                                 const std::map<std::size_t, std::uint64_t>& amounts);

}  // namespace torc::report
