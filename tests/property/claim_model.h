// The claims as plainly as they can be said: a vector of jobs, everything recomputed at every step,
// nothing shared with lib/claim but the value types. The oracle of claim_property.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/claim/claimer.h"
#include "lib/claim/override.h"

namespace torc::claim {

struct ModelWorker {
  WorkerStatus status = WorkerStatus::living;
  std::uint64_t renewals = 1;
  std::uint64_t finished = 0;
  std::string host;
};

struct ModelAnswer {
  std::vector<Grant> grants;
  std::vector<Refused> refused;
  bool took_spares = false;
  bool promoted = false;
  std::vector<ClaimToken> revoked;
};

class ClaimModel {
 public:
  explicit ClaimModel(const Plan& plan) : plan_(plan) {
    jobs_.emplace_back();  // ids begin at 1
    for (const Template& t : plan.templates) {
      for (std::uint64_t i = 0; i < t.count; ++i) {
        Entry e;
        e.of = t;
        e.job_class = t.job_class;
        e.priority = t.priority;
        jobs_.push_back(e);
      }
    }
    for (const DependencySet& set : plan.dependencies) {
      for (std::uint64_t member : all(set.members)) jobs_[member].upstream = all(set.upstream);
    }
    open_what_can(0);
  }

  // Classes that are there already are found again, the first of equal ones.
  void add(const Plan& addition, std::uint64_t sequence) {
    std::vector<std::uint32_t> classes;
    for (const JobClass& wanted : addition.classes) {
      const auto same = std::find(plan_.classes.begin(), plan_.classes.end(), wanted);
      classes.push_back(static_cast<std::uint32_t>(same - plan_.classes.begin()));
      if (same == plan_.classes.end()) plan_.classes.push_back(wanted);
    }
    std::vector<std::uint32_t> handlers = {0};
    for (const Handler& wanted : addition.handlers) {
      const auto same = std::find(plan_.handlers.begin(), plan_.handlers.end(), wanted);
      handlers.push_back(static_cast<std::uint32_t>(same - plan_.handlers.begin() + 1));
      if (same == plan_.handlers.end()) plan_.handlers.push_back(wanted);
    }
    for (const Template& t : addition.templates) {
      Entry e;
      e.of = t;
      e.of.handler = handlers[t.handler];
      e.job_class = classes[t.job_class];
      e.priority = t.priority;
      jobs_.insert(jobs_.end(), t.count, e);
    }
    for (const DependencySet& set : addition.dependencies) {
      for (std::uint64_t member : all(set.members)) jobs_[member].upstream = all(set.upstream);
    }
    for (const Template& t : addition.templates) {
      for (std::uint64_t id = raw(t.first); id < raw(t.first) + t.count; ++id) {
        if (is_reachable(id)) become_ready(id, jobs_[id].upstream.empty() ? 0 : sequence);
      }
    }
  }

  [[nodiscard]] std::uint64_t jobs() const { return jobs_.size() - 1; }
  [[nodiscard]] const Job& job(std::uint64_t id) const { return jobs_[id].job; }
  [[nodiscard]] const std::map<std::uint64_t, ModelWorker>& workers() const { return workers_; }
  [[nodiscard]] bool lives(WorkerEpoch w) const {
    const auto it = workers_.find(raw(w));
    return it != workers_.end() && it->second.status == WorkerStatus::living;
  }
  [[nodiscard]] std::uint64_t living() const {
    return static_cast<std::uint64_t>(
        std::count_if(workers_.begin(), workers_.end(),
                      [](const auto& w) { return w.second.status == WorkerStatus::living; }));
  }
  [[nodiscard]] std::uint64_t in_state(JobState s) const {
    return static_cast<std::uint64_t>(std::count_if(
        jobs_.begin() + 1, jobs_.end(), [&](const Entry& e) { return e.job.state == s; }));
  }
  [[nodiscard]] std::vector<std::uint64_t> held_by(WorkerEpoch w) const {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (is_live(job(id).state) && job(id).worker == w) ids.push_back(id);
    }
    return ids;
  }
  [[nodiscard]] std::vector<JobId> waits_for(std::uint64_t id) const {
    std::vector<JobId> ids;
    for (std::uint64_t up : jobs_[id].upstream) {
      if (job(up).state != JobState::completed) ids.push_back(JobId{up});
    }
    return ids;
  }

