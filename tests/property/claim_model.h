// The claims as plainly as they can be said: a vector of jobs, everything recomputed at every step,
// nothing shared with lib/claim but the value types. The oracle of claim_property.cc. In one file,
// since an oracle is trusted by reading it from its first line to its last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/claim/rules/handler.h"
#include "lib/claim/rules/job.h"
#include "lib/claim/rules/offer.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/rules/recovery.h"
#include "lib/claim/rules/request.h"
#include "lib/claim/rules/transition.h"
#include "lib/claim/rules/worker.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/transactions/override.h"

namespace torc::claim {

struct ModelWorker {
  WorkerStatus status = WorkerStatus::registered;
  std::uint64_t renewals = 1;
  std::uint64_t finished = 0;
  bool barred = false;
  std::string host;
  std::uint32_t cpus = 0;
};

struct ModelAnswer {
  std::vector<Grant> grants;
  std::vector<Refused> refused;
  bool took_spares = false;
  bool promoted = false;
  std::vector<ClaimToken> revoked;
  std::optional<OpenJobs> open;
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
    add_edges(plan);
    limits_ = plan.limits;
    open_what_can(0);
    follow(0);
  }

  // Classes that are there already are found again, the first of equal ones.
  void add(const Plan& addition, std::uint64_t sequence, JobId spawner) {
    std::vector<std::uint32_t> classes;
    std::vector<std::uint32_t> limits = {0};
    for (const Limit& wanted : addition.limits) {
      const auto same = std::find_if(limits_.begin(), limits_.end(), [&](const Limit& l) {
        return l.name == wanted.name && l.kind == wanted.kind;
      });
      limits.push_back(static_cast<std::uint32_t>(same - limits_.begin() + 1));
      if (same == limits_.end()) limits_.push_back(wanted);
    }
    for (JobClass wanted : addition.classes) {
      for (LimitShare& share : wanted.limits) share.number = limits[share.number];
      std::sort(wanted.limits.begin(), wanted.limits.end());
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
      e.spawner = raw(spawner);
      jobs_.insert(jobs_.end(), t.count, e);
    }
    add_edges(addition);
    for (const Template& t : addition.templates) {
      for (std::uint64_t id = raw(t.first); id < raw(t.first) + t.count; ++id) {
        jobs_[id].opened = is_reachable(id);
        if (jobs_[id].opened) become_ready(id, jobs_[id].upstream.empty() ? 0 : sequence);
      }
    }
    follow(sequence);
  }

