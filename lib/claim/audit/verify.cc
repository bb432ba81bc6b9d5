#include "lib/claim/audit/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "lib/claim/audit/verify_parts.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/retry_counts.h"
#include "lib/claim/rules/condition.h"
#include "lib/claim/tables/change_record.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/past_templates.h"
#include "lib/claim/tables/retired_record.h"
#include "lib/claim/tables/signature.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

// Recounts everything from the records alone. Each check relies on those before it.
class Audit {
 public:
  Audit(const Reader& reader, const PlanTables& plan) : reader_(reader), plan_(plan) {}

  Result<void> run() {
    TORC_TRY(read_jobs());
    TORC_TRY(check_countdowns());
    TORC_TRY(check_passed_over());
    TORC_TRY(check_overrides());
    TORC_TRY(check_queues());
    TORC_TRY(audit_order(reader_));
    TORC_TRY(check_workers());
    TORC_TRY(check_set_aside());
    TORC_TRY(check_delayed());
    std::map<std::uint64_t, std::uint64_t> occupied = live_;
    occupied.insert(ending_.begin(), ending_.end());
    TORC_TRY(audit_quota(reader_, plan_, occupied));
    TORC_TRY(audit_gangs(reader_, plan_));
    TORC_TRY(check_signatures());
    TORC_TRY(check_removed());
    TORC_TRY(check_behind());
    TORC_TRY(check_past_attempts());
    TORC_TRY(check_changes());
    TORC_TRY(check_retired());
    TORC_TRY(audit_user_data(reader_, plan_.jobs));
    return check_tally();
  }

 private:
  // States of all jobs: first what their span says, then what their record says.
  Result<void> read_jobs() {
    TORC_TRY(each(reader_, Table::countdown, [&](const store::Entry& e) -> Result<void> {
      const auto id = id_in(Table::countdown, e.key);
      if (id && plan_.barriers.contains(*id)) return {};
      return wrong("a countdown without a barrier at " + show_key(e.key));
    }));
    State state(reader_);
    states_.assign(plan_.jobs + 1, JobState::ready);
    signals_.assign(plan_.jobs + 1, Signal::waits);
    for (const Span& s : plan_.spans) {
      if (state.is_open(s.barrier)) continue;
      std::fill_n(states_.begin() + static_cast<std::ptrdiff_t>(s.first), s.count,
                  JobState::blocked);
    }
    TORC_TRY(each_record(reader_, Table::job, decode_job,
                         [&](std::uint64_t id, const Job& job) { return read_job(id, job); }));
    for (std::size_t s = 1; s < kSignals; ++s) {
      const bool told_apart = as_seen_by(static_cast<Signal>(s), plan_.rules) != Signal::waits;
      if (!told_apart) continue;
      up_to_[s].assign(states_.size(), 0);
      for (std::size_t id = 1; id < states_.size(); ++id)
        up_to_[s][id] = up_to_[s][id - 1] + (signals_[id] == static_cast<Signal>(s) ? 1 : 0);
    }
    return {};
  }

  Result<void> read_job(std::uint64_t id, const Job& job) {
    if (id == 0 || id >= states_.size()) return wrong(fmt::format("job {} does not exist", id));
    if (job.state == JobState::blocked) {
      return wrong(fmt::format("the record of job {} says what only its barrier can say", id));
    }
    const bool closed = states_[id] == JobState::blocked;
    const bool waits = has(job.state, trait::kWaits);
    if (closed &&
        ((waits && job.attempt != job.forgiven) || (!waits && job.state != JobState::canceled))) {
      return wrong(fmt::format(
          "job {} is {} at attempt {} although jobs that it depends on have not completed", id,
          to_string(waits ? JobState::blocked : job.state), job.attempt));
    }
    const bool needs_claim = is_live(job.state) || job.state == JobState::delayed ||
                             (is_over(job.state) && job.state != JobState::canceled);
    if (needs_claim && (job.attempt == 0 || job.claim == 0 || raw(job.worker) == 0)) {
      return wrong(fmt::format("job {} is {} and was never claimed", id, to_string(job.state)));
    }
    if (job.forgiven > job.attempt || job.lost > job.attempt - job.forgiven ||
        job.stopped > job.attempt - job.forgiven - job.lost || job.claim > reader_.sequence()) {
      return wrong(fmt::format("job {} has impossible numbers", id));
    }
    if (job.revoked != Revoked::no) {
      if (job.state != JobState::canceled || job.claim == 0) {
        return wrong(fmt::format("job {} is {} and is to be ended", id, to_string(job.state)));
      }
      ending_[id] = raw(job.worker);
    }
    if (job.alternative != 0) alternatives_[id] = job.alternative;
    if (is_suspect(job)) suspects_[id] = claim::alone(job);
    if (is_passed_over(job)) passed_over_.emplace_back(id, job.outcome);
    if (is_removed(job)) ++unmet_;
    if (is_withdrawn(job)) {
      if (raw(job.outcome.because) == id)
        return wrong(fmt::format("job {} was withdrawn with itself", id));
      withdrawn_.push_back(id);
    }
    signals_[id] = signal_of(job);
    if (job.state != JobState::ready) states_[id] = job.state;
    if (job.state == JobState::delayed) delayed_[id] = job.not_before;
    if (is_live(job.state)) live_[id] = raw(job.worker);
    return {};
  }

