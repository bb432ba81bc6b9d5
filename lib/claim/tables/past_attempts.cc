#include "lib/claim/tables/past_attempts.h"

#include "lib/base/codec.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

Key past_attempt_key(std::uint64_t job, std::uint32_t attempt) {
  return Key(Table::past_attempt, job).be32(attempt);
}

std::optional<PastAttempt> past_attempt_in(std::string_view key) {
  constexpr std::size_t kSize = 1 + sizeof(std::uint64_t) + sizeof(std::uint32_t);
  if (!is_in(Table::past_attempt, key) || key.size() != kSize) return std::nullopt;
  return PastAttempt{number_at(key, 1, 8), static_cast<std::uint32_t>(number_at(key, 9, 4))};
}

namespace {

// Whether the record tells of an attempt that has ended, and how in the end.
bool tells_an_end(const Job& job) {
  return job.attempt > 0 && job.claim != 0 && !is_occupied(job) &&
         job.outcome.cause != EndCause::none && !is_passed_over(job);
}

// Those before the newest that are kept, of which `newest` is the last.
void forget_attempts(Transaction& tx, std::uint64_t id, std::uint32_t newest) {
  const std::uint32_t kept = kept_attempts(tx);
  for (;;) {
    const auto oldest = tx.seek(past_attempt_key(id, 0));
    const auto of = oldest ? past_attempt_in(oldest->key) : std::nullopt;
    if (!of || of->job != id || of->attempt > newest || newest - of->attempt < kept) return;
    tx.erase(past_attempt_key(id, of->attempt));
  }
}

Result<void> scan_below(const Reader& reader, std::string_view prefix, const VisitAttempt& visit) {
  State state(reader);
  const auto decode = [](const store::Entry& e) {
    const auto of = past_attempt_in(e.key);
    auto job = of ? decode_job(e.value) : std::nullopt;
    using Found = std::optional<std::pair<JobId, Job>>;
    return job && job->attempt == of->attempt ? Found({JobId{of->job}, *std::move(job)}) : Found();
  };
  each_readable(state, prefix, decode,
                [&](const auto& found) { return visit(found.first, found.second); });
  return state.sound();
}

}  // namespace

JobState state_of_end(const Outcome& outcome) {
  if (is_loss(outcome.cause) || is_interruption(outcome.cause)) return JobState::ready;
  switch (outcome.cause) {
    case EndCause::exited:
      return outcome.exit_code == 0 ? JobState::completed : JobState::failed;
    case EndCause::canceled:
    case EndCause::removed:
      return JobState::canceled;
    case EndCause::timed_out:
      return JobState::terminated;
    default:
      return JobState::failed;
  }
}

std::uint32_t kept_attempts(const Reader& reader) {
  const auto value = reader.get(Key(Table::past_template));
  if (!value) return kKeptAttempts;
  Decoder in(*value);
  const auto attempts = static_cast<std::uint32_t>(in.up_to(kMostKeptAttempts));
  return in.is_whole() ? attempts : kKeptAttempts;
}

void keep_attempts(Transaction& tx, std::uint32_t attempts) {
  tx.put(Key(Table::past_template), Value().varint(attempts));
}

void keep_attempt(Transaction& tx, std::uint64_t id, const Job& before, const Job& after) {
  if (!tells_an_end(before)) return;
  if (before.attempt == after.attempt && before.outcome == after.outcome) return;
  const Key key = past_attempt_key(id, before.attempt);
  if (const auto there = tx.get(key)) {
    const auto kept = decode_job(*there);
    if (kept && kept->claim == before.claim) return;
  }
  Job kept;
  kept.state = state_of_end(before.outcome);
  kept.attempt = before.attempt;
  kept.claim = before.claim;
  kept.worker = before.worker;
  kept.claimed_at = before.claimed_at;
  kept.alternative = before.alternative;
  kept.outcome = before.outcome;
  tx.put(key, encode(kept));
  forget_attempts(tx, id, before.attempt);
}

Result<void> scan_past_attempts(const Reader& reader, JobId id, const VisitAttempt& visit) {
  return scan_below(reader, Key(Table::past_attempt, raw(id)), visit);
}

Result<void> scan_past_attempts(const Reader& reader, const VisitAttempt& visit) {
  return scan_below(reader, Key(Table::past_attempt), visit);
}

}  // namespace torc::claim
