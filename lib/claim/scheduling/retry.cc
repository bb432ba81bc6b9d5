#include "lib/claim/scheduling/retry.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/codec.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/rules/ceiling.h"
#include "lib/claim/rules/lesson.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/scheduling/rank.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

// The delayed job that a key is about, if it may be tried again at `now`.
std::optional<Job> due_job(State& state, const std::optional<store::Entry>& entry, WallTime now,
                           std::uint64_t& id) {
  const auto found = listed_id(state, entry);
  if (!found) return std::nullopt;
  id = *found;
  const auto job = state.open_record(id);
  if (!job || job->state != JobState::delayed) {
    state.damaged(Key(Table::job, id));
    return std::nullopt;
  }
  if (!is_due(job->not_before, job->delay, now)) return std::nullopt;
  return job;
}

// It waits again, and so long at least.
Job wait_for(Job job, std::chrono::seconds delay, WallTime now) {
  job.delay = delay;
  job.state = delay.count() > 0 ? JobState::delayed : JobState::ready;
  if (job.state == JobState::delayed) job.not_before = now + delay;
  return job;
}

}  // namespace

bool promote_due(Ledger& ledger, WallTime now) {
  State& state = ledger.state();
  std::size_t promoted = 0;
  while (promoted < kMostPromoted) {
    std::uint64_t id = 0;
    // Those that are due stand first; what a clock far ahead wrote stands last.
    auto job = due_job(state, ledger.tx().seek(Key(Table::delayed)), now, id);
    if (!job) job = due_job(state, last_of(ledger.tx(), Table::delayed), now, id);
    if (!job) break;
    Job after = *job;
    after.state = JobState::ready;
    after.not_before = WallTime{};
    after.delay = std::chrono::seconds(0);
    ledger.change(id, *job, after);
    ++promoted;
  }
  return promoted > 0;
}

const Retries::Terms& Retries::terms_of(std::uint64_t id) {
  if (id >= terms_.first && id < terms_.end) return terms_;
  terms_ = {};
  State& state = ledger_.state();
  const auto found = read_template(state.reader(), JobId{id});
  if (!found) {
    state.damaged(Key(Table::job_template, id));
    return terms_;
  }
  terms_.first = raw(found->first);
  terms_.end = terms_.first + found->count;
  terms_.crash_limit = found->crash_limit;
  terms_.handler = read_handler(state.reader(), *found);
  if (found->handler != 0 && !terms_.handler) state.damaged(Key(Table::handler, found->handler));
  return terms_;
}

Job Retries::after_end(std::uint64_t id, Job after, const Finished& event, WallTime now) {
  if (after.state != JobState::failed && after.state != JobState::terminated) return after;
  const Terms& terms = terms_of(id);
  const auto rule = terms.handler ? rule_for(*terms.handler, after.outcome) : std::nullopt;
  if (!rule) return unruled(id, std::move(after), event.said, now);
  if (!terms.handler->rules[*rule].script.empty() && !event.recovered) return after;
  RetryCounts counts = counts_of(id, after);
  if (counts.of(*rule) >= terms.handler->rules[*rule].max_retries) return after;
  if (is_at_ceiling(id, terms.handler->rules[*rule], after)) return after;
  return again(id, std::move(after), *rule, std::move(counts), now);
}

Job Retries::after_loss(std::uint64_t id, const Job& before, const Loss& loss) {
  if (loss.charge == Charge::no) {
    Job after = lose(before, 0, loss.alive_at, loss.why);
    after.lost = before.lost;
    after.suspicion = before.suspicion;
    return after;
  }
  const Terms& terms = terms_of(id);
  const std::uint32_t limit = terms.crash_limit != 0 ? terms.crash_limit : loss.crash_limit;
  Job after = loss.charge == Charge::stop ? cut_off(before, limit, loss.alive_at)
                                          : lose(before, limit, loss.alive_at, loss.why);
  if (loss.charge == Charge::yes && id == loss.prime) after.suspicion = Suspicion::prime;
  const auto rule = terms.handler ? rule_for(*terms.handler, after.outcome) : std::nullopt;
  if (is_terminal(after.state))
    return rule ? after : unruled(id, std::move(after), Trouble::unknown, loss.now);
  if (!rule || !may_have_started(before)) return after;
  RetryCounts counts = counts_of(id, after);
  if (counts.of(*rule) >= terms.handler->rules[*rule].max_retries) {
    after.state = JobState::failed;
    return after;
  }
  return again(id, std::move(after), *rule, std::move(counts), loss.now);
}

