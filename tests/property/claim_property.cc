// Random workflows, workers and exchanges, with stale and repeated tokens, lost replies, crashes
// and expiries, against a slow, obvious model. After every step everything that can be read is
// compared.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/job_scan.h"
#include "lib/claim/queries/queries.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/transactions/add.h"
#include "lib/claim/transactions/exchange.h"
#include "lib/claim/transactions/live.h"
#include "lib/claim/transactions/membership.h"
#include "lib/claim/transactions/override.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/claim/transactions/reset.h"
#include "lib/claim/transactions/set_limit.h"
#include "tests/property/claim_generators.h"
#include "tests/property/claim_model.h"
#include "tests/property/strict_state.h"

namespace torc::claim {
namespace {

std::string show(const Job& j) {
  return fmt::format(
      "{} attempt {} lost {} stopped {} claim {} worker {} claimed at {} by alternative {} ended "
      "by "
      "{} started {} ended {}",
      to_string(j.state), j.attempt, j.lost, j.stopped, j.claim, raw(j.worker),
      j.claimed_at.count(), j.alternative, to_string(j.outcome.cause), j.outcome.started_at.count(),
      j.outcome.ended_at.count());
}

std::string difference(std::uint64_t id, const Job& is, const Job& should_be) {
  return fmt::format("job {} is\n  {}\nand should be\n  {}", id, show(is), show(should_be));
}

class World {
 public:
  explicit World(Size size) : plan_(any_plan(size)), model_(plan_) {
    const auto written = write_plan(tx_, plan_);
    RC_ASSERT(written.ok());
    compare();
    for (std::uint64_t n = below(4); n > 0; --n) {
      ++tx_.state.number;
      enter();
    }
  }

