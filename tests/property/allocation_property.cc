// The ledger of allocations against a world in which whoever submits dies or stands still between
// any two steps, and the batch system acts late, twice, loses what it answers, and lists anything.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "lib/claim/audit/verify.h"
#include "lib/claim/queries/allocations.h"
#include "lib/claim/transactions/allocations.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/store/engine/memory_state.h"

namespace torc::claim {
namespace {

using namespace std::chrono_literals;
constexpr WallTime kNoon{1'800'000'000'000'000};

struct BatchJob {
  enum class State { waits, runs, over };
  std::string id;
  IntentName intent;
  State state = State::waits;
  WallTime submitted{};
  WallTime start{};
  WallTime end{};
  bool works = false;  // its workers were admitted
  bool is_canceled = false;
};

// An sbatch that was called, and acts now or later; who called it may be gone.
struct Request {
  IntentName intent;
  std::uint64_t caller = 0;
};

// Whoever makes passes: where it is between two transactions.
struct Submitter {
  enum class At { rest, listed, begun, answered };
  At at = At::rest;
  std::uint64_t life = 0;
  std::map<std::uint32_t, Look> looks;
  std::optional<IntentName> intent;
  AttemptEnd answer;
  std::vector<std::string> surplus;
  std::chrono::seconds clock{0};  // ahead by so much
};

class World {
 public:
  World() {
    Plan plan;
    plan.name = "test";
    plan.classes = {JobClass{}};
    Template t;
    t.first = JobId{1};
    t.count = 3;
    plan.templates = {t};
    Scheduler s;
    s.name = "one";
    s.job_name = "wf-one";
    s.walltime = 1h;
    s.is_managed = true;
    plan.schedulers = {s};
    RC_ASSERT(write_plan(tx_, plan).ok());
    submitters_[2].clock = 1h;
  }

  void step(std::uint32_t op, std::uint32_t arg) {
    now_ += std::chrono::seconds(arg % 90);
    Submitter& one = submitters_[arg % submitters_.size()];
    switch (op) {
      case 0:
        if (allocations().size() < 4)
          commit([&] { return want(tx_, {1, 1, AskedBy::person, "me", "", 0}, now_); });
        break;
      case 1:
      case 2:
      case 3:
      case 4:
        go_on(one, arg / 3);
        break;
      case 5:  // it dies; another one takes its place
        one.life = ++lives_;
        one.at = Submitter::At::rest;
        one.looks.clear();
        one.surplus.clear();
        break;
      case 6:
        deliver(arg / 3, arg / 7 % 4);
        break;
      case 7:
        for (BatchJob* job : picked(BatchJob::State::waits, arg)) {
          job->state = BatchJob::State::runs;
          job->start = now_;
        }
        break;
      case 8:
        for (BatchJob* job : picked(BatchJob::State::runs, arg)) let_bind(*job);
        break;
      case 9:
        for (BatchJob* job : picked(BatchJob::State::runs, arg)) end(*job);
        break;
      case 10:  // it is preempted and put into the queue again
        for (BatchJob* job : picked(BatchJob::State::runs, arg)) {
          job->state = BatchJob::State::waits;
          job->works = false;
          job->start = {};
        }
        break;
      case 11:
        if (arg % 4 == 0) {
          const Allocations all = allocations();
          if (!all.empty())
            commit([&] { return cancel_allocations(tx_, {all.rbegin()->first}, now_); });
        }
        break;
      default:
        break;
    }
    check();
  }

  // Nothing goes wrong any more.
  void calm() {
    while (!requests_.empty()) deliver(0, 0);
    for (int round = 0; round < 30; ++round) {
      for (Submitter& one : submitters_) {
        one.clock = 0s;
        for (int steps = 0; steps < 40; ++steps) {
          now_ += 1s;
          go_on(one, 0);
          while (!requests_.empty()) deliver(0, 0);
        }
      }
      now_ += 1min;
      check();
    }
    for (const Allocations all = allocations(); const auto& [number, a] : all) {
      RC_ASSERT(a.stage != AllocationStage::wanted);
      RC_ASSERT(a.stage != AllocationStage::intent);
    }
    for (const BatchJob& job : jobs_) {
      if (job.state == BatchJob::State::over) continue;
      const Allocation a = allocations().at(job.intent.number);
      RC_ASSERT(a.id == job.id);
      RC_ASSERT(is_live(a));
      RC_ASSERT(!a.is_surplus);
    }
  }

  // Live ones of one intent; workers that were sent away.
  [[nodiscard]] int most_at_once() const { return most_at_once_; }
  [[nodiscard]] int turned_away() const { return turned_away_; }

  [[nodiscard]] std::string told() const {
    std::ostringstream out;
    for (const Allocations all = allocations(); const auto& [number, a] : all) {
      out << "allocation " << number << ": " << to_string(a.stage) << ' ' << to_string(a.end)
          << " id " << a.id << " tries " << a.tries << (a.is_surplus ? " surplus" : "") << '\n';
    }
    for (const BatchJob& job : jobs_) {
      out << "batch job " << job.id << " of " << job.intent.number << '.' << job.intent.attempt
          << " state " << static_cast<int>(job.state) << (job.works ? " works" : "") << '\n';
    }
    return out.str();
  }

 private:
  template <class Act>
  void commit(const Act& act) {
    ++tx_.number;
    const auto done = act();
    RC_ASSERT(done.ok());
    const auto sound = verify_state(tx_);
    if (!sound.ok()) RC_FAIL(sound.error().text());
  }
  [[nodiscard]] Allocations allocations() const {
    auto all = read_allocations(tx_);
    return all.ok() ? *std::move(all) : Allocations{};
  }

  std::vector<BatchJob*> picked(BatchJob::State state, std::uint32_t arg) {
    std::vector<BatchJob*> all;
    for (BatchJob& job : jobs_)
      if (job.state == state) all.push_back(&job);
    if (all.empty()) return {};
    return {all[arg % all.size()]};
  }

  void end(BatchJob& job) {
    job.state = BatchJob::State::over;
    job.end = now_;
    job.works = false;
  }

  void let_bind(BatchJob& job) {
    if (job.works) return;
    Admission admission = Admission::yes;
    commit([&]() -> Result<void> {
      TORC_ASSIGN(admission, bind_allocation(tx_, {job.intent, "c", job.id, job.start, 4}, now_));
      return {};
    });
    if (admission == Admission::yes) {
      job.works = true;
    } else {
      ++turned_away_;
      end(job);
    }
  }

  // One of the requests reaches the batch system, which acts; `how` 1: and its answer is lost,
  // 2: twice, 3: it refuses for now.
  void deliver(std::uint32_t which, std::uint32_t how) {
    if (requests_.empty()) return;
    const auto at = requests_.begin() + static_cast<std::ptrdiff_t>(which % requests_.size());
    const Request request = *at;
    requests_.erase(at);
    AttemptEnd answer;
    answer.what = how == 3 ? Attempted::later : Attempted::accepted;
    for (int n = 0; n < (how == 2 ? 2 : how == 3 ? 0 : 1); ++n) {
      BatchJob job;
      job.id = std::to_string(100 + jobs_.size());
      job.intent = request.intent;
      job.submitted = now_;
      answer.id = job.id;
      jobs_.push_back(job);
    }
    answer.cluster = "c";
    if (how == 1) answer = {};
    for (Submitter& one : submitters_) {
      if (one.life != request.caller || one.at != Submitter::At::begun) continue;
      one.answer = answer;
      one.at = Submitter::At::answered;
    }
  }

  Look whole_look_of(std::uint32_t number) const {
    Look look;
    look.whole = look.accounting = true;
    for (const BatchJob& job : jobs_) {
      if (job.intent.number != number) continue;
      Seen row;
      row.as = job.state == BatchJob::State::waits  ? Seen::As::waits
               : job.state == BatchJob::State::runs ? Seen::As::runs
                                                    : Seen::As::over;
      row.attempt = job.intent.attempt;
      row.cluster = "c";
      row.id = job.id;
      row.state = job.is_canceled ? "CANCELLED" : "COMPLETED";
      row.submitted = job.submitted;
      row.start = job.start;
      row.end = job.end;
      look.rows.push_back(row);
    }
    return look;
  }

  // `how` 1: half of it, and it says so, 2: nothing, and it says that this is all, 3: the rows of
  // another cluster, 4: every row twice.
  void list(Submitter& one, std::uint32_t how) {
    one.looks.clear();
    for (const Allocations all = allocations(); const auto& [number, a] : all) {
      Look look = whole_look_of(number);
      if (how == 1) {
        look.whole = false;
        look.rows.resize(look.rows.size() / 2);
      }
      if (how == 2) look.rows.clear();
      if (how == 3) {
        for (Seen& row : look.rows) {
          row.attempt = 0;
          row.cluster = "d";
          row.as = Seen::As::over;
        }
        look.whole = false;
      }
      if (how == 4) {
        const auto rows = look.rows;
        look.rows.insert(look.rows.end(), rows.begin(), rows.end());
      }
      one.looks.emplace(number, look);
    }
  }

  void cancel(Submitter& one, bool is_lost) {
    for (BatchJob& job : jobs_) {
      if (is_lost || std::ranges::find(one.surplus, job.id) == one.surplus.end()) continue;
      if (job.state == BatchJob::State::over) continue;
      job.is_canceled = true;
      end(job);
    }
    one.surplus.clear();
  }

  void go_on(Submitter& one, std::uint32_t how) {
    const WallTime now = now_ + one.clock;
    switch (one.at) {
      case Submitter::At::rest: {
        if (!one.surplus.empty()) return cancel(one, how % 5 == 1);
        const std::uint32_t what = how % 2;
        // A wanted one, else a look.
        const Allocations all = allocations();
        for (const auto& [number, a] : all) {
          if (what == 1 || a.stage != AllocationStage::wanted) continue;
          std::optional<Allocation> begun;
          commit([&, number = number]() -> Result<void> {
            TORC_ASSIGN(begun, begin_submission(tx_, number, {"me"}, now));
            return {};
          });
          if (!begun) continue;
          one.intent = {number, begun->tries};
          one.at = Submitter::At::begun;
          one.life = ++lives_;
          return;
        }
        list(one, how / 2 % 7);
        one.at = Submitter::At::listed;
        return;
      }
      case Submitter::At::listed:
        commit([&]() -> Result<void> {
          TORC_ASSIGN(one.surplus, note_looks(tx_, one.looks, now));
          TORC_ASSIGN(const auto marked, note_demand(tx_, {}, "me", now, "c"));
          one.surplus.insert(one.surplus.end(), marked.begin(), marked.end());
          return {};
        });
        one.at = Submitter::At::rest;
        return;
      case Submitter::At::begun:
        // It calls sbatch once; until that acts it waits, for a while.
        if (one.intent) {
          requests_.push_back({*one.intent, one.life});
          sent_[one.life] = *one.intent;
          one.intent.reset();
        } else if (how % 3 == 2) {
          one.answer = {};  // it was killed after a minute
          one.at = Submitter::At::answered;
        }
        return;
      case Submitter::At::answered: {
        const IntentName intent = sent_.at(one.life);
        std::string surplus;
        commit([&]() -> Result<void> {
          TORC_ASSIGN(surplus, end_submission(tx_, intent.number, intent.attempt, one.answer, now));
          return {};
        });
        if (!surplus.empty()) one.surplus.push_back(surplus);
        one.at = Submitter::At::rest;
        return;
      }
    }
  }

  void check() {
    std::map<std::uint32_t, int> working;
    std::map<std::uint32_t, int> live;
    for (const BatchJob& job : jobs_) {
      if (job.state != BatchJob::State::over)
        most_at_once_ = std::max(most_at_once_, ++live[job.intent.number]);
      if (job.works && job.state == BatchJob::State::runs) ++working[job.intent.number];
    }
    for (const auto& [number, count] : working) RC_ASSERT(count == 1);
    // What one whole look leaves: at most one, and the others are told to be canceled.
    for (const Allocations all = allocations(); const auto& [number, a] : all) {
      const Look look = whole_look_of(number);
      const AfterLook after = after_look(a, look, now_);
      for (const BatchJob& job : jobs_) {
        if (job.intent.number != number || job.state == BatchJob::State::over) continue;
        const bool is_it = after.allocation.id == job.id && is_live(after.allocation);
        const bool is_surplus = std::ranges::find(after.surplus, job.id) != after.surplus.end();
        RC_ASSERT(is_it != is_surplus);
      }
    }
  }

  store::MemoryState tx_;
  WallTime now_ = kNoon;
  std::vector<BatchJob> jobs_;
  std::vector<Request> requests_;
  std::array<Submitter, 3> submitters_;
  std::map<std::uint64_t, IntentName> sent_;  // by life of who sent
  std::uint64_t lives_ = 0;
  int most_at_once_ = 0;
  int turned_away_ = 0;
};

RC_GTEST_PROP(AllocationLedger, has_one_allocation_that_works_for_each_intent_and_forgets_none,
              ()) {
  World world;
  world.step(0, 0);
  const auto length = *rc::gen::inRange<std::size_t>(0, 200);
  const auto steps = *rc::gen::container<std::vector<std::uint32_t>>(
      length, rc::gen::inRange<std::uint32_t>(0, 12U * 10'000));
  for (const std::uint32_t step : steps) world.step(step % 12, step / 12);
  RC_CLASSIFY(world.most_at_once() > 1, "several at the batch system for one intent");
  RC_CLASSIFY(world.turned_away() > 0, "workers turned away");
  RC_LOG() << world.told();
  world.calm();
  RC_LOG() << world.told();
}

}  // namespace
}  // namespace torc::claim
