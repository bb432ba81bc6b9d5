#include "lib/claim/rules/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "lib/base/quantities.h"
#include "lib/base/text/text.h"

namespace torc::claim {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr int kTimedOut = 152;  // as wrappers of other programs say it
constexpr int kEnded = 128 + SIGKILL;
// A job that was killed this early of its time was hardly killed for that; one that came this far
// hardly ended for anything else.
constexpr double kEarly = 0.8;
constexpr double kLate = 0.9;

double share_of(const Outcome& o, const Requirement& had) {
  const seconds of = expected_time(had);
  const auto ran = std::max<microseconds>(o.ended_at - o.started_at, microseconds(0));
  return of.count() > 0 ? std::chrono::duration<double>(ran) / std::chrono::duration<double>(of)
                        : 0;
}

bool declares_memory(const Requirement& had) {
  return had.memory > Requirement{}.memory;
}

seconds longer(seconds had, microseconds ran, double by, seconds most) {
  const double wanted =
      by * std::max(static_cast<double>(had.count()), static_cast<double>(ran.count()) / 1e6);
  const auto whole = seconds(static_cast<std::int64_t>(std::ceil(wanted / 60)) * 60);
  return most.count() > 0 ? std::min(whole, most) : whole;
}

Proposal skip(std::string why) {
  Proposal none;
  none.why = std::move(why);
  return none;
}

Proposal more_memory(const Failure& failure, const Ceilings& most, const RecoveryTerms& terms) {
  const double peak = static_cast<double>(failure.peak.value) * terms.memory_multiplier;
  const double asked = declares_memory(failure.had)
                           ? static_cast<double>(failure.had.memory.value) * terms.memory_multiplier
                           : 0;
  // What was ended for its memory would have gone on growing.
  const double wanted = failure.was_ended ? std::max(peak, asked) : peak > 0 ? peak : asked;
  if (wanted <= 0) return skip("it declares no memory, and its peak is not known: set it yourself");
  Proposal more;
  more.remedy = Remedy::raise_memory;
  more.memory = {rounded_memory(wanted)};
  if (most.memory.value > 0) more.memory = std::min(more.memory, most.memory);
  if (declares_memory(failure.had) && more.memory <= failure.had.memory)
    return skip(
        most.memory.value > 0 && failure.had.memory >= most.memory
            ? fmt::format("it already has {}, the most that there is", show_bytes(most.memory))
            : "its peak says that it had enough: raise the multiplier");
  return more;
}

Proposal more_time(const Failure& failure, const Ceilings& most, const RecoveryTerms& terms) {
  const seconds limit = longest_time(failure.had);
  if (limit.count() == 0) return skip("it declares no time limit, so torc did not end it");
  if (most.runtime.count() > 0 && limit >= most.runtime)
    return skip(
        fmt::format("it already has {}, the most that there is", show_duration(most.runtime)));
  Proposal more;
  more.remedy = Remedy::raise_runtime;
  const seconds longest = longer(limit, failure.longest, terms.runtime_multiplier, most.runtime);
  if (longest <= limit) return skip("it had enough: raise the multiplier");
  if (failure.had.time_limit.count() > 0) more.time_limit = longest;
  if (failure.had.runtime.count() > 0)
    more.runtime = std::min(longest, longer(failure.had.runtime, microseconds(0),
                                            terms.runtime_multiplier, most.runtime));
  return more;
}

}  // namespace

std::string_view to_string(Trouble trouble) {
  constexpr std::string_view kWords[] = {"memory", "runtime", "transient", "mend", "unknown"};
  return word_of(trouble, kWords);
}

std::string_view to_string(Remedy remedy) {
  constexpr std::string_view kWords[] = {"raise_memory", "raise_runtime", "retry", "skip"};
  return word_of(remedy, kWords);
}

Trouble plain_trouble_of(const Outcome& o, Trouble said, const Requirement& had) {
  if (o.cause == EndCause::out_of_memory) return Trouble::memory;
  if (o.cause == EndCause::timed_out) return Trouble::runtime;
  if (o.cause == EndCause::output_missing) return Trouble::mend;
  if (is_loss(o.cause) || is_interruption(o.cause)) return Trouble::transient;
  const int code = return_code(o);
  if (declares_memory(had) && o.max_rss > had.memory) return Trouble::memory;
  if (code == kTimedOut) return Trouble::runtime;
  if (said != Trouble::unknown) return said;
  // The kernel ends what uses too much memory by a SIGKILL, and says so only in the node's log.
  return code == kEnded && share_of(o, had) < kEarly ? Trouble::memory : Trouble::unknown;
}

Trouble trouble_of(const Outcome& o, Trouble said, const Requirement& had) {
  const Trouble plain = plain_trouble_of(o, said, had);
  if (plain != Trouble::unknown) return plain;
  return share_of(o, had) > kLate ? Trouble::runtime : Trouble::unknown;
}

void Failure::add(const Outcome& o) {
  was_ended = was_ended || o.cause == EndCause::out_of_memory || return_code(o) == kEnded;
  peak = std::max(peak, o.max_rss);
  if (o.started_at.count() != 0)
    longest = std::max<microseconds>(longest, o.ended_at - o.started_at);
}

void Proposal::apply_to(Requirement& need) const {
  if (remedy == Remedy::raise_memory) need.memory = memory;
  if (remedy != Remedy::raise_runtime) return;
  if (runtime.count() > 0) need.runtime = runtime;
  if (time_limit.count() > 0) need.time_limit = time_limit;
}

Proposal proposal_for(const Failure& failure, const Ceilings& most, const RecoveryTerms& terms) {
  Proposal again;
  again.remedy = Remedy::retry;
  const bool grows = failure.trouble == Trouble::memory || failure.trouble == Trouble::runtime;
  if (grows && failure.has_alternatives)
    return skip("it has alternatives (one_of): set what it needs yourself");
  switch (failure.trouble) {
    case Trouble::memory:
      return more_memory(failure, most, terms);
    case Trouble::runtime:
      return more_time(failure, most, terms);
    case Trouble::transient:
      return again;
    case Trouble::mend:
    case Trouble::unknown:
      break;
  }
  if (terms.retries_unknown) return again;
  return skip(failure.trouble == Trouble::mend
                  ? "somebody has to fix something first"
                  : "the cause is not known; --retry-unknown tries it again");
}

std::optional<Proposal> recovery_of(const Handler& handler, std::uint32_t before,
                                    const Outcome& outcome, Trouble said, const Requirement& had,
                                    bool has_alternatives, ByteCount most_memory) {
  if (before >= handler.recoveries) return std::nullopt;
  Failure failure;
  failure.had = had;
  failure.trouble = plain_trouble_of(outcome, said, had);
  failure.has_alternatives = has_alternatives;
  failure.add(outcome);
  Proposal proposal = proposal_for(failure, {most_memory, handler.runtime_ceiling}, {});
  if (proposal.remedy == Remedy::skip) return std::nullopt;
  return proposal;
}

seconds recovery_delay(const Proposal& proposal, const Outcome& outcome, std::uint32_t nth) {
  if (proposal.remedy != Remedy::retry) return seconds(0);
  if (is_loss(outcome.cause) || is_interruption(outcome.cause)) return seconds(0);
  RetryRule rule;
  rule.backoff = kRecoveryDelay;
  return backoff_of(rule, nth);
}

}  // namespace torc::claim