  Result<void> check_countdowns() {
    State state(reader_);
    for (const auto& [id, barrier] : plan_.barriers) {
      Countdown counted;
      for (const JobRange& r : barrier.upstream)
        count_edges(r, Condition::afterok, barrier.cancels, counted);
      const std::uint64_t not_completed = counted.left;
      for (const Dependency& d : barrier.conditional)
        count_edges(d.jobs, d.condition, barrier.cancels, counted);
      const Countdown stored = state.countdown(id);
      counted.opened = stored.opened;
      if (stored != counted) {
        return wrong(fmt::format("barrier {} counts {} jobs to go where {} have not completed", id,
                                 stored.left, counted.left));
      }
      const bool opened = stored.opened.has_value();
      if (opened ? not_completed > 0 : stored.left == 0) {
        return wrong(fmt::format("barrier {} is {} and waits for {} jobs", id,
                                 opened ? "open" : "closed", stored.left));
      }
    }
    return state.sound();
  }

  void count_edges(const JobRange& range, Condition condition, bool cancels, Countdown& countdown) {
    std::uint64_t pending = range.count;
    const auto add = [&](Edge edge, std::uint64_t n) {
      if (edge != Edge::met) countdown.left += n;
      if (edge == Edge::unmet) countdown.unmet += n;
      if (edge == Edge::failed) countdown.failed += n;
    };
    for (std::size_t s = 1; s < kSignals; ++s) {
      if (up_to_[s].empty()) continue;
      const std::uint64_t n =
          up_to_[s][raw(range.first) + range.count - 1] - up_to_[s][raw(range.first) - 1];
      add(judge(static_cast<Signal>(s), condition, cancels), n);
      pending -= n;
    }
    add(judge(Signal::waits, condition, cancels), pending);
  }

  // Behind a barrier that can no longer open nobody waits, and those that were passed over for it
  // say so.
  Result<void> check_passed_over() {
    State state(reader_);
    for (const Span& span : plan_.spans) {
      if (span.barrier == 0 || state.countdown(span.barrier).doom() == EndCause::none) continue;
      for (std::uint64_t id = span.first; id < span.end(); ++id) {
        if (states_[id] != JobState::blocked) continue;
        return wrong(fmt::format("job {} waits for what can no longer be", id));
      }
    }
    for (const auto& [id, outcome] : passed_over_) {
      const std::uint64_t barrier = plan_.span_of(id).barrier;
      const std::uint64_t because = raw(outcome.because);
      if (barrier == 0 || state.countdown(barrier).doom() != outcome.cause) {
        return wrong(fmt::format("job {} was passed over although it may run", id));
      }
      if (because == 0 || because > plan_.jobs)
        return wrong(fmt::format("job {} was passed over for no job", id));
      if (outcome.cause == EndCause::unmet) ++unmet_;
    }
    return state.sound();
  }

  Result<void> check_queues() {
    std::vector<bool> queued(states_.size());
    State state(reader_);
    TORC_TRY(each(reader_, Table::ready, [&](const store::Entry& e) -> Result<void> {
      const auto r = decode_ready(e.key, e.value);
      if (!r || r->count == 0) return unreadable(e.key);
      if (r->first == 0 || r->first > plan_.jobs || r->count > plan_.jobs - r->first + 1) {
        return wrong(fmt::format("a ready queue names jobs {} to {} of {}", r->first, r->end() - 1,
                                 plan_.jobs));
      }
      for (std::uint64_t id = r->first; id < r->end(); ++id) {
        const Span& span = plan_.span_of(id);
        const auto rank = state.rank_of(id);
        if (states_[id] != JobState::ready) {
          return wrong(
              fmt::format("job {} is {} and in a ready queue", id, to_string(states_[id])));
        }
        if (queued[id]) return wrong(fmt::format("job {} is in the ready queues twice", id));
        if (r->age != 0 && r->age != state.opened_at(span.barrier)) {
          return wrong(fmt::format("job {} is in its queue where nobody would look for it", id));
        }
        if (!rank || rank->job_class != r->job_class || rank->priority != r->priority) {
          return wrong(fmt::format("job {} is in a queue of another class or priority", id));
        }
        queued[id] = true;
      }
      return {};
    }));
    for (std::uint64_t id = 1; id < states_.size(); ++id) {
      if (states_[id] == JobState::ready && !queued[id]) {
        return wrong(fmt::format("job {} is ready and in no queue", id));
      }
    }
    return {};
  }

