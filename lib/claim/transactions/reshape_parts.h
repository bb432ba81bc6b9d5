// The parts of reshape(): ranges, templates, and what jobs wait for and where.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/base/result.h"
#include "lib/claim/queries/chosen_jobs.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/transactions/reshape.h"

namespace torc::claim {

class ReadyQueues;

void sort_ranges(std::vector<JobRange>& ranges);
// Sorted, those that overlap or follow each other joined.
[[nodiscard]] std::vector<JobRange> joined_ranges(std::vector<JobRange> ranges);

// Where it is noted that the file has a job no more; the value is the job as it was where that is
// more than that it waited or had completed, else empty.
[[nodiscard]] Key removed_key(JobId id);

// Makes these the templates of their jobs, in place of those there are, of which is left what is
// beyond. A class may learn from a template: that goes on beginning where it began.
Result<void> replace_templates(Transaction& tx, const std::vector<Template>& entries,
                               const PartOf& part_of);

// What a run of jobs has from now on: nothing where it stays as it was.
struct SpanTerms {
  JobRange jobs;
  std::optional<Rank> rank;
  std::optional<std::uint64_t> barrier;
};

// Other ranks and barriers for runs of jobs that no worker has. Two lists, each sorted or not, in
// each of which no job stands twice: `ranks`, `barriers`.
//
// lift() takes the jobs that wait out of queues and counters, rewrite() writes the spans, drop()
// puts the jobs where they belong then. Between them barriers may be written, and nothing else.
class SpanChange {
 public:
  SpanChange(Transaction& tx, Tally& tally, const std::vector<SpanTerms>& ranks,
             const std::vector<SpanTerms>& barriers);

  Result<void> lift();
  // The barriers that lost members, ascending.
  std::vector<std::uint64_t> rewrite();
  Result<void> drop();

 private:
  enum class Way : unsigned char { out, in };
  Result<void> move(Way way);
  void move_run(State& state, ReadyQueues& queues, Way way, std::uint64_t first,
                std::uint64_t count);
  void write_span(std::vector<Span>& spans, const Span& span) const;
  [[nodiscard]] std::vector<std::uint64_t> cuts_of(const Span& span) const;
  void forget_own_ranks();

  Transaction& tx_;
  Tally& tally_;
  std::vector<SpanTerms> ranks_;     // those that differ from what is there, sorted
  std::vector<SpanTerms> barriers_;  // sorted
  std::vector<JobRange> changed_;    // all jobs that are in one of them; sorted, joined
};

// Jobs that these barriers hold back no more. A barrier that holds nobody back is gone.
Result<void> forget_members(Transaction& tx, const std::vector<std::uint64_t>& barriers,
                            const std::vector<JobRange>& jobs);

}  // namespace torc::claim