  [[nodiscard]] std::uint64_t hosts() const {
    std::set<std::string> names;
    for (const auto& [epoch, w] : workers_) {
      if (w.status == WorkerStatus::living) names.insert(w.host);
    }
    return names.size();
  }

  void enter(std::uint64_t sequence, const std::string& host) { workers_[sequence].host = host; }

  [[nodiscard]] std::vector<std::uint64_t> ending_by(WorkerEpoch w) const {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (job(id).revoked != Revoked::no && job(id).worker == w) ids.push_back(id);
    }
    return ids;
  }

  // Each answers the ids of the jobs that it changed.
  std::vector<std::uint64_t> cancel(const std::vector<JobRange>& jobs, WallTime now) {
    return change(jobs, [&](std::uint64_t id, Job& j) {
      if (j.revoked == Revoked::ending_then_again) {
        j.revoked = Revoked::ending;
        return true;
      }
      if (is_terminal(j.state)) return false;
      const WallTime started = j.state == JobState::running ? j.outcome.started_at : WallTime{};
      if (is_live(j.state)) j.revoked = Revoked::ending;
      j.outcome = Outcome{};
      j.outcome.cause = EndCause::canceled;
      j.outcome.started_at = started;
      j.outcome.ended_at = now;
      j.state = JobState::canceled;
      j.not_before = WallTime{};
      j.delay = std::chrono::seconds(0);
      return id > 0;
    });
  }
  std::vector<std::uint64_t> retry(const std::vector<JobRange>& jobs) {
    return change(jobs, [&](std::uint64_t id, Job& j) {
      if (j.state != JobState::failed && j.state != JobState::terminated &&
          j.state != JobState::canceled && j.state != JobState::delayed)
        return false;
      if (j.revoked == Revoked::ending_then_again) return false;
      j.forgiven = j.attempt;
      j.lost = j.stopped = 0;
      if (j.revoked == Revoked::ending) {
        j.revoked = Revoked::ending_then_again;
      } else {
        if (j.attempt == 0) j.outcome = Outcome{};
        wait(id);
      }
      return true;
    });
  }
  std::vector<std::uint64_t> hold(const std::vector<JobRange>& jobs) {
    return change(jobs, [&](std::uint64_t, Job& j) {
      if (j.state != JobState::ready && j.state != JobState::blocked &&
          j.state != JobState::delayed)
        return false;
      j.state = JobState::held;
      j.not_before = WallTime{};
      j.delay = std::chrono::seconds(0);
      return true;
    });
  }
  std::vector<std::uint64_t> release(const std::vector<JobRange>& jobs) {
    return change(jobs, [&](std::uint64_t id, Job& j) {
      if (j.state != JobState::held) return false;
      wait(id);
      return true;
    });
  }

  std::vector<std::uint64_t> set(const std::vector<JobRange>& jobs, const Setting& setting) {
    return change(jobs, [&](std::uint64_t id, Job& j) {
      Entry& e = jobs_[id];
      if (j.state == JobState::completed) return false;
      const std::uint32_t to =
          class_number(setting.applied_to(plan_.classes[e.job_class]), e.job_class);
      const std::int32_t priority = setting.priority.value_or(e.priority);
      if (to == e.job_class && priority == e.priority) return false;
      e.job_class = to;
      e.priority = priority;
      e.age = 0;
      return true;
    });
  }
  [[nodiscard]] Rank rank(std::uint64_t id) const {
    return {jobs_[id].job_class, jobs_[id].priority};
  }

  // nullopt: refused, since a job among them is held by a worker.
  std::optional<std::vector<std::uint64_t>> reset(const std::vector<JobRange>& ranges, bool force,
                                                  WallTime now) {
    const auto listed = all(ranges);
    const std::set<std::uint64_t> named(listed.begin(), listed.end());
    std::set<std::uint64_t> built = named;
    for (bool grown = true; grown;) {
      grown = false;
      for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
        const auto& up = jobs_[id].upstream;
        if (std::any_of(up.begin(), up.end(), [&](auto u) { return built.contains(u); }))
          grown = built.insert(id).second || grown;
      }
    }
    while (!built.empty() && *built.rbegin() > jobs()) built.erase(*built.rbegin());
    const auto is_held = [&](auto id) { return is_live(job(id).state); };
    if (!force && std::any_of(built.begin(), built.end(), is_held)) return std::nullopt;
    std::vector<std::uint64_t> changed;
    std::set<std::uint64_t> again;
    for (std::uint64_t id : built) {
      Job& j = jobs_[id].job;
      if (j.state == JobState::canceled &&
          (!named.contains(id) || j.revoked == Revoked::ending_then_again))
        continue;
      const bool waits = !is_terminal(j.state) && !is_live(j.state);
      if (is_live(j.state)) (void)cancel({{JobId{id}, 1}}, now);
      if (!waits) changed.push_back(id);
      if (j.attempt != j.forgiven || !waits) j.lost = j.stopped = 0;
      j.forgiven = j.attempt;
      if (j.state == JobState::delayed) {
        j.state = JobState::blocked;
        j.not_before = WallTime{};
        j.delay = std::chrono::seconds(0);
        again.insert(id);
      }
      if (waits) continue;
      if (j.revoked != Revoked::no) {
        j.revoked = Revoked::ending_then_again;
        continue;
      }
      if (j.attempt == 0) j.outcome = Outcome{};
      j.state = JobState::blocked;
      again.insert(id);
    }
    for (std::uint64_t id : built) {
      if (again.contains(id)) wait(id);
      if (job(id).state == JobState::ready && !is_reachable(id))
        jobs_[id].job.state = JobState::blocked;
    }
    return changed;
  }

  void leave(WorkerEpoch worker, WallTime now) {
    for (std::uint64_t id : ending_by(worker)) conclude(id, nullptr);
    for (std::uint64_t id : held_by(worker)) take_back(id, now);
    workers_[raw(worker)].status = WorkerStatus::released;
    ++workers_[raw(worker)].renewals;
  }

  bool expire(WorkerEpoch worker, std::uint64_t observed, WallTime now, std::uint32_t crash_limit) {
    if (!lives(worker) || workers_[raw(worker)].renewals != observed) return false;
    for (std::uint64_t id : ending_by(worker)) conclude(id, nullptr);
    for (std::uint64_t id : held_by(worker)) {
      Job& j = jobs_[id].job;
      const WallTime started = j.state == JobState::running ? j.outcome.started_at : WallTime{};
      j.outcome = Outcome{};
      j.outcome.cause = EndCause::worker_lost;
      j.outcome.started_at = started;
      j.outcome.ended_at = now;
      const bool ran = j.state == JobState::running;
      if (ran) j.lost += 1;
      const Entry& e = jobs_[id];
      const std::uint32_t limit = e.of.crash_limit != 0 ? e.of.crash_limit : crash_limit;
      if (limit != 0 && (j.lost >= limit || j.attempt - j.forgiven >= 10 * limit)) {
        j.state = JobState::failed;
      } else if (!ran || rule_of(e, j.outcome) == kNoRule) {
        become_ready(id, 0);
      } else {
        j.state = JobState::failed;
        try_again(id, true, now);
      }
    }
    workers_[raw(worker)].status = WorkerStatus::expired;
    return true;
  }

  // Precondition: the worker lives.
  ModelAnswer exchange(const Exchange& request, std::uint64_t sequence) {
    ModelAnswer answer;
    ModelWorker& worker = workers_[raw(request.worker)];
    for (const Finished& f : request.finishes) {
      if (revoked(f.token, request.worker, &f.outcome, answer)) continue;
      if (!allowed(f.token, request.worker, answer)) continue;
      Job& j = jobs_[raw(f.token.job)].job;
      const WallTime started = j.state == JobState::running ? j.outcome.started_at : WallTime{};
      j.outcome = f.outcome;
      if (j.outcome.started_at == WallTime{}) j.outcome.started_at = started;
      if (f.state == JobState::ready) {
        if (f.outcome.cause == EndCause::stopped || f.outcome.cause == EndCause::not_started)
          j.stopped += 1;
        if (f.checkpointed) {
          j.forgiven = j.attempt;
          j.lost = j.stopped = 0;
        }
        become_ready(raw(f.token.job), 0);
      } else {
        j.state = f.state;
        try_again(raw(f.token.job), f.recovered, request.now);
        if (is_terminal(j.state)) ++worker.finished;
      }
    }
    for (const Started& s : request.starts) {
      const std::uint64_t id = raw(s.token.job);
      // The end of this very attempt is known already: nothing to say.
      if (id >= 1 && id <= jobs() && is_newest(s.token, request.worker) &&
          !is_live(job(id).state) && job(id).state != JobState::canceled)
        continue;
      if (!allowed(s.token, request.worker, answer)) continue;
      Job& j = jobs_[id].job;
      if (j.state == JobState::running) continue;
      j.state = JobState::running;
      j.outcome = Outcome{};
      j.outcome.started_at = s.at;
    }
    for (const ClaimToken& t : request.returns) {
      if (revoked(t, request.worker, nullptr, answer)) continue;
      if (allowed(t, request.worker, answer)) take_back(raw(t.job), request.now);
    }
    open_what_can(sequence);
    const std::uint64_t share = in_state(JobState::ready) / (2 * living());
    if (share == 0 && !request.spares.empty()) {
      answer.took_spares = true;
      for (const ClaimToken& t : request.spares) {
        if (revoked(t, request.worker, nullptr, answer)) continue;
        if (allowed(t, request.worker, answer)) take_back(raw(t.job), request.now);
      }
    }
    if (request.offer) {
      for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
        const Job& j = job(id);
        if (j.state != JobState::delayed) continue;
        const bool due = request.now >= j.not_before || j.not_before - request.now > 2 * j.delay;
        if (due) wait(id);
        answer.promoted = answer.promoted || due;
      }
      const std::uint64_t bad = in_state(JobState::failed) + in_state(JobState::terminated);
      if (plan_.max_failures == 0 || bad < plan_.max_failures)
        grant(request, *request.offer, sequence, answer);
    }
    ++worker.renewals;
    for (std::uint64_t id : ending_by(request.worker))
      answer.revoked.push_back({JobId{id}, job(id).attempt, job(id).claim});
    return answer;
  }

 private:
  struct Entry {
    Job job;
    Template of;
    std::uint32_t job_class = 0;
    std::uint32_t counted_since = 0;
    std::map<std::size_t, std::uint32_t> retries;
    std::int32_t priority = 0;
    std::uint64_t age = 0;
    std::vector<std::uint64_t> upstream;
  };

  static std::vector<std::uint64_t> all(const std::vector<JobRange>& ranges) {
    std::set<std::uint64_t> ids;
    for (const JobRange& r : ranges) {
      for (std::uint64_t i = 0; i < r.count; ++i) ids.insert(raw(r.first) + i);
    }
    return {ids.begin(), ids.end()};
  }

  template <class Rule>
  std::vector<std::uint64_t> change(const std::vector<JobRange>& ranges, const Rule& rule) {
    std::vector<std::uint64_t> changed;
    for (std::uint64_t id : all(ranges)) {
      if (id < jobs_.size() && rule(id, jobs_[id].job)) changed.push_back(id);
    }
    return changed;
  }

  [[nodiscard]] bool is_reachable(std::uint64_t id) const {
    const auto& up = jobs_[id].upstream;
    return std::all_of(up.begin(), up.end(),
                       [&](std::uint64_t u) { return job(u).state == JobState::completed; });
  }

  static constexpr std::size_t kNoRule = 1000;
  [[nodiscard]] std::size_t rule_of(const Entry& e, const Outcome& o) const {
    if (e.of.handler == 0 || o.cause == EndCause::stopped) return kNoRule;
    const auto& rules = plan_.handlers[e.of.handler - 1].rules;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      for (const FailureCause c : rules[i].on) {
        if (c == FailureCause::node_death && o.cause == EndCause::worker_lost) return i;
      }
      if (o.cause != EndCause::exited || o.exit_code == 0) continue;
      if (rules[i].all_exit_codes) return i;
      for (const int code : rules[i].exit_codes) {
        if (code == o.exit_code) return i;
      }
    }
    return kNoRule;
  }

  // What its handler makes of a job that has just failed.
  void try_again(std::uint64_t id, bool recovered, WallTime now) {
    Entry& e = jobs_[id];
    Job& j = e.job;
    if (j.state != JobState::failed && j.state != JobState::terminated) return;
    const std::size_t i = rule_of(e, j.outcome);
    if (i == kNoRule) return;
    const RetryRule& rule = plan_.handlers[e.of.handler - 1].rules[i];
    if (!rule.script.empty() && !recovered && j.outcome.cause != EndCause::worker_lost) return;
    if (e.counted_since != j.forgiven) e.retries.clear();
    e.counted_since = j.forgiven;
    if (e.retries[i] >= rule.max_retries) return;
    std::int64_t delay = rule.backoff.count();
    for (std::uint32_t n = e.retries[i]++; n > 0 && delay < 3600; --n) delay *= 2;
    delay = std::min<std::int64_t>(delay, std::max<std::int64_t>(3600, rule.backoff.count()));
    JobClass c = plan_.classes[e.job_class];
    if (rule.memory_multiplier > 1) {
      c.need.memory.value = std::max(
          c.need.memory.value,
          std::min(plan_.handlers[e.of.handler - 1].memory_ceiling.value, 2 * c.need.memory.value));
    }
    e.job_class = class_number(c, e.job_class);
    if (delay == 0) return become_ready(id, 0);
    j.state = JobState::delayed;
    j.delay = std::chrono::seconds(delay);
    j.not_before = now + j.delay;
  }

  std::uint32_t class_number(const JobClass& c, std::uint32_t now) {
    auto& all = plan_.classes;
    if (all[now] == c) return now;
    const auto at = std::find(all.begin(), all.end(), c);
    const auto number = static_cast<std::uint32_t>(at - all.begin());
    if (at == all.end()) all.push_back(c);
    return number;
  }

  void wait(std::uint64_t id) {
    jobs_[id].job.not_before = WallTime{};
    jobs_[id].job.delay = std::chrono::seconds(0);
    if (is_reachable(id)) {
      become_ready(id, 0);
    } else {
      jobs_[id].job.state = JobState::blocked;
    }
  }

  void conclude(std::uint64_t id, const Outcome* outcome) {
    Job& j = jobs_[id].job;
    if (outcome != nullptr) {
      const WallTime started = j.outcome.started_at;
      j.outcome = *outcome;
      j.outcome.cause = EndCause::canceled;
      if (j.outcome.started_at == WallTime{}) j.outcome.started_at = started;
    }
    const bool again = j.revoked == Revoked::ending_then_again;
    j.revoked = Revoked::no;
    if (again) wait(id);
  }

  bool revoked(const ClaimToken& t, WorkerEpoch worker, const Outcome* outcome,
               ModelAnswer& answer) {
    const std::uint64_t id = raw(t.job);
    if (id < 1 || id > jobs() || !is_newest(t, worker) || job(id).revoked == Revoked::no)
      return false;
    conclude(id, outcome);
    answer.refused.push_back({t, Refusal::canceled, WorkerEpoch{}});
    return true;
  }

  void become_ready(std::uint64_t id, std::uint64_t age) {
    jobs_[id].job.state = JobState::ready;
    jobs_[id].age = age;
  }

  void open_what_can(std::uint64_t sequence) {
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (job(id).state != JobState::blocked) continue;
      if (is_reachable(id)) become_ready(id, sequence);
    }
  }

  [[nodiscard]] bool is_newest(const ClaimToken& t, WorkerEpoch worker) const {
    const Job& j = job(raw(t.job));
    return j.claim != 0 && j.attempt == t.attempt && j.claim == t.claim && j.worker == worker;
  }

  bool allowed(const ClaimToken& t, WorkerEpoch worker, ModelAnswer& answer) const {
    const std::uint64_t id = raw(t.job);
    if (id < 1 || id > jobs()) {
      answer.refused.push_back({t, Refusal::no_such_job, WorkerEpoch{}});
      return false;
    }
    const Job& j = job(id);
    if (is_newest(t, worker) && is_live(j.state)) return true;
    Refusal why = Refusal::superseded;
    if (is_newest(t, worker) && is_terminal(j.state)) why = Refusal::finished;
    if (is_newest(t, worker) && j.state == JobState::canceled) why = Refusal::canceled;
    answer.refused.push_back({t, why, is_live(j.state) ? j.worker : WorkerEpoch{}});
    return false;
  }

  void take_back(std::uint64_t id, WallTime now) {
    Job& j = jobs_[id].job;
    if (j.state == JobState::running) {
      const WallTime started = j.outcome.started_at;
      j.outcome = Outcome{};
      j.outcome.cause = EndCause::stopped;
      j.outcome.started_at = started;
      j.outcome.ended_at = now;
      j.stopped += 1;
    } else {
      j.attempt -= 1;
      j.claim = 0;
      j.worker = WorkerEpoch{};
      j.claimed_at = WallTime{};
    }
    become_ready(id, 0);
  }

  // All ready jobs in the order in which they are offered.
  [[nodiscard]] std::vector<std::uint64_t> queue() const {
    const auto rank = [&](std::uint64_t id) {
      const Entry& e = jobs_[id];
      const Requirement& need = plan_.classes[e.job_class].need;
      const auto gpus = -static_cast<std::int64_t>(need.gpus);
      const auto runtime = -static_cast<std::int64_t>(need.runtime.count());
      const auto memory = -static_cast<std::int64_t>(need.memory.value);
      std::tuple<std::int64_t, std::int64_t, std::int64_t> size{};
      if (plan_.sort == SortMethod::gpus_runtime_memory) size = {gpus, runtime, memory};
      if (plan_.sort == SortMethod::gpus_memory_runtime) size = {gpus, memory, runtime};
      return std::tuple(-e.priority, size, e.age, id);
    };
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (job(id).state == JobState::ready) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    return ids;
  }

  [[nodiscard]] bool ever_fits(std::uint64_t id, const Offer& o) const {
    const JobClass& c = plan_.classes[jobs_[id].job_class];
    if (!o.any_binding && !c.scheduler.empty() && c.scheduler != o.scheduler) return false;
    if (!o.any_binding && !c.label.empty() && c.label != o.label) return false;
    if (o.remaining && c.need.runtime.count() != 0 && c.need.runtime > *o.remaining) return false;
    if (c.need.nodes > o.nodes) return false;
    return o.ignore_resources || (c.need.cpus <= o.total_cpus && c.need.gpus <= o.total_gpus &&
                                  c.need.memory.value <= o.total_memory.value);
  }

  void grant(const Exchange& request, const Offer& offer, std::uint64_t sequence,
             ModelAnswer& answer) {
    std::int64_t cpus = offer.cpus;
    std::int64_t gpus = offer.gpus;
    auto memory = static_cast<std::int64_t>(offer.memory.value);
    bool whole = offer.cpus == offer.total_cpus && offer.gpus == offer.total_gpus &&
                 offer.memory == offer.total_memory;
    std::uint64_t left = offer.max_jobs;
    for (std::uint64_t id : queue()) {
      if (left == 0) break;
      if (!ever_fits(id, offer)) continue;
      const Requirement& need = plan_.classes[jobs_[id].job_class].need;
      if (!offer.ignore_resources) {
        if (need.nodes > 1 && !whole) continue;
        if (need.cpus > cpus || need.gpus > gpus ||
            static_cast<std::int64_t>(need.memory.value) > memory)
          continue;
        cpus = need.nodes > 1 ? 0 : cpus - need.cpus;
        gpus = need.nodes > 1 ? 0 : gpus - need.gpus;
        memory = need.nodes > 1 ? 0 : memory - static_cast<std::int64_t>(need.memory.value);
      }
      whole = false;
      --left;
      give(id, request, sequence, answer);
    }
    left = std::min(offer.ahead, in_state(JobState::ready) / (2 * living()));
    for (std::uint64_t id : queue()) {
      if (left == 0) break;
      if (!ever_fits(id, offer)) continue;
      --left;
      give(id, request, sequence, answer);
    }
  }

  void give(std::uint64_t id, const Exchange& request, std::uint64_t sequence,
            ModelAnswer& answer) {
    Job& j = jobs_[id].job;
    j.state = JobState::claimed;
    j.attempt += 1;
    j.claim = sequence;
    j.worker = request.worker;
    j.claimed_at = request.now;
    answer.grants.push_back(
        {{JobId{id}, j.attempt, sequence}, jobs_[id].job_class, jobs_[id].priority, j.stopped});
  }

  Plan plan_;
  std::vector<Entry> jobs_;  // by id; [0] is none
  std::map<std::uint64_t, ModelWorker> workers_;
};

}  // namespace torc::claim
