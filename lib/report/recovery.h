// What is to be done about jobs that failed: groups of them that failed alike, and what is proposed
// for each. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/claim/rules/recovery.h"
#include "lib/claim/transactions/override.h"
#include "lib/report/failure_diagnosis.h"

namespace torc::report {

using claim::Proposal;
using claim::RecoveryTerms;
using claim::Remedy;
using claim::Trouble;

// Jobs of one entry and of the same needs that failed alike.
struct FailedGroup : claim::Failure {
  std::string entry;
  struct Member {
    JobId job{};
    std::uint32_t attempt = 0;  // that failed: one that has another by now is left alone
  };
  std::vector<Member> jobs;        // in the order of their numbers
  std::vector<std::string> first;  // names of the first of them
  std::optional<Cause> cause;      // that says most; none: not known
  std::string how;                 // the first of them ended
  std::string line;                // of the output of one of them; empty: none says anything
  // Of a workflow with `on_failure: recover`: how often it has recovered one of them, at most, and
  // how often it does; 0 of 0: it does not.
  std::uint32_t recoveries = 0;
  std::uint32_t most_recoveries = 0;
};

// As claim::proposal_for() has it; what is to be mended is said as the cause has it.
[[nodiscard]] Proposal proposal_for(const FailedGroup& group, const claim::Ceilings& most,
                                    const RecoveryTerms& terms);
[[nodiscard]] claim::Setting setting_of(const Proposal& proposal);
// "raise memory to 6 GiB", "retry as it is", "skip: …".
[[nodiscard]] std::string say(const Proposal& proposal);

}  // namespace torc::report