Job Retries::unruled(std::uint64_t id, Job after, Trouble said, WallTime now) {
  if (auto again = recovered(id, after, said, now)) return *std::move(again);
  if ((ledger_.tally().rules & rule::kPendingFailed) != 0) after.state = JobState::pending_failed;
  return after;
}

// The end, the word on it and what follows are one commit: nobody can do it twice, or see it done
// by half.
std::optional<Job> Retries::recovered(std::uint64_t id, const Job& failed, Trouble said,
                                      WallTime now) {
  const Terms& terms = terms_of(id);
  if (!terms.handler || terms.handler->recoveries == 0) return std::nullopt;
  RetryCounts counts = counts_of(id, failed);
  State& state = ledger_.state();
  const auto rank = state.rank_of(id);
  if (!rank) {
    state.damaged(Key(Table::span, id));
    return std::nullopt;
  }
  JobClass wanted = state.job_class(rank->job_class);
  const Requirement had = wanted.need_of(failed.alternative);
  // The memory of the largest worker is looked for only where it matters.
  const bool grows = plain_trouble_of(failed.outcome, said, had) == Trouble::memory;
  const auto remedy = recovery_of(*terms.handler, counts.recoveries, failed.outcome, said, had,
                                  wanted.alternatives() > 1, grows ? most_memory() : ByteCount{});
  if (!remedy) return std::nullopt;
  const std::uint32_t nth = ++counts.recoveries;
  ledger_.tx().put(Key(Table::retries, id), encode(counts));
  remedy->apply_to(wanted.need_of(failed.alternative));
  if (remedy->runtime.count() > 0) wanted.learns_from = 0;
  if (wanted != state.job_class(rank->job_class)) reclass(id, failed, *rank, wanted);
  return wait_for(failed, recovery_delay(*remedy, failed.outcome, nth), now);
}

Job Retries::again(std::uint64_t id, Job after, std::size_t rule, RetryCounts counts,
                   WallTime now) {
  const RetryRule& by = terms_.handler->rules[rule];
  if (counts.by_rule.size() <= rule) counts.by_rule.resize(rule + 1);
  const std::uint32_t nth = ++counts.by_rule[rule];
  ledger_.tx().put(Key(Table::retries, id), encode(counts));
  grow(id, after, by);
  return wait_for(std::move(after), backoff_of(by, nth), now);
}

// Whether this end is for want of what the rule can give no more of.
bool Retries::is_at_ceiling(std::uint64_t id, const RetryRule& rule, const Job& job) {
  const Outcome& outcome = job.outcome;
  if (outcome.cause != EndCause::out_of_memory && outcome.cause != EndCause::timed_out)
    return false;
  State& state = ledger_.state();
  const auto rank = state.rank_of(id);
  if (!rank) {
    state.damaged(Key(Table::span, id));
    return false;
  }
  const Requirement had = state.job_class(rank->job_class).need_of(job.alternative);
  return ceiling_reached(*terms_.handler, rule, outcome, had, most_memory()) != Ceiling::none;
}

