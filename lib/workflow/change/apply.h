// A new version of a workflow file comes to the store that was made from an earlier one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/transactions/reshape.h"
#include "lib/workflow/change/difference.h"
#include "lib/workflow/change/stale.h"
#include "lib/workflow/change/trial.h"
#include "lib/workflow/context/context.h"
#include "lib/workflow/plan/workflow_plan.h"

namespace torc::workflow {

struct ApplyTerms {
  bool checksum = false;          // contents decide, where workers have hashed them
  bool restarts_running = false;  // what runs by an old definition is ended and runs again
  Path directory = {};            // where jobs run; empty: where the store says
  std::optional<spec::RerunTriggers> triggers = {};  // none: those of the file
  // Results that stay, whatever changed and as long as they are there: all, those of jobs that
  // completed, those of the jobs that this finds.
  bool spares_all = false;
  bool spares_completed = false;
  std::function<Result<std::vector<claim::JobRange>>(const claim::Reader&)> spared = {};
  // Asked before anything is changed; empty: it is. Its error is that of apply().
  std::function<Result<void>(const Difference&)> admit = {};
  // Done by the same change, when the store is what the file says; not where nothing differs. Its
  // error is that of apply(), and nothing is changed. May be called again.
  store::Store::Body then = {};
};

struct Applied {
  Difference difference;
  std::vector<StaleJob> stale;  // those that are over, or run and are ended
  std::uint64_t running = 0;    // jobs that run by their old definition until they end
  bool had_behind = false;      // some went by an earlier file, as far as was known
  claim::Reshaped done;
  std::vector<SparedJob> spared;       // whose files are remembered as they are now
  std::vector<std::string> again;      // names of the first that run again
  std::vector<std::string> withdrawn;  // and of the first that are withdrawn with them

  // Neither the file nor what it names is other than the store knows.
  [[nodiscard]] bool nothing() const {
    return difference.nothing() && stale.empty() && spared.empty() &&
           difference.reshape.taken_back.empty() && !had_behind;
  }
  // Results that something speaks against, and that stay.
  [[nodiscard]] std::uint64_t accepted() const;
  // Jobs that had completed and run again.
  [[nodiscard]] std::uint64_t redone() const;
};

// Finds the difference and what is stale by it, and makes it so by one change, for which `change`
// is called (a dry run gives it up). Another change meanwhile: once more, a few times. Errors: of
// difference() and reshape(); busy, workers run that would go on with an environment that all jobs
// had before, or the store is changed again and again.
Result<Applied> apply(const Context& context, store::Store& store, const LoadedSpec& loaded,
                      const ApplyTerms& terms, const MakeChange& change);

}  // namespace torc::workflow
