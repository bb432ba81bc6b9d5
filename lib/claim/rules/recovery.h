// What is to be done about a job that has failed: why it did, as far as that decides what helps,
// and what is proposed. One set of rules for `torc recover`, which a person calls, and for
// workflows that recover by themselves (`on_failure: recover`, retry.h). Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/units.h"
#include "lib/claim/rules/handler.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/plan.h"

namespace torc::claim {

// By what is certain first: what torc saw of the end and what was measured, before `said`, which is
// what the output and the exit code say. Last what is merely likely: that a job which ended late in
// its time ended for that. `had`: what the attempt was given.
[[nodiscard]] Trouble trouble_of(const Outcome& outcome, Trouble said, const Requirement& had);
// The same without what is merely likely.
[[nodiscard]] Trouble plain_trouble_of(const Outcome& outcome, Trouble said,
                                       const Requirement& had);

// Of a job, or of several of the same needs that failed alike.
struct Failure {
  Trouble trouble = Trouble::unknown;
  Requirement had;
  bool has_alternatives = false;
  bool was_ended = false;               // for its memory: its peak tells less than it needs
  ByteCount peak;                       // the highest; 0: not known
  std::chrono::microseconds longest{};  // that one ran
  // One more of them ended so.
  void add(const Outcome& outcome);
};

// What a job may be given at most; 0: not known.
struct Ceilings {
  ByteCount memory;
  std::chrono::seconds runtime{0};
};

struct RecoveryTerms {
  double memory_multiplier = 1.5;
  double runtime_multiplier = 1.5;
  bool retries_unknown = false;  // and what a person has to mend
};

enum class Remedy : std::uint8_t { raise_memory, raise_runtime, retry, skip };
[[nodiscard]] std::string_view to_string(Remedy remedy);

struct Proposal {
  Remedy remedy = Remedy::skip;
  ByteCount memory;                    // raise_memory
  std::chrono::seconds runtime{0};     // raise_runtime; 0: as it is
  std::chrono::seconds time_limit{0};  // the same
  std::string why;                     // skip; a sentence without its end
  void apply_to(Requirement& need) const;
};
// What was asked for times the multiplier, and no less than what was used times it; never beyond
// `most`, and skipped where it is there already.
[[nodiscard]] Proposal proposal_for(const Failure& failure, const Ceilings& most,
                                    const RecoveryTerms& terms);

// --- without a person ---

// What is done about an attempt that no rule of the handler was for; nullopt: nothing, it has
// failed for good. `before`: recoveries that the job has had. Only what trouble_of() is certain of,
// and what has a remedy that nobody needs to think about.
[[nodiscard]] std::optional<Proposal> recovery_of(const Handler& handler, std::uint32_t before,
                                                  const Outcome& outcome, Trouble said,
                                                  const Requirement& had, bool has_alternatives,
                                                  ByteCount most_memory);

// From the failure to the next attempt, for the nth recovery (from 1) of the job: what a network, a
// licence or a file server denied it may be there a little later. What was given more, and what was
// lost with its node, need not wait.
inline constexpr std::chrono::seconds kRecoveryDelay{30};
[[nodiscard]] std::chrono::seconds recovery_delay(const Proposal& proposal, const Outcome& outcome,
                                                  std::uint32_t nth);

}  // namespace torc::claim