  Result<void> check_workers() {
    std::uint64_t held = 0;
    std::uint64_t ending = 0;
    State state(reader_);
    const auto look = [&](std::uint64_t epoch, const Lease& lease) -> Result<void> {
      ++live_workers_;
      const auto worker = state.worker(WorkerEpoch{epoch});
      if (worker) hosts_[name_hash(worker->info.host)].insert(epoch);
      if (lease.idle) idle_.insert(epoch);
      if (worker && lease.has_bell != worker->info.bell.has_value())
        return wrong(
            fmt::format("the lease of worker {} and its record differ about its bell", epoch));
      if (!worker || worker->status != WorkerStatus::registered) {
        return wrong(fmt::format("worker {} has a lease and is not registered", epoch));
      }
      held += lease.held.size();
      for (std::uint64_t id : lease.held) {
        const auto it = live_.find(id);
        if (it == live_.end() || it->second != epoch) {
          return wrong(
              fmt::format("worker {} claims to hold job {}, which it does not", epoch, id));
        }
      }
      ending += lease.ending.size();
      for (std::uint64_t id : lease.ending) {
        const auto it = ending_.find(id);
        if (it == ending_.end() || it->second != epoch) {
          return wrong(
              fmt::format("worker {} is to end job {}, which was not canceled", epoch, id));
        }
      }
      return {};
    };
    TORC_TRY(each_record(reader_, Table::lease, decode_lease, look));
    if (held != live_.size())
      return wrong("a job is claimed or running by a worker that does not hold it");
    if (ending != ending_.size())
      return wrong("a canceled job is to be ended by a worker that does not know of it");
    TORC_TRY(check_hosts());
    TORC_TRY(check_idle());
    const auto has_lease = [&](std::uint64_t epoch, const Worker& worker) -> Result<void> {
      if (worker.status == WorkerStatus::registered && !reader_.get(Key(Table::lease, epoch))) {
        return wrong(fmt::format("worker {} is registered and has no lease", epoch));
      }
      return {};
    };
    return each_record(reader_, Table::worker, decode_worker, has_lease);
  }

  Result<void> check_hosts() {
    std::map<std::uint64_t, std::set<std::uint64_t>> listed;
    TORC_TRY(each(reader_, Table::host, [&](const store::Entry& e) -> Result<void> {
      if (e.key.size() != 17) return unreadable(e.key);
      listed[number_at(e.key, 1, 8)].insert(number_at(e.key, 9, 8));
      return {};
    }));
    if (listed == hosts_) return {};
    return wrong("the workers that are listed by host are not those that are registered");
  }

  Result<void> check_idle() {
    std::set<std::uint64_t> listed;
    TORC_TRY(each(reader_, Table::idle, [&](const store::Entry& e) -> Result<void> {
      const auto epoch = id_in(Table::idle, e.key);
      if (!epoch) return unreadable(e.key);
      listed.insert(*epoch);
      return {};
    }));
    if (listed == idle_) return {};
    return wrong("the workers that are listed as idle are not those whose leases say so");
  }

  Result<void> check_set_aside() {
    std::uint64_t listed = 0;
    TORC_TRY(each(reader_, Table::set_aside, [&](const store::Entry& e) -> Result<void> {
      const auto id = id_in(Table::set_aside, e.key);
      if (!id || *id >= states_.size() || !is_set_aside(states_[*id])) {
        return wrong("a job that has not failed is listed as such at " + show_key(e.key));
      }
      ++listed;
      return {};
    }));
    const auto there = std::count_if(states_.begin() + 1, states_.end(), is_set_aside);
    if (listed != static_cast<std::uint64_t>(there))
      return wrong("a failed job is not listed as such");
    return {};
  }