// What the alternative that failed needs: of the others nothing is known.
void Retries::grow(std::uint64_t id, const Job& job, const RetryRule& rule) {
  if (rule.memory_multiplier == 1 && rule.runtime_multiplier == 1) return;
  State& state = ledger_.state();
  const auto rank = state.rank_of(id);
  if (!rank) return state.damaged(Key(Table::span, id));
  const JobClass old = state.job_class(rank->job_class);
  JobClass wanted = old;
  const Requirement& had = old.need_of(job.alternative);
  Requirement& need = wanted.need_of(job.alternative);
  if (rule.memory_multiplier != 1) need.memory = grown_memory(rule, had.memory, most_memory());
  need.runtime = grown_runtime(*terms_.handler, rule, had.runtime);
  need.time_limit = grown_runtime(*terms_.handler, rule, had.time_limit);
  if (need.runtime != had.runtime) wanted.learns_from = 0;
  if (wanted == old) return;
  if (rule.learn) note_lesson(id, wanted, job.alternative);
  reclass(id, job, *rank, wanted);
}

// The job whose end is still to be written.
void Retries::reclass(std::uint64_t id, const Job& job, const Rank& before,
                      const JobClass& wanted) {
  const std::uint32_t number = find_or_add_class(ledger_.tx(), ledger_.state(), wanted);
  put_rank(ledger_.tx(), ledger_.state(), id, {number, before.priority});
  ledger_.quota().change_class(job.worker, job.alternative, before.job_class, number);
}

// A worker often reports several jobs of one kind: what the first teaches, the others need not.
void Retries::note_lesson(std::uint64_t id, JobClass grown, std::uint32_t alternative) {
  const bool known = std::any_of(lessons_.begin(), lessons_.end(), [&](const Lesson& l) {
    return l.first == terms_.first && l.alternative == alternative && l.grown == grown &&
           id - l.id < kMostTaught;
  });
  if (known) return;
  lessons_.push_back({id, terms_.first, terms_.end - terms_.first, std::move(grown), alternative});
}

void Retries::teach() {
  struct Pupil {
    Job job;
    Rank before;
    Rank after;
  };
  std::map<std::uint64_t, Pupil> pupils;
  State& state = ledger_.state();
  for (const Lesson& lesson : std::exchange(lessons_, {})) {
    std::map<std::uint32_t, std::uint32_t> classes;  // most jobs are of few
    for (std::uint64_t n = 1; n <= std::min(kMostTaught, lesson.count - 1); ++n) {
      const std::uint64_t id = lesson.first + (lesson.id - lesson.first + n) % lesson.count;
      auto pupil = pupils.find(id);
      if (pupil == pupils.end()) {
        const auto job = state.job(id);
        const auto rank = state.rank_of(id);
        if (!job || !rank) return state.damaged(Key(Table::span, id));
        if (job->attempt != 0) continue;
        pupil = pupils.emplace(id, Pupil{*job, *rank, *rank}).first;
      }
      std::uint32_t& number = pupil->second.after.job_class;
      const auto [to, added] = classes.try_emplace(number, number);
      if (added) {
        const JobClass now = state.job_class(number);
        const JobClass then = taught(now, lesson.grown, lesson.alternative);
        if (then != now) to->second = find_or_add_class(ledger_.tx(), state, then);
      }
      number = to->second;
    }
  }
  for (const auto& [id, pupil] : pupils) {
    if (pupil.after == pupil.before) continue;
    put_rank(ledger_.tx(), state, id, pupil.after);
    ledger_.change_rank(id, pupil.job, pupil.before, pupil.after);
  }
}

// Counts that cannot be read are not none: the job would have all its retries again.
RetryCounts Retries::counts_of(std::uint64_t id, const Job& job) {
  const Key key(Table::retries, id);
  const auto value = ledger_.tx().get(key);
  if (value && !decode_retries(*value)) ledger_.state().damaged(key);
  return read_retries(ledger_.tx(), JobId{id}, job);
}

ByteCount Retries::most_memory() {
  if (terms_.handler->memory_ceiling.value > 0) return terms_.handler->memory_ceiling;
  if (!largest_worker_) {
    const auto largest = memory_ceiling(ledger_.tx(), *terms_.handler);
    if (!largest) ledger_.state().note(largest.error());
    largest_worker_ = largest ? *largest : ByteCount{};
  }
  return *largest_worker_;
}

}  // namespace torc::claim