  // How many jobs of each limit are claimed, run or are still to be ended.
  [[nodiscard]] std::vector<std::uint64_t> slots() const {
    std::vector<std::uint64_t> used(limits_.size());
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (!is_taken(job(id))) continue;
      for (const LimitShare& share : plan_.classes[jobs_[id].job_class].limits)
        used[share.number - 1] += share.amount;
    }
    return used;
  }
  [[nodiscard]] std::size_t limits() const { return limits_.size(); }
  void set_limit(std::size_t number, std::uint32_t most) { limits_[number - 1].most = most; }
  [[nodiscard]] const Usage& spent() const { return spent_; }
  // A job needs more of a limit than there is: an addition may, of one that was there before.
  [[nodiscard]] bool some_need_more_than_there_is() const {
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      for (const LimitShare& share : plan_.classes[jobs_[id].job_class].limits)
        if (share.amount > limits_[share.number - 1].most) return true;
    }
    return false;
  }
  [[nodiscard]] Usage promised() const {
    Usage sum;
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (!is_taken(job(id))) continue;
      const Usage one =
          price(id, job(id).worker, jobs_runtime(id, job(id).alternative), job(id).alternative);
      sum.core += one.core;
      sum.node += one.node;
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t unmet() const {
    return static_cast<std::uint64_t>(
        std::count_if(jobs_.begin() + 1, jobs_.end(), [](const Entry& e) {
          return is_out(e.job) ||
                 (e.job.state == JobState::canceled && e.job.outcome.cause == EndCause::unmet);
        }));
  }
  [[nodiscard]] std::uint64_t ending() const {
    return static_cast<std::uint64_t>(
        std::count_if(jobs_.begin() + 1, jobs_.end(),
                      [](const Entry& e) { return e.job.revoked != Revoked::no; }));
  }
  // Of several jobs for which one was passed over, any may be named.
  void adopt_culprit(std::uint64_t id, const Outcome& told) {
    Outcome& o = jobs_[id].job.outcome;
    if (o.cause != EndCause::unmet && o.cause != EndCause::upstream_failed) return;
    for (const auto& [up, condition] : jobs_[id].upstream) {
      if (up == raw(told.because) && lost(id, up, condition) == o.cause) o.because = told.because;
    }
  }

  [[nodiscard]] std::uint64_t jobs() const { return jobs_.size() - 1; }
  [[nodiscard]] const Job& job(std::uint64_t id) const { return jobs_[id].job; }
  [[nodiscard]] const std::map<std::uint64_t, ModelWorker>& workers() const { return workers_; }
  [[nodiscard]] bool lives(WorkerEpoch w) const {
    const auto it = workers_.find(raw(w));
    return it != workers_.end() && it->second.status == WorkerStatus::registered;
  }
  // Whether what it says counts.
  [[nodiscard]] bool speaks(WorkerEpoch w) const { return lives(w) && !workers_.at(raw(w)).barred; }
  [[nodiscard]] std::uint64_t fair_share() const {
    const std::uint64_t ready = in_state(JobState::ready);
    return live_workers() <= 1 ? ready : ready / (2 * live_workers());
  }
  [[nodiscard]] std::uint64_t live_workers() const {
    return static_cast<std::uint64_t>(
        std::count_if(workers_.begin(), workers_.end(),
                      [](const auto& w) { return w.second.status == WorkerStatus::registered; }));
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
    std::set<JobId> ids;
    if (jobs_[id].opened) return {};
    for (const auto& [up, condition] : jobs_[id].upstream) {
      if (!is_met(up, condition)) ids.insert(JobId{up});
    }
    return {ids.begin(), ids.end()};
  }

  [[nodiscard]] std::uint64_t hosts() const {
    std::set<std::string> names;
    for (const auto& [epoch, w] : workers_) {
      if (w.status == WorkerStatus::registered) names.insert(w.host);
    }
    return names.size();
  }

  void enter(std::uint64_t sequence, const std::string& host, std::uint32_t cpus) {
    workers_[sequence].host = host;
    workers_[sequence].cpus = cpus;
  }

  [[nodiscard]] std::vector<std::uint64_t> ending_by(WorkerEpoch w) const {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (job(id).revoked != Revoked::no && job(id).worker == w) ids.push_back(id);
    }
    return ids;
  }

  // Each answers the ids of the jobs that it changed.
  std::vector<std::uint64_t> cancel(const std::vector<JobRange>& jobs, WallTime now,
                                    std::uint64_t sequence) {
    auto changed = cancel_only(jobs, now);
    follow(sequence, now);
    return changed;
  }
  std::vector<std::uint64_t> cancel_only(const std::vector<JobRange>& jobs, WallTime now) {
    return change(jobs, [&](std::uint64_t id, Job& j) {
      if (j.revoked == Revoked::ending_then_again) {
        j.revoked = Revoked::ending;
        return true;
      }
      if (j.state == JobState::pending_failed) {
        const EndCause why = j.outcome.cause;
        const bool cut_off = why == EndCause::timed_out || is_interruption(why);
        j.state = cut_off ? JobState::terminated : JobState::failed;
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
  std::vector<std::uint64_t> retry(const std::vector<JobRange>& jobs, std::uint64_t sequence) {
    auto changed = change(jobs, [&](std::uint64_t id, Job& j) {
      if (is_without_chance(j) || is_out(j)) return false;
      if (j.state != JobState::failed && j.state != JobState::terminated &&
          j.state != JobState::canceled && j.state != JobState::delayed &&
          j.state != JobState::pending_failed)
        return false;
      if (j.revoked == Revoked::ending_then_again) return false;
      j.forgiven = j.attempt;
      j.lost = j.stopped = 0;
      j.suspicion = Suspicion::none;
      follow_suspicion(id);
      if (j.revoked == Revoked::ending) {
        j.revoked = Revoked::ending_then_again;
      } else {
        if (j.attempt == 0) j.outcome = Outcome{};
        wait(id);
      }
      return true;
    });
    follow(sequence);
    return changed;
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
  std::vector<std::uint64_t> release(const std::vector<JobRange>& jobs, WallTime now,
                                     std::uint64_t sequence) {
    auto changed = change(jobs, [&](std::uint64_t id, Job& j) {
      if (j.state != JobState::held) return false;
      wait(id);
      return true;
    });
    follow(sequence, now);
    return changed;
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
                                                  WallTime now, std::uint64_t sequence) {
    const auto listed = all(ranges);
    const std::set<std::uint64_t> named(listed.begin(), listed.end());
    std::set<std::uint64_t> built = named;
    while (!built.empty() && *built.rbegin() > jobs()) built.erase(*built.rbegin());
    std::set<std::uint64_t> withdrawn;
    for (bool grown = true; grown;) {
      grown = false;
      for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
        const auto& up = jobs_[id].upstream;
        if (std::any_of(up.begin(), up.end(),
                        [&](const auto& u) { return built.contains(u.first); }))
          grown = built.insert(id).second || grown;
        if (!is_spawned_by_one_of(id, built, named, withdrawn)) continue;
        grown = withdrawn.insert(id).second || grown;
        grown = built.insert(id).second || grown;
      }
    }
    const auto is_held = [&](auto id) { return is_live(job(id).state); };
    if (!force && std::any_of(built.begin(), built.end(), is_held)) return std::nullopt;
    for (const std::uint64_t id : withdrawn) take_out(id, now);
    if (!withdrawn.empty()) follow(sequence, now);
    std::vector<std::uint64_t> changed;
    std::set<std::uint64_t> again;
    for (std::uint64_t id : built) {
      Job& j = jobs_[id].job;
      if (is_without_chance(j) || stays_canceled(j, named.contains(id))) continue;
      const bool waits = !claim::is_over(j.state) && !is_live(j.state);
      if (is_live(j.state)) (void)cancel_only({{JobId{id}, 1}}, now);
      if (!waits) changed.push_back(id);
      if (j.attempt != j.forgiven || !waits) {
        j.lost = j.stopped = 0;
        j.suspicion = Suspicion::none;
        follow_suspicion(id);
      }
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
    std::set<std::uint64_t> closing;
    for (std::uint64_t id : built) {
      if (again.contains(id)) wait(id);
      const auto& up = jobs_[id].upstream;
      if (std::any_of(up.begin(), up.end(), [&](const auto& u) { return built.contains(u.first); }))
        closing.insert(id);
    }
    follow(sequence, now, closing);
    return changed;
  }

  void leave(WorkerEpoch worker, WallTime now, std::uint64_t sequence) {
    for (std::uint64_t id : ending_by(worker)) conclude(id, nullptr);
    for (std::uint64_t id : held_by(worker)) take_back(id, now);
    workers_[raw(worker)].status = WorkerStatus::released;
    ++workers_[raw(worker)].renewals;
    follow(sequence, now);
  }

  bool bar(WorkerEpoch worker, std::uint64_t observed) {
    if (!lives(worker) || workers_[raw(worker)].renewals != observed) return false;
    return workers_[raw(worker)].barred = true;
  }

  bool expire(WorkerEpoch worker, std::uint64_t observed, WallTime now, std::uint32_t crash_limit,
              EndCause why, std::uint64_t sequence, Charge charge = Charge::yes) {
    if (!lives(worker) || workers_[raw(worker)].renewals != observed) return false;
    for (std::uint64_t id : ending_by(worker)) conclude(id, nullptr);
    std::uint64_t newest = 0;  // of the suspects
    for (std::uint64_t id : held_by(worker)) {
      if (is_suspected(job(id)) && (newest == 0 || job(id).claim >= job(newest).claim)) newest = id;
    }
    for (std::uint64_t id : held_by(worker)) {
      Job& j = jobs_[id].job;
      const WallTime started = j.state == JobState::running ? j.outcome.started_at : WallTime{};
      j.outcome = Outcome{};
      j.outcome.cause = why;
      j.outcome.started_at = started;
      j.outcome.ended_at = std::max(now, started);
      if (charge == Charge::no) {
        become_ready(id, 0);
        continue;
      }
      const bool suspected = is_suspected(j);
      const bool ran = j.state == JobState::running || suspected;
      const bool died = why != EndCause::lease_lost;
      const Entry& e = jobs_[id];
      const std::uint32_t limit = e.of.crash_limit != 0 ? e.of.crash_limit : crash_limit;
      const bool too_often = limit != 0 && j.attempt - j.forgiven >= 10 * limit;
      if (charge == Charge::stop) {
        j.outcome.cause = EndCause::allocation_ended;
        const bool told = j.state == JobState::running;
        if (told) j.stopped += 1;
        const bool over = j.stopped >= 5 || (too_often && !told);
        if (over) j.state = j.stopped >= 5 ? JobState::terminated : JobState::failed;
        const bool again = over && is_recovered(id, Trouble::unknown, now);
        if (over && !again && plan_.pending_failed) j.state = JobState::pending_failed;
        if (!over) become_ready(id, 0);
        continue;
      }
      if (ran && (died || suspected)) j.lost += 1;
      if (!suspected)
        j.suspicion =
            died || j.suspicion != Suspicion::none ? Suspicion::suspect : Suspicion::silence;
      if (is_suspected(j) && (id == newest || (limit != 0 && j.lost + 1 >= limit)))
        j.suspicion = Suspicion::prime;
      if (too_often || (limit != 0 && j.lost >= limit)) {
        const bool ruled = rule_of(e, j.outcome) != kNoRule;
        j.state = plan_.pending_failed && !ruled ? JobState::pending_failed : JobState::failed;
        if (!ruled) (void)is_recovered(id, Trouble::unknown, now);
      } else if (!ran || rule_of(e, j.outcome) == kNoRule) {
        become_ready(id, 0);
      } else {
        j.state = JobState::failed;
        try_again(id, true, Trouble::unknown, now);
      }
      follow_suspicion(id);
    }
    teach();
    workers_[raw(worker)].status = WorkerStatus::expired;
    follow(sequence, now);
    return true;
  }

  // Precondition: speaks(worker).
  ModelAnswer exchange(const Exchange& request, std::uint64_t sequence) {
    ModelAnswer answer;
    ModelWorker& worker = workers_[raw(request.worker)];
    for (const Finished& f : request.finishes) {
      if (revoked(f.token, request.worker, &f.outcome, answer)) continue;
      if (!allowed(f.token, request.worker, answer)) continue;
      Job& j = jobs_[raw(f.token.job)].job;
      const WallTime started = j.state == JobState::running ? j.outcome.started_at : WallTime{};
      if (f.outcome.cause != EndCause::not_started) {
        j.suspicion = Suspicion::none;
        j.lost = 0;
      }
      j.outcome = f.outcome;
      if (j.outcome.started_at == WallTime{}) j.outcome.started_at = started;
      if (f.state == JobState::ready) {
        if (f.outcome.cause == EndCause::stopped || f.outcome.cause == EndCause::not_started ||
            f.outcome.cause == EndCause::allocation_ended || f.outcome.cause == EndCause::exited)
          j.stopped += 1;
        if (f.checkpointed) {
          j.forgiven = j.attempt;
          j.lost = j.stopped = 0;
        }
        become_ready(raw(f.token.job), 0);
      } else {
        j.state = f.state;
        try_again(raw(f.token.job), f.recovered, f.said, request.now);
        if (claim::is_over(j.state)) ++worker.finished;
      }
      follow_suspicion(raw(f.token.job));
    }
    teach();
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
    follow(sequence, request.now);
    const std::uint64_t share = fair_share();
    if (share == 0 && !request.spares.empty()) {
      answer.took_spares = true;
      for (const ClaimToken& t : request.spares) {
        if (revoked(t, request.worker, nullptr, answer)) continue;
        if (allowed(t, request.worker, answer)) take_back(raw(t.job), request.now);
      }
      follow(sequence, request.now);
    }
    if (request.offer) {
      for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
        const Job& j = job(id);
        if (j.state != JobState::delayed) continue;
        const bool due = request.now >= j.not_before || j.not_before - request.now > 2 * j.delay;
        if (due) wait(id);
        answer.promoted = answer.promoted || due;
      }
      follow(sequence, request.now);
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
    std::uint32_t recoveries = 0;
    std::int32_t priority = 0;
    std::uint64_t age = 0;
    std::vector<std::pair<std::uint64_t, Condition>> upstream;
    bool cancels = false;
    bool opened = false;        // what it waits for was as it should be, and no reset came since
    std::uint64_t spawner = 0;  // 0: it was not spawned
    // As it was when its worker's time was last looked at:
    Job seen;
  };

  void add_edges(const Plan& plan) {
    for (const DependencySet& set : plan.dependencies) {
      for (std::uint64_t member : all(set.members)) {
        Entry& e = jobs_[member];
        for (std::uint64_t up : all(set.upstream)) e.upstream.emplace_back(up, Condition::afterok);
        for (const Dependency& d : set.conditional) {
          for (std::uint64_t up : all({d.jobs})) e.upstream.emplace_back(up, d.condition);
        }
        e.cancels = set.cancels;
      }
    }
  }

  static bool is_taken(const Job& j) {
    return j.state == JobState::claimed || j.state == JobState::running || j.revoked != Revoked::no;
  }
  static bool is_suspected(const Job& j) {
    return j.suspicion == Suspicion::suspect || j.suspicion == Suspicion::prime;
  }
  // What spawned it went back to the start.
  static bool is_out(const Job& j) {
    return j.state == JobState::canceled && j.outcome.cause == EndCause::removed;
  }
  static bool stays_canceled(const Job& j, bool is_named) {
    return j.state == JobState::canceled &&
           (!is_named || j.revoked == Revoked::ending_then_again || is_out(j));
  }
  [[nodiscard]] bool is_spawned_by_one_of(std::uint64_t id, const std::set<std::uint64_t>& built,
                                          const std::set<std::uint64_t>& named,
                                          const std::set<std::uint64_t>& withdrawn) const {
    const std::uint64_t by = jobs_[id].spawner;
    if (by == 0 || withdrawn.contains(by)) return by != 0;
    return built.contains(by) && job(by).attempt > 0 && !is_without_chance(job(by)) &&
           !stays_canceled(job(by), named.contains(by));
  }
  void take_out(std::uint64_t id, WallTime now) {
    Job& j = jobs_[id].job;
    if (is_out(j)) return;
    const bool comes_back = j.revoked == Revoked::ending_then_again;
    const bool has_ended = is_over(id) || (claim::is_over(j.state) && j.revoked == Revoked::no);
    if (comes_back) j.revoked = Revoked::ending;
    if (!has_ended && j.revoked == Revoked::no) {
      const WallTime started = j.state == JobState::running ? j.outcome.started_at : WallTime{};
      if (is_live(j.state)) j.revoked = Revoked::ending;
      j.outcome = Outcome{};
      j.outcome.started_at = started;
      j.outcome.ended_at = now;
    }
    j.state = JobState::canceled;
    j.outcome.cause = EndCause::removed;
    j.outcome.because = JobId{jobs_[id].spawner};
    j.not_before = WallTime{};
    j.delay = std::chrono::seconds(0);
  }
  static bool is_without_chance(const Job& j) {
    return j.state == JobState::canceled &&
           (j.outcome.cause == EndCause::unmet || j.outcome.cause == EndCause::upstream_failed);
  }
  [[nodiscard]] bool is_over(std::uint64_t id) const {
    return is_terminal(job(id).state) && job(id).revoked == Revoked::no && !is_out(job(id));
  }
  [[nodiscard]] bool was_not_needed(std::uint64_t id) const {
    return job(id).state == JobState::canceled && job(id).outcome.cause == EndCause::unmet;
  }
  [[nodiscard]] bool is_met(std::uint64_t up, Condition condition) const {
    const bool well = job(up).state == JobState::completed;
    switch (condition) {
      case Condition::afterok:
        return well;
      case Condition::afternotok:
        return is_over(up) && !well && !was_not_needed(up);
      case Condition::afterany:
        return is_over(up);
      case Condition::after:
        return is_over(up) || job(up).state == JobState::running ||
               (job(up).revoked != Revoked::no && job(up).outcome.started_at != WallTime{});
    }
    return false;
  }
  // Why the job cannot run because of this one upstream; none: it can.
  [[nodiscard]] EndCause lost(std::uint64_t id, std::uint64_t up, Condition condition) const {
    if (is_met(up, condition) || !is_over(up)) return EndCause::none;
    if (condition == Condition::afternotok || was_not_needed(up)) return EndCause::unmet;
    return jobs_[id].cancels ? EndCause::upstream_failed : EndCause::none;
  }
  [[nodiscard]] EndCause doom(std::uint64_t id) const {
    EndCause all = EndCause::none;
    for (const auto& [up, condition] : jobs_[id].upstream) {
      const EndCause one = lost(id, up, condition);
      if (one == EndCause::unmet || all == EndCause::none) all = one == EndCause::none ? all : one;
    }
    return all;
  }

  // What follows from what was changed: in rounds, each of which looks at the one before.
  void follow(std::uint64_t sequence, WallTime now = {},
              const std::set<std::uint64_t>& closing = {}) {
    for (bool changed = true; changed;) {
      account();
      std::vector<bool> met(jobs_.size());
      std::vector<EndCause> dooms(jobs_.size());
      for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
        met[id] = is_reachable(id);
        dooms[id] = doom(id);
      }
      changed = false;
      for (std::uint64_t id = 1; id < jobs_.size(); ++id)
        changed =
            follow_one(id, met[id], dooms[id], sequence, now, closing.contains(id)) || changed;
    }
  }

  bool follow_one(std::uint64_t id, bool met, EndCause doom, std::uint64_t sequence, WallTime now,
                  bool closes) {
    Entry& e = jobs_[id];
    Job& j = e.job;
    const Job before = j;
    const bool was = e.opened;
    if (e.opened && !met && closes) {
      e.opened = false;
      if (j.state == JobState::ready) j.state = JobState::blocked;
    }
    if (!e.opened && met) {
      e.opened = true;
      if (j.state == JobState::blocked) become_ready(id, sequence);
    }
    if (e.opened) doom = EndCause::none;
    if (j.state == JobState::blocked && doom != EndCause::none) pass_over(j, doom, now);
    if (is_without_chance(j) && j.outcome.cause != doom) {
      if (doom != EndCause::none) {
        pass_over(j, doom, now);
      } else {
        j.outcome = Outcome{};
        wait(id);
      }
    }
    return j != before || e.opened != was;
  }

  static void pass_over(Job& j, EndCause why, WallTime now) {
    j.state = JobState::canceled;
    j.outcome = Outcome{};
    j.outcome.cause = why;
    j.outcome.ended_at = now;
  }

  // What it needs by one of its alternatives.
  [[nodiscard]] const Requirement& need_of(std::uint64_t id, std::uint32_t alternative) const {
    const JobClass& c = plan_.classes[jobs_[id].job_class];
    return alternative == 0 ? c.need : c.others.at(alternative - 1).need;
  }
  // All of them, in the order in which they are to be tried.
  [[nodiscard]] std::vector<std::uint32_t> order_of(std::uint64_t id) const {
    const JobClass& c = plan_.classes[jobs_[id].job_class];
    std::multimap<std::int64_t, std::uint32_t> order;
    order.emplace(-static_cast<std::int64_t>(c.weight), 0);
    for (std::uint32_t a = 1; a <= c.others.size(); ++a)
      order.emplace(-static_cast<std::int64_t>(c.others[a - 1].weight), a);
    std::vector<std::uint32_t> numbers;
    for (const auto& [weight, number] : order) numbers.push_back(number);
    return numbers;
  }

  [[nodiscard]] std::chrono::milliseconds jobs_runtime(std::uint64_t id,
                                                       std::uint32_t alternative) const {
    const Requirement& need = need_of(id, alternative);
    return need.runtime.count() == 0 ? need.time_limit : need.runtime;
  }
  [[nodiscard]] Usage price(std::uint64_t id, WorkerEpoch worker, std::chrono::milliseconds time,
                            std::uint32_t alternative) const {
    const Requirement& need = need_of(id, alternative);
    std::int64_t thousandths = 1000 * need.nodes;
    const std::int64_t cpus = workers_.at(raw(worker)).cpus;
    if (need.nodes == 1 && cpus != 0)
      thousandths = std::min<std::int64_t>(1000, (1000 * need.cpus + cpus - 1) / cpus);
    return {time * need.cpus * need.nodes, time * thousandths / 1000};
  }

  // Pays for attempts that ended since the last time.
  void account() {
    for (Entry& e : jobs_) {
      const Job seen = std::exchange(e.seen, e.job);
      if (!is_taken(seen) || is_taken(e.job) || seen.attempt != e.job.attempt) continue;
      const Outcome& o = e.job.outcome;
      if (o.started_at == WallTime{} || o.ended_at < o.started_at) continue;
      const auto time = std::chrono::milliseconds((o.ended_at - o.started_at).count() / 1000 +
                                                  rounds_up((o.ended_at - o.started_at).count()));
      const Usage one =
          price(static_cast<std::uint64_t>(&e - jobs_.data()), seen.worker, time, seen.alternative);
      spent_.core += one.core;
      spent_.node += one.node;
    }
  }
  // To the nearest, and of two the even one.
  static std::int64_t rounds_up(std::int64_t microseconds) {
    const std::int64_t rest = microseconds % 1000;
    if (rest != 500) return rest > 500 ? 1 : 0;
    return microseconds / 1000 % 2;
  }

  [[nodiscard]] bool can_pay(std::uint64_t id, WorkerEpoch worker,
                             std::uint32_t alternative) const {
    const Usage held = promised();
    const Usage one = price(id, worker, jobs_runtime(id, alternative), alternative);
    const auto enough = [](auto most, auto sum, auto more) {
      return most.count() == 0 || (sum < most && sum + more <= most);
    };
    return enough(plan_.budget.core, spent_.core + held.core, one.core) &&
           enough(plan_.budget.node, spent_.node + held.node, one.node);
  }
  [[nodiscard]] bool has_slot(std::uint64_t id) const {
    const auto used = slots();
    const auto& shares = plan_.classes[jobs_[id].job_class].limits;
    return std::all_of(shares.begin(), shares.end(), [&](const LimitShare& share) {
      return used[share.number - 1] + share.amount <= limits_[share.number - 1].most;
    });
  }

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
                       [&](const auto& u) { return is_met(u.first, u.second); });
  }

  struct Lesson {
    std::uint64_t teacher = 0;
    std::uint32_t alternative = 0;
    JobClass grown;
  };
  std::vector<Lesson> lessons_;

  static constexpr std::size_t kNoRule = 1000;
  [[nodiscard]] std::size_t rule_of(const Entry& e, const Outcome& o) const {
    if (e.of.handler == 0 || o.cause == EndCause::stopped || o.cause == EndCause::allocation_ended)
      return kNoRule;
    const auto& rules = plan_.handlers[e.of.handler - 1].rules;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      for (const FailureCause c : rules[i].on) {
        if (c == FailureCause::node_death &&
            (o.cause == EndCause::worker_lost || o.cause == EndCause::lease_lost))
          return i;
      }
      if (o.cause != EndCause::exited || o.exit_code == 0) continue;
      if (rules[i].all_exit_codes) return i;
      for (const int code : rules[i].exit_codes) {
        if (code == o.exit_code) return i;
      }
    }
    return kNoRule;
  }

  static void count_anew(Entry& e) {
    if (e.counted_since != e.job.forgiven) {
      e.retries.clear();
      e.recoveries = 0;
    }
    e.counted_since = e.job.forgiven;
  }

  // The remedy is that of recovery.h, which has tests of its own; how often, and what becomes of
  // the job, is said here once more.
  bool is_recovered(std::uint64_t id, Trouble said, WallTime now) {
    Entry& e = jobs_[id];
    Job& j = e.job;
    if (e.of.handler == 0) return false;
    const Handler& handler = plan_.handlers[e.of.handler - 1];
    count_anew(e);
    if (e.recoveries >= handler.recoveries) return false;
    JobClass c = plan_.classes[e.job_class];
    const bool first = j.alternative == 0 || j.alternative > c.others.size();
    Requirement& need = first ? c.need : c.others[j.alternative - 1].need;
    const auto remedy =
        recovery_of(handler, 0, j.outcome, said, need, !c.others.empty(), handler.memory_ceiling);
    if (!remedy) return false;
    ++e.recoveries;
    remedy->apply_to(need);
    e.job_class = class_number(c, e.job_class);
    const bool is_told = j.outcome.cause == EndCause::exited;
    if (remedy->remedy != Remedy::retry || !is_told) {
      become_ready(id, 0);
      return true;
    }
    j.state = JobState::delayed;
    j.delay = std::chrono::seconds(30 << (e.recoveries - 1));
    j.not_before = now + j.delay;
    return true;
  }

  // What its handler makes of a job that has just failed.
  void try_again(std::uint64_t id, bool recovered, Trouble said, WallTime now) {
    Entry& e = jobs_[id];
    Job& j = e.job;
    if (j.state != JobState::failed && j.state != JobState::terminated) return;
    const std::size_t i = rule_of(e, j.outcome);
    if (i == kNoRule) {
      if (is_recovered(id, said, now)) return;
      if (plan_.pending_failed) j.state = JobState::pending_failed;
      return;
    }
    const RetryRule& rule = plan_.handlers[e.of.handler - 1].rules[i];
    if (!rule.script.empty() && !recovered && j.outcome.cause != EndCause::worker_lost &&
        j.outcome.cause != EndCause::lease_lost)
      return;
    count_anew(e);
    if (e.retries[i] >= rule.max_retries) return;
    std::int64_t delay = rule.backoff.count();
    for (std::uint32_t n = e.retries[i]++; n > 0 && delay < 3600; --n) delay *= 2;
    delay = std::min<std::int64_t>(delay, std::max<std::int64_t>(3600, rule.backoff.count()));
    JobClass c = plan_.classes[e.job_class];
    // What is counted for a job that declares none does not grow.
    ByteCount& memory =
        j.alternative == 0 ? c.need.memory : c.others.at(j.alternative - 1).need.memory;
    if (rule.memory_multiplier > 1 && memory > Requirement{}.memory) {
      memory.value = std::max(
          memory.value,
          std::min(plan_.handlers[e.of.handler - 1].memory_ceiling.value, 2 * memory.value));
    }
    if (rule.learn && !(c == plan_.classes[e.job_class]))
      lessons_.push_back({id, j.alternative, c});
    e.job_class = class_number(c, e.job_class);
    if (delay == 0) return become_ready(id, 0);
    j.state = JobState::delayed;
    j.delay = std::chrono::seconds(delay);
    j.not_before = now + j.delay;
  }

  // Jobs of its template that were never claimed have as much, if all else is the same.
  void teach() {
    for (const auto& [teacher, alternative, grown] : std::exchange(lessons_, {})) {
      const Template& of = jobs_[teacher].of;
      for (std::uint64_t n = 1; n < of.count; ++n) {
        const std::uint64_t id = raw(of.first) + (teacher - raw(of.first) + n) % of.count;
        Entry& e = jobs_[id];
        if (e.job.attempt != 0) continue;
        JobClass c = plan_.classes[e.job_class];
        if (alternative > c.others.size()) continue;
        ByteCount& memory =
            alternative == 0 ? c.need.memory : c.others[alternative - 1].need.memory;
        const ByteCount most =
            alternative == 0 ? grown.need.memory : grown.others[alternative - 1].need.memory;
        if (memory <= Requirement{}.memory || memory >= most) continue;
        memory = most;
        JobClass same = grown;
        same.alone = c.alone;
        if (!(c == same)) continue;
        e.job_class = class_number(c, e.job_class);
        e.age = 0;
      }
    }
  }

  std::uint32_t class_number(const JobClass& c, std::uint32_t now) {
    auto& all = plan_.classes;
    if (all[now] == c) return now;
    const auto at = std::find(all.begin(), all.end(), c);
    const auto number = static_cast<std::uint32_t>(at - all.begin());
    if (at == all.end()) all.push_back(c);
    return number;
  }

  // A suspect runs alone: its class says so.
  void follow_suspicion(std::uint64_t id) {
    Entry& e = jobs_[id];
    JobClass c = plan_.classes[e.job_class];
    c.alone = Alone::no;
    if (e.job.suspicion == Suspicion::suspect) c.alone = Alone::among_suspects;
    if (e.job.suspicion == Suspicion::prime) c.alone = Alone::entirely;
    e.job_class = class_number(c, e.job_class);
  }

  void wait(std::uint64_t id) {
    jobs_[id].job.not_before = WallTime{};
    jobs_[id].job.delay = std::chrono::seconds(0);
    if (jobs_[id].opened) {
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
      if (!is_reachable(id)) continue;
      jobs_[id].opened = true;
      if (job(id).state == JobState::blocked) become_ready(id, sequence);
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
    if (is_newest(t, worker) && claim::is_over(j.state)) why = Refusal::finished;
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
      j.alternative = 0;
    }
    become_ready(id, 0);
  }

  // All ready jobs in the order in which they are offered.
  [[nodiscard]] std::vector<std::uint64_t> queue() const {
    const auto rank = [&](std::uint64_t id) {
      const Entry& e = jobs_[id];
      const Requirement& need = plan_.classes[e.job_class].need;
      std::uint64_t all_gpus = need.gpus;
      for (const Amount& a : need.named) {
        if (is_named(a.name, "gpus"))
          all_gpus += a.thousandths == kAllThereIs ? 1 : (a.thousandths + 999) / 1000;
      }
      const auto gpus = -static_cast<std::int64_t>(all_gpus);
      const auto runtime = -static_cast<std::int64_t>(
          (need.runtime.count() == 0 ? need.time_limit : need.runtime).count());
      const auto memory = -static_cast<std::int64_t>(need.memory.value);
      std::tuple<std::int64_t, std::int64_t, std::int64_t> size{};
      if (plan_.sort == SortMethod::gpus_runtime_memory) size = {gpus, runtime, memory};
      if (plan_.sort == SortMethod::gpus_memory_runtime) size = {gpus, memory, runtime};
      return std::tuple(-e.priority, size, e.age, -static_cast<std::int64_t>(need.nodes), id);
    };
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (job(id).state == JobState::ready) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    return ids;
  }

  // Of the labels x and y.
  [[nodiscard]] static bool serves_labels(const std::string& asked, const Offer& o) {
    if (asked.empty()) return o.labels.empty() || o.also_unlabelled;
    const auto has = [](const std::string& labels, char label) {
      return labels.find(label) != std::string::npos;
    };
    return (!has(asked, 'x') || has(o.labels, 'x')) && (!has(asked, 'y') || has(o.labels, 'y'));
  }

  [[nodiscard]] bool ever_fits(std::uint64_t id, std::uint32_t alternative, const Offer& o) const {
    JobClass c = plan_.classes[jobs_[id].job_class];
    c.need = need_of(id, alternative);
    if (!o.any_binding && !c.scheduler.empty() && c.scheduler != o.scheduler) return false;
    if (!o.any_binding && !serves_labels(c.labels, o)) return false;
    std::chrono::seconds least = c.need.runtime;
    if (least.count() == 0) least = c.need.time_limit;
    if (c.need.min_time.count() != 0) least = c.need.min_time;
    if (o.remaining && least.count() != 0 && least > *o.remaining) return false;
    if (c.need.nodes > o.nodes) return false;
    if (o.ignore_resources) return true;
    for (const Amount& need : c.need.named) {
      std::uint64_t pieces = 0;
      for (const Piece& p : o.pieces) pieces += is_named(p.kind, need.name) ? 1 : 0;
      if (need.name == "gpus") pieces = o.total_gpus;
      std::uint64_t sum = 0;
      for (const Amount& a : o.total_more.named)
        if (a.name == need.name && !a.by_piece) sum = a.thousandths;
      const std::uint64_t n = need.thousandths;
      if (n == kAllThereIs ? pieces + sum == 0
          : sum > 0        ? n > sum
          : n < 1000       ? pieces == 0
                           : n % 1000 != 0 || n / 1000 > pieces)
        return false;
    }
    return c.need.cpus <= o.total_cpus && c.need.gpus <= o.total_gpus &&
           c.need.memory.value <= o.total_memory.value;
  }

  static bool is_named(const std::string& kind, const std::string& name) {
    return kind == name || kind.substr(0, kind.find('/')) == name;
  }

  // What is free of it while jobs are granted one by one.
  struct NamedModel {
    std::map<std::string, std::uint64_t> sums;
    std::map<std::string, std::uint64_t> all_sums;
    std::vector<Piece> pieces;

    // How many pieces of that name are free and whole, and there at all.
    [[nodiscard]] std::uint64_t whole(const std::string& name) const {
      return static_cast<std::uint64_t>(std::count_if(pieces.begin(), pieces.end(), [&](auto& p) {
        return p.free == 1000 && is_named(p.kind, name);
      }));
    }
    [[nodiscard]] std::uint64_t all(const std::string& name) const {
      return static_cast<std::uint64_t>(std::count_if(
          pieces.begin(), pieces.end(), [&](auto& p) { return is_named(p.kind, name); }));
    }
    void take_whole(const std::string& name, std::uint64_t n) {
      // Those without a type first.
      for (const bool exact : {true, false}) {
        for (Piece& p : pieces) {
          if (n == 0 || p.free != 1000 || !is_named(p.kind, name)) continue;
          if ((p.kind == name) != exact) continue;
          p.free = 0;
          --n;
        }
      }
    }
    // The fullest that has room; a whole one where none is shared. False: there is none.
    bool take_part(const std::string& name, std::uint32_t part) {
      Piece* best = nullptr;
      for (Piece& p : pieces) {
        if (!is_named(p.kind, name) || p.free < part || p.free == 1000) continue;
        if (best == nullptr || p.free < best->free) best = &p;
      }
      for (const bool exact : {true, false}) {
        for (Piece& p : pieces) {
          if (best != nullptr || p.free != 1000 || !is_named(p.kind, name)) continue;
          if ((p.kind == name) == exact) best = &p;
        }
      }
      if (best == nullptr) return false;
      best->free -= part;
      return true;
    }
    bool take(const Requirement& need) {
      for (const Amount& a : need.named) {
        const std::uint64_t n = a.thousandths;
        if (const auto sum = sums.find(a.name); sum != sums.end()) {
          const std::uint64_t wanted = n == kAllThereIs ? all_sums[a.name] : n;
          if (sum->second < wanted) return false;
          sum->second -= wanted;
        } else if (n == kAllThereIs) {
          if (all(a.name) == 0 || whole(a.name) != all(a.name)) return false;
          take_whole(a.name, all(a.name));
        } else if (n < 1000) {
          if (!take_part(a.name, static_cast<std::uint32_t>(n))) return false;
        } else {
          if (n % 1000 != 0 || whole(a.name) < n / 1000) return false;
          take_whole(a.name, n / 1000);
        }
      }
      if (whole("gpus") < need.gpus) return false;
      take_whole("gpus", need.gpus);
      return true;
    }
  };
  [[nodiscard]] static NamedModel named_in(const Offer& o) {
    NamedModel m;
    for (const Amount& a : o.more.named)
      if (!a.by_piece) m.sums[a.name] = a.thousandths;
    for (const Amount& a : o.total_more.named)
      if (!a.by_piece) m.all_sums[a.name] = a.thousandths;
    m.pieces = o.pieces;
    // Where none is told, all are alike: those in use are there, too.
    if (m.all("gpus") == 0) {
      for (std::uint32_t i = 0; i < o.total_gpus; ++i)
        m.pieces.push_back({"gpus", i < o.gpus ? 1000U : 0U});
    }
    return m;
  }

  void grant(const Exchange& request, const Offer& offer, std::uint64_t sequence,
             ModelAnswer& answer) {
    std::int64_t cpus = offer.cpus;
    std::int64_t gpus = offer.gpus;
    auto memory = static_cast<std::int64_t>(offer.memory.value);
    bool whole = offer.cpus == offer.total_cpus && offer.gpus == offer.total_gpus &&
                 offer.memory == offer.total_memory && offer.more.named == offer.total_more.named;
    NamedModel named = named_in(offer);
    const auto has = held_by(request.worker);
    bool idle = has.empty() && ending_by(request.worker).empty();
    bool has_suspects_only =
        ending_by(request.worker).empty() &&
        std::all_of(has.begin(), has.end(), [&](auto id) { return is_suspected(job(id)); });
    std::uint64_t left = offer.max_jobs;
    for (std::uint64_t id : queue()) {
      if (left == 0) break;
      if (!is_for(offer, id)) continue;
      const bool alone = is_suspected(job(id));
      if (alone && !has_suspects_only) continue;
      if (job(id).suspicion == Suspicion::prime && !idle) continue;
      if (!has_slot(id)) continue;
      const auto takes = [&](std::uint32_t alternative) {
        if (!ever_fits(id, alternative, offer) || !can_pay(id, request.worker, alternative))
          return false;
        const Requirement& need = need_of(id, alternative);
        if (offer.ignore_resources) return true;
        if (need.nodes > 1 && !whole) return false;
        if (need.cpus > cpus || need.gpus > gpus ||
            static_cast<std::int64_t>(need.memory.value) > memory)
          return false;
        NamedModel after = named;
        if (need.nodes == 1 && !after.take(need)) return false;
        if (need.nodes > 1) after = NamedModel{};
        named = after;
        cpus = need.nodes > 1 ? 0 : cpus - need.cpus;
        gpus = need.nodes > 1 ? 0 : gpus - need.gpus;
        memory = need.nodes > 1 ? 0 : memory - static_cast<std::int64_t>(need.memory.value);
        return true;
      };
      const std::vector<std::uint32_t> order = order_of(id);
      const auto chosen = std::find_if(order.begin(), order.end(), takes);
      if (chosen == order.end()) continue;
      whole = idle = has_suspects_only = false;
      --left;
      give(id, *chosen, request, sequence, answer);
      if (alone) return;
    }
    left = std::min(offer.prefetch, fair_share());
    std::vector<std::uint64_t> shares;
    for (std::size_t l = 0; l < limits_.size(); ++l) {
      const std::uint64_t used = slots()[l];
      shares.push_back(used >= limits_[l].most ? 0
                                               : (limits_[l].most - used) / (2 * live_workers()));
    }
    for (std::uint64_t id : queue()) {
      if (left == 0) break;
      if (is_suspected(job(id)) || !is_for(offer, id)) continue;
      // What has a name is kept by nobody for later.
      if (!plan_.classes[jobs_[id].job_class].need.named.empty()) continue;
      // Nor what could have something else when there is room.
      if (!plan_.classes[jobs_[id].job_class].others.empty()) continue;
      if (!ever_fits(id, 0, offer) || !has_slot(id) || !can_pay(id, request.worker, 0)) continue;
      const auto& wants = plan_.classes[jobs_[id].job_class].limits;
      if (std::any_of(wants.begin(), wants.end(), [&](const LimitShare& share) {
            return shares[share.number - 1] < share.amount;
          }))
        continue;
      for (const LimitShare& share : wants) shares[share.number - 1] -= share.amount;
      --left;
      give(id, 0, request, sequence, answer);
    }
    if (offer.only == nullptr || !answer.grants.empty()) return;
    answer.open.emplace();
    for (std::uint64_t id = 1; id < jobs_.size(); ++id) {
      if (!is_for(offer, id)) continue;
      answer.open->ready += job(id).state == JobState::ready ? 1 : 0;
      answer.open->delayed += job(id).state == JobState::delayed ? 1 : 0;
      const bool again = job(id).revoked == Revoked::ending_then_again;
      answer.open->at_work += is_live(job(id).state) || again ? 1 : 0;
    }
  }
  [[nodiscard]] static bool is_for(const Offer& offer, std::uint64_t id) {
    return offer.only == nullptr ||
           std::any_of(offer.only->begin(), offer.only->end(), [&](const JobRange& r) {
             return id >= raw(r.first) && id < raw(r.first) + r.count;
           });
  }

  void give(std::uint64_t id, std::uint32_t alternative, const Exchange& request,
            std::uint64_t sequence, ModelAnswer& answer) {
    Job& j = jobs_[id].job;
    j.state = JobState::claimed;
    j.attempt += 1;
    j.claim = sequence;
    j.worker = request.worker;
    j.claimed_at = request.now;
    j.alternative = alternative;
    jobs_[id].seen = j;
    answer.grants.push_back({{JobId{id}, j.attempt, sequence},
                             jobs_[id].job_class,
                             jobs_[id].priority,
                             j.stopped,
                             is_suspected(j),
                             j.lost,
                             false,
                             {},
                             alternative});
  }

  Plan plan_;
  std::vector<Limit> limits_;
  Usage spent_;
  std::vector<Entry> jobs_;  // by id; [0] is none
  std::map<std::uint64_t, ModelWorker> workers_;
};

}  // namespace torc::claim
