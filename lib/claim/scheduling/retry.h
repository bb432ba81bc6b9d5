// Failure handlers at work, and recovery without a person: whether an end is final, what the next
// attempt gets, and when it may begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/rules/handler.h"
#include "lib/claim/rules/recovery.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/ledger.h"

namespace torc::claim {

// Makes the delayed jobs ready whose time has come, at most kMostPromoted. Whether there were any.
inline constexpr std::size_t kMostPromoted = 10'000;
bool promote_due(Ledger& ledger, WallTime now);

// Asks the handlers about the ends of one transaction.
class Retries {
 public:
  // `ledger` outlives this.
  explicit Retries(Ledger& ledger) : ledger_(ledger) {}

  // `after`: the job as its end leaves it. A failed or terminated one that a rule of its handler is
  // for, and that has retries left by it, waits again: ready, or delayed; its terms have grown. One
  // that has reached a ceiling does not. A rule with a recovery script counts only if that
  // succeeded. One that no rule is for is recovered where the workflow does that (recovery.h), and
  // else left to a person where it says so (rule::kPendingFailed).
  [[nodiscard]] Job after_end(std::uint64_t id, Job after, const Finished& event, WallTime now);

  struct Loss {
    std::uint32_t crash_limit = 0;
    WallTime now{};
    WallTime alive_at{};  // the last sign of life of the worker
    EndCause why = EndCause::worker_lost;
    Charge charge = Charge::yes;
    std::uint64_t prime = 0;  // the suspect that the worker was granted last; 0: it held none
  };
  // The job whose worker is lost: as lose() or cut_off() has it, unless its handler has a rule for
  // that, which then decides, within the crash limit. Where the workflow recovers by itself, one
  // that this would be the end of has another attempt for each recovery that it has left; of what
  // it was charged with nothing is forgiven.
  [[nodiscard]] Job after_loss(std::uint64_t id, const Job& before, const Loss& loss);

  // Gives jobs that have never been claimed what rules that learn have given others of their
  // template: of each lesson the next kMostTaught behind the job that failed (the first follow the
  // last). What is beyond is taught by the next failure. Once, when all ends are in the ledger, and
  // before anything is claimed.
  static constexpr std::uint64_t kMostTaught = 1000;
  void teach();

 private:
  // A job of the template that begins with `first` was given more, and has `grown` now.
  struct Lesson {
    std::uint64_t id = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    JobClass grown;
    std::uint32_t alternative = 0;
  };
  void note_lesson(std::uint64_t id, JobClass grown, std::uint32_t alternative);
  // What the templates say of the jobs in [first, end).
  struct Terms {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    std::uint32_t crash_limit = 0;
    std::optional<Handler> handler;
  };
  const Terms& terms_of(std::uint64_t id);
  // What becomes of an end that no rule had a word on.
  Job unruled(std::uint64_t id, Job after, Trouble said, WallTime now);
  std::optional<Job> recovered(std::uint64_t id, const Job& failed, Trouble said, WallTime now);
  Job again(std::uint64_t id, Job after, std::size_t rule, RetryCounts counts, WallTime now);
  void grow(std::uint64_t id, const Job& job, const RetryRule& rule);
  void reclass(std::uint64_t id, const Job& job, const Rank& before, const JobClass& wanted);
  bool is_at_ceiling(std::uint64_t id, const RetryRule& rule, const Job& job);
  ByteCount most_memory();
  RetryCounts counts_of(std::uint64_t id, const Job& job);

  Ledger& ledger_;
  Terms terms_;
  std::optional<ByteCount> largest_worker_;
  std::vector<Lesson> lessons_;
};

}  // namespace torc::claim