  Result<void> check_delayed() {
    std::uint64_t listed = 0;
    TORC_TRY(each(reader_, Table::delayed, [&](const store::Entry& e) -> Result<void> {
      const auto id = delayed_in(e.key);
      const auto known = id ? delayed_.find(*id) : delayed_.end();
      if (known == delayed_.end() || delayed_key(known->second, *id) != e.key) {
        return wrong("a job that is not delayed until then is listed as such at " +
                     show_key(e.key));
      }
      ++listed;
      return {};
    }));
    if (listed == delayed_.size()) return {};
    return wrong("a delayed job is not listed as such: nobody would try it again");
  }

  // What single jobs have of their own.
  Result<void> check_overrides() {
    std::size_t alone = 0;
    const auto look = [&](std::uint64_t id, const Rank& rank) -> Result<void> {
      if (id == 0 || id > plan_.jobs) return wrong(fmt::format("job {} does not exist", id));
      const auto value = reader_.get(Key(Table::job_class).be32(rank.job_class));
      const auto job_class = value ? decode_class(*value) : std::nullopt;
      if (!job_class) {
        return wrong(fmt::format("job {} has no readable resource class of its own", id));
      }
      if (job_class->alone == Alone::no) return {};
      const auto suspect = suspects_.find(id);
      if (suspect == suspects_.end())
        return wrong(fmt::format("job {} is no suspect and is to run alone", id));
      if (suspect->second != job_class->alone)
        return wrong(fmt::format("job {} is another suspect than its class says", id));
      ++alone;
      return {};
    };
    TORC_TRY(each_record(reader_, Table::own_rank, decode_rank, look));
    if (alone != suspects_.size()) return wrong("a suspect is not to run alone");
    TORC_TRY(check_alternatives());
    TORC_TRY(each_record(reader_, Table::handler, decode_handler,
                         [](std::uint64_t, const Handler&) { return Result<void>(); }));
    const auto exists = [&](std::uint64_t id, const RetryCounts&) -> Result<void> {
      if (id == 0 || id > plan_.jobs) return wrong(fmt::format("job {} does not exist", id));
      return {};
    };
    return each_record(reader_, Table::retries, decode_retries, exists);
  }

  // What an attempt has of its node is what its class says of the alternative: no other number may
  // stand there.
  Result<void> check_alternatives() {
    State state(reader_);
    for (const auto& [id, alternative] : alternatives_) {
      const auto rank = state.rank_of(id);
      if (rank && alternative < state.job_class(rank->job_class).alternatives()) continue;
      return wrong(fmt::format("job {} has an alternative that its class has not", id));
    }
    return state.sound();
  }

  Result<void> check_signatures() {
    const auto look = [&](std::uint64_t id, const Signature&) -> Result<void> {
      if (id == 0 || id >= states_.size())
        return wrong(fmt::format("job {}, which does not exist, has files", id));
      return {};
    };
    return each_record(reader_, Table::signature, decode_signature, look);
  }

  Result<void> check_removed() {
    for (const std::uint64_t id : withdrawn_) {
      if (is_removed(reader_, JobId{id})) continue;
      return wrong(fmt::format("job {} was withdrawn, and is not listed as removed", id));
    }
    return each(reader_, Table::removed, [&](const store::Entry& e) -> Result<void> {
      const auto id = id_in(Table::removed, e.key);
      if (!id || (!e.value.empty() && !decode_job(e.value))) return unreadable(e.key);
      if (*id == 0 || *id >= states_.size())
        return wrong(fmt::format("job {}, which does not exist, was removed", *id));
      return {};
    });
  }

  Result<void> check_behind() {
    return each(reader_, Table::behind, [&](const store::Entry& e) -> Result<void> {
      const auto id = id_in(Table::behind, e.key);
      if (!id || e.value.size() != 1) return unreadable(e.key);
      if (*id == 0 || *id >= states_.size())
        return wrong(fmt::format("job {}, which does not exist, goes by an earlier file", *id));
      return {};
    });
  }

  Result<void> check_retired() {
    return each_record(
        reader_, Table::retired, decode_retired,
        [&](std::uint64_t id, const Retired&) -> Result<void> {
          if (id > 0 && id < states_.size()) return {};
          return wrong(fmt::format("job {}, which does not exist, has a result", id));
        });
  }

  Result<void> check_changes() {
    TORC_TRY(each(reader_, Table::change, [&](const store::Entry& e) -> Result<void> {
      constexpr std::size_t kHead = 1 + sizeof(std::uint64_t);
      if (e.key.size() == kHead) {
        const auto change = decode_change(e.key, e.value);
        if (!change) return unreadable(e.key);
        return change->number <= reader_.sequence()
                   ? Result<void>()
                   : wrong(fmt::format("change {} is told of fewer commits", change->number));
      }
      if (e.key.size() != kHead + sizeof(std::uint32_t) || !reader_.get(e.key.substr(0, kHead)))
        return wrong("what was before a change is kept, and the change is not");
      return {};
    }));
    return each(reader_, Table::past_template, [&](const store::Entry& e) -> Result<void> {
      if (e.key.size() <= 1 + sizeof(std::uint64_t)) return {};  // numbers of the table itself
      return decode_past_template(e.key, e.value) ? Result<void>() : unreadable(e.key);
    });
  }