  void step() {
    ++tx_.state.number;
    // Whoever acts next has a clock of its own.
    time_ += 1;
    now_ = WallTime(time_ + static_cast<std::int64_t>(below(4) * 1'000'000));
    if (one_in(20)) now_ += std::chrono::seconds(below(20'000));
    const std::uint64_t dice = below(33);
    if (dice >= 31) return model_.limits() > 0 && one_in(4) ? set_limit() : set();
    if (dice < 2 || model_.live_workers() == 0) return enter();
    if (dice == 2) return leave();
    if (dice == 3) return one_in(3) ? bar() : expire();
    if (dice == 30) return add();
    if (dice >= 24) return meddle(dice);
    talk();
  }

  void add() {
    if (model_.jobs() > 300) return;
    const std::uint64_t before = model_.jobs();
    const Plan addition = any_plan({2, 7}, before + 1);
    Origin origin;
    origin.parent = JobId{below(before + 1)};
    origin.state = std::to_string(before);
    const auto added = add_jobs(tx_, addition, origin);
    RC_ASSERT(added.ok());
    model_.add(addition, tx_.sequence(), origin.parent);
    RC_ASSERT(raw(added->first) == before + 1);
    RC_ASSERT(added->count == model_.jobs() - before);
    compare();
    for (std::uint64_t id = before + 1; id <= model_.jobs(); ++id) {
      const auto told = *read_origin(tx_, JobId{id});
      RC_ASSERT(told.has_value());
      RC_ASSERT(told->state == origin.state);
      RC_ASSERT(told->parent == origin.parent);
    }
  }

  void compare() {
    const auto sound = verify_state(tx_);
    if (!sound.ok()) RC_FAIL(sound.error().text());
    for (std::uint64_t id = 1; id <= model_.jobs(); ++id) {
      const auto job = read_job(tx_, JobId{id});
      RC_ASSERT(job.has_value());
      model_.adopt_culprit(id, job->outcome);
      if (*job != model_.job(id)) RC_FAIL(difference(id, *job, model_.job(id)));
      RC_ASSERT(read_rank(tx_, JobId{id}) == model_.rank(id));
      RC_ASSERT(sorted(waits_for(tx_, JobId{id}, 1000)) == model_.waits_for(id));
    }
    RC_ASSERT(!read_job(tx_, JobId{model_.jobs() + 1}).has_value());
    compare_lists();
    compare_workers();
  }

  // Whatever happened: one good worker brings everything to an end that can come to one.
  void run_dry() {
    ++tx_.state.number;
    for (const auto& [epoch, worker] : model_.workers()) {
      if (worker.status != WorkerStatus::registered) continue;
      const std::uint64_t observed = worker.renewals;
      RC_ASSERT(
          *expire_worker(tx_, WorkerEpoch{epoch}, observed, now_, 0, EndCause::worker_lost, now_));
      RC_ASSERT(model_.expire(WorkerEpoch{epoch}, observed, now_, 0, EndCause::worker_lost,
                              tx_.sequence()));
      ++tx_.state.number;
    }
    enter();
    Exchange request;
    request.worker = workers_.back();
    Offer offer;
    offer.nodes = 9;
    offer.any_binding = offer.ignore_resources = true;
    offer.max_jobs = 5;
    request.offer = offer;
    for (;;) {
      ++tx_.state.number;
      const auto answer = exchange(tx_, request);
      RC_ASSERT(answer.ok());
      model_.exchange(request, tx_.sequence());
      compare();
      if (answer->next_due) request.now += *answer->next_due;
      request.finishes.clear();
      for (const Grant& g : answer->grants)
        request.finishes.push_back({g.token, JobState::completed, {}});
      if (answer->grants.empty() && !answer->next_due) break;
    }
    const auto workflow = read_workflow(tx_);
    if (read_expense(tx_)) return;  // some may be too dear
    if (model_.some_need_more_than_there_is()) return;
    RC_ASSERT(workflow->finished());
    if (workflow->halted()) return;
    RC_ASSERT(model_.in_state(JobState::ready) == 0U);
    RC_ASSERT(model_.in_state(JobState::delayed) == 0U);
    for (std::uint64_t id = 1; id <= model_.jobs(); ++id) {
      const JobState s = model_.job(id).state;
      RC_ASSERT(is_over(s) || s == JobState::held ||
                (s == JobState::blocked && !model_.waits_for(id).empty()));
    }
  }

 private:
  static std::vector<JobId> sorted(std::vector<JobId> ids) {
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  void compare_lists() {
    const auto workflow = read_workflow(tx_);
    RC_ASSERT(workflow.ok());
    RC_ASSERT(workflow->unmet == model_.unmet());
    RC_ASSERT(workflow->ending == model_.ending());
    std::vector<std::uint64_t> slots;
    const auto limits = scan_limits(tx_, [&](const LimitState& one) {
      slots.push_back(one.used);
      return true;
    });
    RC_ASSERT(limits.ok());
    RC_ASSERT(slots == model_.slots());
    if (const auto expense = read_expense(tx_)) {
      RC_ASSERT(expense->spent == model_.spent());
      RC_ASSERT(expense->promised == model_.promised());
    }
    for (std::size_t s = 0; s < kJobStates; ++s) {
      const auto state = static_cast<JobState>(s);
      RC_ASSERT(workflow->of(state) == model_.in_state(state));
      std::uint64_t found = 0;
      std::uint64_t last = 0;
      const auto scanned = scan_jobs(tx_, state, [&](JobId id, const Job& job) {
        RC_ASSERT(raw(id) > last);
        RC_ASSERT(job == model_.job(raw(id)));
        RC_ASSERT(job.state == state);
        last = raw(id);
        return ++found > 0;
      });
      RC_ASSERT(scanned.ok());
      RC_ASSERT(found == model_.in_state(state));
    }
    std::uint64_t next = 1;
    const auto all = scan_jobs(tx_, std::nullopt, [&](JobId id, const Job& job) {
      RC_ASSERT(raw(id) == next++);
      RC_ASSERT(job == model_.job(raw(id)));
      return true;
    });
    RC_ASSERT(all.ok());
    RC_ASSERT(next == model_.jobs() + 1);
  }

  void compare_workers() {
    std::uint64_t seen = 0;
    const auto scanned = scan_workers(tx_, false, [&](const Worker& w) {
      const ModelWorker& expected = model_.workers().at(raw(w.epoch));
      RC_ASSERT(w.status == expected.status);
      RC_ASSERT(w.renewals == expected.renewals);
      RC_ASSERT(w.barred == (model_.lives(w.epoch) && expected.barred));
      RC_ASSERT(w.finished == expected.finished);
      RC_ASSERT(w.held == model_.held_by(w.epoch).size());
      if (w.status == WorkerStatus::registered)
        RC_ASSERT(w.ending == model_.ending_by(w.epoch).size());
      return ++seen > 0;
    });
    RC_ASSERT(scanned.ok());
    RC_ASSERT(seen == model_.workers().size());
    const auto load = read_load(tx_);
    RC_ASSERT(load.ok());
    RC_ASSERT(load->workers == model_.live_workers());
    RC_ASSERT(load->hosts == model_.hosts());
  }

  void enter() {
    WorkerInfo info;
    info.host = "node" + std::to_string(below(3));
    info.cpus = static_cast<std::uint32_t>(below(8));
    const auto epoch = register_worker(tx_, info);
    RC_ASSERT(epoch.ok());
    model_.enter(raw(*epoch), info.host, info.cpus);
    workers_.push_back(*epoch);
    compare();
  }

  WorkerEpoch any_worker() {
    if (one_in(20)) return WorkerEpoch{below(5)};
    std::vector<WorkerEpoch> some = workers_;
    if (!one_in(8)) std::erase_if(some, [&](WorkerEpoch w) { return !model_.lives(w); });
    return some.empty() ? workers_.back() : some[below(some.size())];
  }

  void leave() {
    if (workers_.empty()) return;
    const WorkerEpoch worker = any_worker();
    const auto before = tx_.state.entries;
    const auto left = release_worker(tx_, worker, now_);
    RC_ASSERT(left.ok() == model_.speaks(worker));
    if (left.ok()) {
      model_.leave(worker, now_, tx_.sequence());
    } else {
      RC_ASSERT(left.error().kind == ErrorKind::fenced);
      RC_ASSERT(tx_.state.entries == before);
    }
    compare();
  }

  void expire() {
    if (workers_.empty()) return;
    const WorkerEpoch worker = any_worker();
    const auto known = model_.workers().find(raw(worker));
    std::uint64_t observed = known == model_.workers().end() ? 1 : known->second.renewals;
    if (one_in(3)) observed -= 1;
    const auto limit = static_cast<std::uint32_t>(below(4));
    const EndCause whys[] = {EndCause::worker_lost, EndCause::lease_lost,
                             EndCause::allocation_ended};
    const EndCause why = whys[below(3)];
    const Charge charges[] = {Charge::no, Charge::stop, Charge::yes, Charge::yes};
    const Charge charge = charges[below(4)];
    const auto expired = expire_worker(tx_, worker, observed, now_, limit, why, now_, charge);
    RC_ASSERT(expired.ok());
    RC_ASSERT(*expired ==
              model_.expire(worker, observed, now_, limit, why, tx_.sequence(), charge));
    compare();
  }

  void bar() {
    if (workers_.empty()) return;
    const WorkerEpoch worker = any_worker();
    const auto known = model_.workers().find(raw(worker));
    std::uint64_t observed = known == model_.workers().end() ? 1 : known->second.renewals;
    if (one_in(3)) observed -= 1;
    const auto barred = bar_worker(tx_, worker, observed);
    RC_ASSERT(barred.ok());
    RC_ASSERT(*barred == model_.bar(worker, observed));
    compare();
  }

  // What a person changes while workers run.
  void meddle(std::uint64_t dice) {
    const auto jobs = any_ranges(model_.jobs() + 1 + below(2));
    std::vector<JobRange> ranges = jobs;
    std::sort(ranges.begin(), ranges.end(),
              [](const JobRange& a, const JobRange& b) { return a.first < b.first; });
    if (dice >= 28) return reset(ranges, dice == 28 ? Force::no : Force::yes);
    Result<Change> change = Change{};
    std::vector<std::uint64_t> expected;
    switch (dice) {
      case 24:
        change = cancel_jobs(tx_, ranges, now_);
        expected = model_.cancel(ranges, now_, tx_.sequence());
        break;
      case 25:
        change = retry_jobs(tx_, ranges);
        expected = model_.retry(ranges, tx_.sequence());
        break;
      case 26:
        change = hold_jobs(tx_, ranges);
        expected = model_.hold(ranges);
        break;
      default:
        change = release_jobs(tx_, ranges, now_);
        expected = model_.release(ranges, now_, tx_.sequence());
    }
    RC_ASSERT(change.ok());
    compare_change(*change, expected);
  }

  void set() {
    std::vector<JobRange> ranges = any_ranges(model_.jobs() + 1 + below(2));
    std::sort(ranges.begin(), ranges.end(),
              [](const JobRange& a, const JobRange& b) { return a.first < b.first; });
    Setting setting;
    if (one_in(2)) setting.priority = static_cast<std::int32_t>(below(3)) - 1;
    if (one_in(2)) setting.needs["cpus"] = below(4);
    if (one_in(4)) setting.labels = any_labels();
    const auto change = set_jobs(tx_, ranges, setting);
    RC_ASSERT(change.ok());
    compare_change(*change, model_.set(ranges, setting));
  }

  void set_limit() {
    const std::size_t number = 1 + below(model_.limits());
    const auto most = static_cast<std::uint32_t>(below(7));
    const auto change = torc::claim::set_limit(tx_, static_cast<std::uint32_t>(number), most);
    RC_ASSERT(change.ok());
    RC_ASSERT(change->after.limit.of_file() == change->before.of_file());
    model_.set_limit(number, most);
    compare();
  }

  void reset(const std::vector<JobRange>& ranges, Force force) {
    const auto before = tx_.state.entries;
    const auto change = reset_jobs(tx_, ranges, force, now_);
    const auto expected = model_.reset(ranges, force == Force::yes, now_, tx_.sequence());
    RC_ASSERT(change.ok() == expected.has_value());
    if (change.ok()) return compare_change(*change, *expected);
    RC_ASSERT(change.error().kind == ErrorKind::busy);
    tx_.state.entries = before;
    compare();
  }

  void compare_change(const Change& change, const std::vector<std::uint64_t>& expected) {
    std::vector<std::uint64_t> changed;
    for (const JobId id : change.first) changed.push_back(raw(id));
    RC_ASSERT(changed == expected);
    RC_ASSERT(change.total() == expected.size());
    compare();
  }

  // One that the worker holds, mostly; else any that was ever granted, or one that never was.
  ClaimToken any_token(WorkerEpoch worker) {
    auto held = model_.held_by(worker);
    if (held.empty() || one_in(6)) held = model_.ending_by(worker);
    if (!held.empty() && !one_in(4)) {
      const std::uint64_t id = held[below(held.size())];
      return {JobId{id}, model_.job(id).attempt, model_.job(id).claim};
    }
    ClaimToken t;
    if (!tokens_.empty()) t = tokens_[below(tokens_.size())];
    if (one_in(4)) t.attempt += 1;
    if (one_in(4)) t.claim += 1;
    if (one_in(8)) t.job = JobId{below(model_.jobs() + 2)};
    return t;
  }

  Exchange any_exchange(WorkerEpoch worker) {
    static constexpr JobState kOther[] = {JobState::failed, JobState::terminated, JobState::ready};
    Exchange e;
    e.worker = worker;
    e.now = now_;
    for (std::uint64_t n = one_in(2) ? 0 : below(8); n > 0; --n) {
      const JobState end = one_in(6) ? kOther[below(3)] : JobState::completed;
      Finished f{any_token(worker), end, any_outcome()};
      f.recovered = one_in(2);
      f.said = static_cast<Trouble>(below(5));
      f.checkpointed = end == JobState::ready && one_in(3);
      e.finishes.push_back(f);
    }
    for (std::uint64_t n = below(4); n > 0; --n) e.starts.push_back({any_token(worker), now_});
    for (std::uint64_t n = one_in(2) ? 0 : below(4); n > 0; --n)
      e.returns.push_back(any_token(worker));
    for (std::uint64_t n = one_in(2) ? 0 : below(4); n > 0; --n)
      e.spares.push_back(any_token(worker));
    if (!e.finishes.empty() && one_in(3))
      e.finishes.push_back(e.finishes[below(e.finishes.size())]);
    if (!one_in(5)) e.offer = any_offer(model_.jobs());
    return e;
  }

  void talk() {
    if (workers_.empty()) return;
    const Exchange request = any_exchange(any_worker());
    const auto before = tx_.state.entries;
    const auto answer = exchange(tx_, request);
    RC_ASSERT(answer.ok() == model_.speaks(request.worker));
    if (!answer.ok()) {
      RC_ASSERT(answer.error().kind == ErrorKind::fenced);
      RC_ASSERT(tx_.state.entries == before);
      return;
    }
    if (one_in(6)) {  // the worker dies before its commit
      tx_.state.entries = before;
      return compare();
    }
    const ModelAnswer expected = model_.exchange(request, tx_.sequence());
    compare_answer(*answer, expected);
    compare();
  }

  void compare_answer(const Answer& answer, const ModelAnswer& expected) {
    RC_ASSERT(answer.refused.size() == expected.refused.size());
    for (std::size_t i = 0; i < answer.refused.size(); ++i) {
      RC_ASSERT(answer.refused[i].token == expected.refused[i].token);
      RC_ASSERT(answer.refused[i].why == expected.refused[i].why);
      RC_ASSERT(answer.refused[i].holder == expected.refused[i].holder);
    }
    RC_ASSERT(answer.grants.size() == expected.grants.size());
    for (std::size_t i = 0; i < answer.grants.size(); ++i) {
      RC_ASSERT(answer.grants[i].token == expected.grants[i].token);
      RC_ASSERT(answer.grants[i].job_class == expected.grants[i].job_class);
      RC_ASSERT(answer.grants[i].priority == expected.grants[i].priority);
      RC_ASSERT(answer.grants[i].alternative == expected.grants[i].alternative);
      RC_ASSERT(answer.grants[i].alone == expected.grants[i].alone);
      RC_ASSERT(!answer.grants[i].alone || answer.grants.size() == 1U);
      tokens_.push_back(answer.grants[i].token);
    }
    RC_ASSERT(answer.took_spares == expected.took_spares);
    RC_ASSERT(answer.promoted == expected.promoted);
    RC_ASSERT(answer.revoked == expected.revoked);
    RC_ASSERT(answer.open.has_value() == expected.open.has_value());
    if (answer.open) {
      RC_ASSERT(answer.open->ready == expected.open->ready);
      RC_ASSERT(answer.open->delayed == expected.open->delayed);
      RC_ASSERT(answer.open->at_work == expected.open->at_work);
    }
    RC_ASSERT(answer.live_workers == model_.live_workers());
    RC_ASSERT(answer.workflow.jobs == model_.jobs());
  }

  store::StrictState tx_;
  Plan plan_;
  ClaimModel model_;
  std::vector<WorkerEpoch> workers_;  // all that ever were
  std::vector<ClaimToken> tokens_;    // all that were ever granted
  std::int64_t time_ = 1000;
  WallTime now_{1000};
};

void live(Size size, std::uint64_t steps) {
  World world(size);
  for (steps = 20 + below(steps); steps > 0; --steps) world.step();
  world.run_dry();
}

RC_GTEST_PROP(Claims, of_small_workflows_are_as_the_model_says, ()) {
  live({6, 7}, 40);
}
RC_GTEST_PROP(Claims, of_larger_workflows_are_as_the_model_says, ()) {
  live({10, 20}, 100);
}

}  // namespace
}  // namespace torc::claim
