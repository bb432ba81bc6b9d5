#include "lib/claim/audit/history.h"

#include <utility>

#include "lib/claim/tables/gang_record.h"
#include "lib/claim/tables/past_attempts.h"
#include "lib/claim/tables/tables.h"
#include "lib/store/engine/commit_file.h"

namespace torc::claim {

std::string_view to_string(EventKind kind) {
  static constexpr std::string_view kNames[kEventKinds] = {
      "created",      "registered",      "released",     "expired",       "claimed",
      "started",      "finished",        "requeued",     "returned",      "canceled",
      "held",         "hold_released",   "retried",      "added",         "action_started",
      "action_ended", "action_returned", "gang_claimed", "gang_complete", "gang_over",
      "changed",      "undone",          "restored"};
  return kNames[static_cast<std::size_t>(kind)];
}

Event Historian::event_of(const Context& c) {
  Event event;
  event.sequence = c.sequence;
  event.author = c.author;
  event.at = c.at;
  return event;
}

void Historian::tell_attempt(Event event, const Job& job, bool claimed, bool started) {
  if (claimed) {
    Event claim = event;
    claim.kind = EventKind::claimed;
    claim.sequence = job.claim;
    claim.author = job.worker;
    claim.at = job.claimed_at;
    claim.state = JobState::claimed;
    tell_(claim);
  }
  if (started) {
    event.kind = EventKind::started;
    event.at = job.outcome.started_at;
    event.state = JobState::running;
    tell_(event);
  }
}

void Historian::tell_end(Event event, const Before& before, const Job& after) {
  if (after.claim < first_) ends_.emplace(raw(event.job), after.attempt);
  event.outcome = after.outcome;
  event.alternative = after.alternative;
  event.state = after.state;
  // Of what was lost with its worker others heard later than it ended.
  if (is_loss(after.outcome.cause) && event.at == WallTime{}) {
    if (const auto gone = expired_.find(raw(after.worker)); gone != expired_.end())
      event.at = gone->second;
  }
  const bool lost = is_loss(after.outcome.cause) && event.at != WallTime{};
  if (after.outcome.ended_at != WallTime{} && !lost) event.at = after.outcome.ended_at;
  if (after.state == JobState::canceled) {
    event.kind = EventKind::canceled;
  } else if (is_over(after.state)) {
    event.kind = EventKind::finished;
  } else if (after.attempt < before.attempt) {
    event.kind = EventKind::returned;
    event.attempt = before.attempt;
    event.worker = before.worker;
    event.outcome = {};
  } else {
    event.kind = EventKind::requeued;
  }
  tell_(event);
}

// A person's word about a job that nobody had; nullopt: it was another one.
std::optional<EventKind> Historian::word_on(const Before& before, const Job& after) {
  if (is_over(after.state)) return std::nullopt;
  if (after.state == JobState::held) return EventKind::held;
  if (before.state == JobState::held) return EventKind::hold_released;
  if (is_over(before.state)) return EventKind::retried;
  return std::nullopt;
}

// The end of an earlier attempt counts again: nobody had the job meanwhile.
bool Historian::is_restored(const Before& before, const Job& after) {
  const bool has_run = after.state == JobState::completed || after.state == JobState::failed ||
                       after.state == JobState::terminated;
  return has_run && after.claim != 0 && after.state != before.state && !is_live(before.state) &&
         before.state != JobState::pending_failed;
}

void Historian::job_written(const Context& c, std::uint64_t id, const Job& after) {
  const auto known = jobs_.find(id);
  const bool is_known = known != jobs_.end();
  const Before before = is_known ? known->second : Before{};
  jobs_[id] = {after.state, after.attempt, after.claim, after.worker};
  Event event = event_of(c);
  event.job = JobId{id};
  event.attempt = after.attempt;
  event.worker = after.worker;
  if (is_known && is_restored(before, after)) {
    event.kind = EventKind::restored;
    event.state = after.state;
    tell_(event);
    return;
  }
  const bool returned = after.attempt < before.attempt;
  const bool claimed = !returned && after.claim != 0 && after.claim != before.claim;
  const bool was_started = !claimed && before.state != JobState::claimed;
  const bool started = !returned && !was_started && after.state != JobState::claimed &&
                       after.outcome.started_at != WallTime{};
  tell_attempt(event, after, claimed, started);
  const bool live_before = claimed || is_live(before.state);
  const bool promoted = before.state == JobState::delayed && after.state == JobState::ready;
  // A person let the failure stand: the attempt has ended before.
  const bool confirmed = before.state == JobState::pending_failed && is_terminal(after.state);
  const bool ended = !is_live(after.state) && !promoted && !confirmed &&
                     (live_before || after.state != before.state);
  if (!ended) return;
  if (const auto word = live_before ? std::nullopt : word_on(before, after)) {
    event.kind = *word;
    event.worker = {};
    event.state = after.state;
    tell_(event);
    return;
  }
  tell_end(event, before, after);
}

// Of what the commits do not tell.
void Historian::past_attempt(std::uint64_t id, const Job& job) {
  if ((first_ != 0 && job.claim >= first_) || ends_.contains({id, job.attempt})) return;
  Event event;
  event.job = JobId{id};
  event.attempt = job.attempt;
  event.worker = job.worker;
  tell_attempt(event, job, true, job.outcome.started_at != WallTime{});
  // When others found it lost may be after the next claim, by their clocks.
  event.at = job.outcome.ended_at;
  tell_end(event, {job.state, job.attempt}, job);
}

// What left no record is as if it had never been claimed: a claim was given back, or a person's
// word took back all that there was.
void Historian::job_erased(const Context& c, std::uint64_t id) {
  const auto known = jobs_.find(id);
  if (known == jobs_.end()) return;
  const Before before = known->second;
  jobs_.erase(known);
  Event event = event_of(c);
  event.job = JobId{id};
  event.attempt = before.attempt;
  if (const auto word = word_on(before, Job{})) {
    event.kind = *word;
  } else {
    event.kind = EventKind::returned;
    event.worker = before.worker;
  }
  tell_(event);
}

void Historian::worker_written(const Context& c, const Worker& worker) {
  // It came with the commit of its number; a later one tells of the end of its time (move_end()).
  if (worker.status == WorkerStatus::registered && c.sequence != raw(worker.epoch)) return;
  known_[raw(worker.epoch)] = worker.status;
  Event event = event_of(c);
  event.worker = worker.epoch;
  const bool came = worker.status == WorkerStatus::registered;
  event.at = came ? worker.info.registered_at : worker.gone_at;
  event.kind = came                                      ? EventKind::registered
               : worker.status == WorkerStatus::released ? EventKind::released
                                                         : EventKind::expired;
  if (event.kind == EventKind::expired) expired_[raw(worker.epoch)] = worker.gone_at;
  tell_(event);
}

void Historian::run_written(const Context& c, std::string_view key, const ActionRun& run) {
  const auto name = run_in(key);
  if (!name) return;
  ActionRun& before = runs_[std::string(key)];
  Event event = event_of(c);
  event.action = name->action;
  event.worker = run.worker;
  if (run.claim != 0 && run.claim != before.claim) {
    Event start = event;
    start.kind = EventKind::action_started;
    start.sequence = run.claim;
    start.author = run.worker;
    start.at = run.outcome.started_at;
    tell_(start);
    before.state = RunState::running;
  }
  if (run.state == RunState::ended && before.state == RunState::running) {
    event.kind = EventKind::action_ended;
    event.at = run.outcome.ended_at;
    event.outcome = run.outcome;
    tell_(event);
  } else if (run.state == RunState::due && before.state == RunState::running) {
    event.kind = EventKind::action_returned;
    tell_(event);
  }
  before = run;
}

void Historian::gang_written(const Context& c, std::string_view key, const Gang& gang) {
  const auto [known, fresh] = gangs_.try_emplace(std::string(key), gang);
  const Gang before = fresh ? Gang{} : std::exchange(known->second, gang);
  Event event = event_of(c);
  event.job = gang.token.job;
  event.attempt = gang.token.attempt;
  event.worker = gang.members.front().worker;
  event.count = gang.members.size();
  if (fresh) {
    Event claim = event;
    claim.kind = EventKind::gang_claimed;
    claim.sequence = gang.token.claim;
    claim.author = event.worker;
    tell_(claim);
  }
  if (before.stage == gang.stage) return;
  if (gang.stage == GangStage::complete) {
    event.kind = EventKind::gang_complete;
    tell_(event);
  } else if (gang.stage == GangStage::over) {
    event.kind = EventKind::gang_over;
    // Who left in this very commit: it was lost, was released, or declined.
    for (std::size_t rank = 1; rank < gang.members.size(); ++rank) {
      if (gang.members[rank].left && before.members.size() == gang.members.size() &&
          !before.members[rank].left)
        event.worker = gang.members[rank].worker;
    }
    tell_(event);
  }
}

void Historian::addition_written(const Context& c, const Origin& origin) {
  if (!additions_.insert(raw(origin.jobs.first)).second) return;
  Event event;
  event.sequence = c.sequence;
  event.at = origin.at;
  event.kind = EventKind::added;
  event.job = origin.jobs.first;
  event.count = origin.jobs.count;
  event.parent = origin.parent;
  event.attempt = origin.attempt;
  event.by = origin.by;
  tell_(event);
}

void Historian::change_written(const Context& c, const KeptChange& change) {
  const auto [at, fresh] = changes_.try_emplace(change.number, false);
  Event event;
  event.kind = EventKind::changed;
  event.count = change.jobs;
  event.jobs = change.ranges;
  event.by = change.by;
  event.command = change.words;
  event.sequence = change.sequence;
  event.at = change.at;
  if (fresh) tell_(event);
  if (change.undone_at == WallTime{} || at->second) return;
  at->second = true;
  event.kind = EventKind::undone;
  event.by = change.undone_by;
  event.sequence = c.sequence;
  event.at = change.undone_at;
  tell_(event);
}

void Historian::base(std::string_view key, std::string_view value) {
  const auto id = id_in(Table::job, key);
  const auto job = id ? decode_job(value) : std::nullopt;
  if (job) jobs_[*id] = {job->state, job->attempt, job->claim, job->worker};
  if (!is_in(Table::gang, key)) return;
  if (auto record = decode_gang(key, value)) gangs_[std::string(key)] = std::move(record->gang);
}

void Historian::rest(std::string_view key, std::string_view value) {
  if (const auto id = id_in(Table::job, key)) {
    const auto job = decode_job(value);
    // Without a claim it is as if it had never been granted. Of a job that the commits told of, a
    // newer record is of a commit that came after them.
    if (!job || job->claim == 0 || jobs_.contains(*id)) return;
    Job told = *job;
    // What was thrown away, or is to be tried again, ended all the same.
    const bool waits = !is_live(told.state) && !is_over(told.state);
    if (waits && told.outcome.cause != EndCause::none) told.state = state_of_end(told.outcome);
    job_written({}, *id, told);
    return;
  }
  if (const auto of = past_attempt_in(key)) {
    if (const auto job = decode_job(value)) past_attempt(of->job, *job);
    return;
  }
  if (const auto origin = decode_origin(key, value)) {
    addition_written({}, *origin);
    return;
  }
  if (const auto change = decode_change(key, value)) {
    change_written({}, *change);
    return;
  }
  if (is_in(Table::action_run, key)) {
    const auto run = decode_run(value);
    if (run && !runs_.contains(std::string(key))) run_written({}, key, *run);
    return;
  }
  if (is_in(Table::gang, key)) {
    const auto record = decode_gang(key, value);
    if (record && !gangs_.contains(std::string(key))) gang_written({}, key, record->gang);
    return;
  }
  const auto epoch = id_in(Table::worker, key);
  auto worker = epoch ? decode_worker(value) : std::nullopt;
  if (!worker) return;
  worker->epoch = WorkerEpoch{*epoch};
  const WorkerStatus status = worker->status;
  const auto found = known_.find(*epoch);
  const auto told = found == known_.end() ? std::nullopt : std::optional(found->second);
  if (!told) {
    worker->status = WorkerStatus::registered;
    worker_written({*epoch, worker->epoch, {}}, *worker);  // its epoch is the commit's number
  }
  if (status == WorkerStatus::registered || told == status) return;
  worker->status = status;
  worker_written({0, {}, worker->gone_at}, *worker);
}

Result<void> Historian::commit(std::uint64_t sequence, std::uint64_t author,
                               std::string_view writes) {
  if (first_ == 0) first_ = sequence;
  Context c{sequence, WorkerEpoch{author}, {}};
  const auto nothing = [](std::string_view) {};
  // The time of the commit is what its worker wrote into its lease.
  const auto find_time = [&](std::string_view key, std::string_view value) {
    if (const auto epoch = id_in(Table::lease, key); epoch && *epoch == author) {
      if (const auto lease = decode_lease(value)) c.at = lease->last_seen;
    } else if (const auto worker_epoch = id_in(Table::worker, key);
               worker_epoch && c.at == WallTime{}) {
      // A commit that ends the lease of another one touches no lease of its own.
      const auto worker = decode_worker(value);
      if (worker && *worker_epoch == author) c.at = worker->last_seen;
      if (worker && worker->status == WorkerStatus::expired) c.at = worker->gone_at;
    }
  };
  const auto told = [&](std::string_view key, std::string_view value) {
    if (const auto id = id_in(Table::job, key)) {
      if (const auto job = decode_job(value)) job_written(c, *id, *job);
    } else if (const auto epoch = id_in(Table::worker, key)) {
      auto worker = decode_worker(value);
      if (!worker) return;
      worker->epoch = WorkerEpoch{*epoch};
      worker_written(c, *worker);
    } else if (const auto origin = decode_origin(key, value)) {
      addition_written(c, *origin);
    } else if (const auto change = decode_change(key, value)) {
      change_written(c, *change);
    } else if (is_in(Table::action_run, key)) {
      if (const auto run = decode_run(value)) run_written(c, key, *run);
    } else if (is_in(Table::gang, key)) {
      if (const auto record = decode_gang(key, value)) gang_written(c, key, record->gang);
    } else if (is_in(Table::workflow, key)) {
      Event event;
      event.sequence = sequence;
      tell_(event);
    }
  };
  const bool good = store::replay(writes, find_time, nothing) &&
                    store::replay(writes, told, [&](std::string_view key) {
                      if (const auto id = id_in(Table::job, key)) job_erased(c, *id);
                    });
  if (good) return {};
  return Error{ErrorKind::corrupt,
               "the writes of commit " + std::to_string(sequence) + " cannot be read",
               "run `torc verify` on the store"};
}

}  // namespace torc::claim