  Result<void> check_past_attempts() {
    return each(reader_, Table::past_attempt, [&](const store::Entry& e) -> Result<void> {
      const auto of = past_attempt_in(e.key);
      const auto job = of ? decode_job(e.value) : std::nullopt;
      if (!job) return unreadable(e.key);
      if (of->job == 0 || of->job >= states_.size())
        return wrong(fmt::format("job {}, which does not exist, had an attempt", of->job));
      const bool has_ended = is_over(job->state) || job->state == JobState::ready;
      if (job->attempt != of->attempt || !has_ended)
        return wrong(fmt::format("attempt {} of job {} is told wrong", of->attempt, of->job));
      return {};
    });
  }

  Result<void> check_tally() {
    State state(reader_);
    const Tally stored = state.tally();
    TORC_TRY(state.sound());
    Tally counted;
    for (std::size_t id = 1; id < states_.size(); ++id)
      ++counted.counts[static_cast<std::size_t>(states_[id])];
    for (std::size_t s = 0; s < kJobStates; ++s) {
      if (stored.counts[s] == counted.counts[s]) continue;
      return wrong(fmt::format("{} jobs are counted as {} where {} are", stored.counts[s],
                               to_string(static_cast<JobState>(s)), counted.counts[s]));
    }
    if (stored.unmet != unmet_) {
      return wrong(
          fmt::format("{} jobs are counted as not needed where {} are", stored.unmet, unmet_));
    }
    if (stored.ending != ending_.size()) {
      return wrong(fmt::format("{} canceled jobs are counted as still to be ended where {} are",
                               stored.ending, ending_.size()));
    }
    // Whether failures wait for a person nothing else in the tables tells.
    const unsigned told = stored.rules & ~unsigned{rule::kPendingFailed};
    if (told != plan_.rules) return wrong("what counts in this workflow is written wrong");
    if (stored.live_workers != live_workers_) {
      return wrong(fmt::format("{} workers are counted as registered where {} are",
                               stored.live_workers, live_workers_));
    }
    if (stored.hosts != hosts_.size()) {
      return wrong(fmt::format("{} hosts are counted where registered workers are on {}",
                               stored.hosts, hosts_.size()));
    }
    return {};
  }

  const Reader& reader_;
  const PlanTables& plan_;
  std::vector<JobState> states_;                            // by id; [0] is no job
  std::vector<Signal> signals_;                             // the same
  std::array<std::vector<std::uint64_t>, kSignals> up_to_;  // jobs with ids up to this, by signal
  std::vector<std::pair<std::uint64_t, Outcome>> passed_over_;
  std::vector<std::uint64_t> withdrawn_;
  std::uint64_t unmet_ = 0;
  std::map<std::uint64_t, std::uint64_t> live_;    // job -> worker
  std::map<std::uint64_t, std::uint64_t> ending_;  // canceled job -> worker that is to end it
  std::map<std::uint64_t, WallTime> delayed_;
  std::map<std::uint64_t, Alone> suspects_;
  std::map<std::uint64_t, std::uint32_t> alternatives_;  // other than the first
  std::uint64_t live_workers_ = 0;
  std::set<std::uint64_t> idle_;                            // workers, as their leases say
  std::map<std::uint64_t, std::set<std::uint64_t>> hosts_;  // hash of the name -> live workers
};

}  // namespace

Result<void> verify_state(const Reader& reader) {
  if (!reader.get(Key(Table::workflow))) return read_workflow(reader).error();
  TORC_ASSIGN(PlanTables plan, audit_plan(reader));
  // What counts goes on counting when the barriers are gone that it counted for.
  constexpr unsigned kStays = rule::kEnds | rule::kStarts;
  plan.rules |= static_cast<std::uint8_t>(State(reader).tally().rules & kStays);
  TORC_TRY(audit_additions(reader, plan.jobs));
  TORC_TRY(audit_actions(reader));
  TORC_TRY(audit_allocations(reader));
  TORC_TRY(Audit(reader, plan).run());
  // Last: of what does not agree the audits say more.
  TORC_TRY(read_workflow(reader));
  return {};
}

}  // namespace torc::claim
