#include "tests/simulation/allocation_week.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lib/base/end_margins.h"
#include "lib/claim/rules/allocation.h"
#include "lib/claim/rules/demand.h"

namespace torc::simulation {
namespace week {
namespace {

using namespace std::chrono_literals;
using claim::Allocation;
using claim::AllocationStage;
using claim::Seen;
using std::chrono::seconds;

constexpr seconds kTick{10};
constexpr seconds kPass{30};
constexpr seconds kIdle{30};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}
  double part() { return static_cast<double>(bits_() >> 11U) * 0x1.0p-53; }
  seconds between(seconds from, seconds to) {
    return from +
           seconds(static_cast<std::int64_t>(part() * static_cast<double>((to - from).count())));
  }
  bool within(seconds time, seconds mean) {
    return part() < static_cast<double>(time.count()) / static_cast<double>(mean.count());
  }

 private:
  std::mt19937_64 bits_;
};

// Jobs that are alike; `behind`: those of that class come first. -1: none do.
struct Kind {
  std::uint32_t cpus = 1;
  std::uint32_t nodes = 1;
  seconds expected{0};
  std::uint64_t jobs = 0;
  int behind = -1;
  int grows_into = -1;  // of the class that a job that fails has next
  std::uint64_t ready = 0;
  std::uint64_t held = 0;
  std::uint64_t done = 0;
  [[nodiscard]] bool is_over() const { return done == jobs; }
};

struct Run {
  std::size_t kind = 0;
  std::size_t node = 0;  // of the allocation; of a gang 0
  seconds begun{0};
  seconds end{0};
  bool fails = false;
};

struct BatchJob {
  std::string id;
  std::size_t workflow = 0;
  std::uint32_t number = 0;
  std::uint32_t attempt = 0;
  std::uint32_t scheduler = 0;  // from 0
  Seen::As as = Seen::As::waits;
  std::string state = "PENDING";
  seconds submitted{0};
  seconds may_start{0};
  seconds start{0};
  seconds end{0};
  bool works = false;
  std::vector<Run> runs;
  std::vector<std::uint32_t> free;  // CPUs of its nodes
  seconds last_start{0};            // of a job
  seconds last_busy{0};
  double unused = 0;  // CPU-seconds since it began
  double unused_at_last_start = 0;
  bool had_jobs = false;
};

struct Workflow {
  seconds arrives{0};
  std::vector<Kind> kinds;
  std::vector<claim::Scheduler> schedulers;
  std::map<std::uint32_t, Allocation> ledger;
  std::deque<std::pair<seconds, std::uint64_t>> additions;  // of jobs of kind 0
  bool is_over = false;
};

WallTime wall(seconds at) {
  return 1'800'000'000s + at;
}

class Week {
 public:
  explicit Week(const WeekScenario& scenario)
      : scenario_(scenario), dice_(scenario.seed), free_nodes_(scenario.nodes) {
    for (std::uint32_t w = 0; w < scenario.workflows; ++w) workflows_.push_back(some_workflow(w));
  }

  WeekFigures run() {
    for (; now_ < scenario_.length; now_ += kTick) {
      is_away_ = now_ % 24h >= 13h && now_ % 24h < 14h;
      for (BatchJob& job : live()) step(job);
      if (now_ % kPass == 0s) {
        for (std::size_t w = 0; w < workflows_.size(); ++w) pass(w);
      }
      if (std::ranges::all_of(workflows_, [](const Workflow& w) { return w.is_over; }) &&
          live_.empty())
        break;
    }
    for (const Workflow& w : workflows_) {
      if (w.is_over) ++figures_.finished;
      for (const auto& [number, a] : w.ledger) {
        ++figures_.allocations;
        if (a.started_at.count() == 0) ++figures_.surplus;
      }
      for (const Kind& kind : w.kinds) figures_.jobs += kind.done;
    }
    figures_.granted /= 3600;
    figures_.used /= 3600;
    figures_.avoidable /= 3600;
    return figures_;
  }

 private:
  Workflow some_workflow(std::uint32_t number) {
    Workflow w;
    w.arrives = dice_.between(0s, scenario_.arrivals);
    const auto add = [&](std::uint64_t jobs, std::uint32_t cpus, seconds expected,
                         int behind = -1) {
      Kind kind;
      kind.cpus = cpus;
      kind.expected = expected;
      kind.jobs = jobs;
      kind.behind = behind;
      if (behind < 0) kind.ready = jobs;
      w.kinds.push_back(kind);
    };
    switch (number % 5) {
      case 0:  // a sweep of short jobs
        add(3000, 1, 5min);
        break;
      case 1:  // a graph that narrows to one long job
        add(300, 4, 20min);
        add(30, 4, 1h, 0);
        add(1, 4, 10h, 1);
        break;
      case 2:  // gangs beside singles
        add(400, 2, 10min);
        add(20, scenario_.cpus, 30min);
        w.kinds[1].nodes = 2;
        break;
      case 3:  // jobs that fail and are larger then
        add(400, 2, 30min);
        add(0, 8, 30min);
        w.kinds[0].grows_into = 1;
        break;
      default:  // jobs that are added later
        add(500, 1, 10min);
        for (int n = 1; n <= 4; ++n) w.additions.emplace_back(w.arrives + n * 6h, 200);
        break;
    }
    for (const auto& [name, nodes, walltime] : {std::tuple{"small", 1U, seconds(4h)},
                                                {"wide", 2U, seconds(4h)},
                                                {"long", 1U, seconds(24h)}}) {
      claim::Scheduler s;
      s.name = name;
      s.nodes = nodes;
      s.walltime = walltime;
      s.node.cpus = scenario_.cpus;
      s.node.memory = mebibytes(1 << 20);
      s.is_managed = true;
      w.schedulers.push_back(s);
    }
    return w;
  }

  // Those that are over are forgotten by the queue after some minutes.
  std::deque<BatchJob>& live() {
    std::erase_if(live_, [&](const BatchJob& job) {
      return job.as == Seen::As::over && now_ > job.end + 10min;
    });
    return live_;
  }

  // --- the batch system ---

  void step(BatchJob& job) {
    if (job.as == Seen::As::waits && !is_away_ && now_ >= job.may_start) {
      const std::uint32_t nodes = workflows_[job.workflow].schedulers[job.scheduler].nodes;
      if (free_nodes_ < nodes) return;
      free_nodes_ -= nodes;
      job.as = Seen::As::runs;
      job.state = "RUNNING";
      job.start = job.last_busy = job.last_start = now_;
      job.end = now_ + workflows_[job.workflow].schedulers[job.scheduler].walltime;
      job.free.assign(nodes, scenario_.cpus);
      job.unused = job.unused_at_last_start = 0;
      job.had_jobs = job.works = false;
    }
    if (job.as != Seen::As::runs) return;
    if (!job.works && now_ >= job.start + kStartUp) bind(job);
    if (job.as != Seen::As::runs) return;
    end_runs(job);
    if (job.works) start_runs(job);
    account(job);
    if (!job.runs.empty()) job.last_busy = now_;
    if (now_ >= job.end) return leave(job, "TIMEOUT");
    if (job.works && now_ >= job.last_busy + kIdle) {
      figures_.longest_idle = std::max(figures_.longest_idle, now_ - job.last_busy);
      return leave(job, "COMPLETED");
    }
    if (dice_.within(kTick, 12h)) {
      ++figures_.preempted;
      leave(job, "PENDING");
    } else if (dice_.within(kTick, 24h * 7)) {
      ++figures_.failed;
      leave(job, "NODE_FAIL");
    }
  }

  void account(BatchJob& job) {
    std::uint32_t free = 0;
    for (const std::uint32_t cpus : job.free) free += cpus;
    const double cores = static_cast<double>(job.free.size()) * scenario_.cpus;
    const auto time = static_cast<double>(kTick.count());
    figures_.granted += cores * time;
    figures_.used += (cores - free) * time;
    if (now_ >= job.start + kStartUp) job.unused += free * time;
  }

  void leave(BatchJob& job, const std::string& state) {
    Workflow& w = workflows_[job.workflow];
    for (const Run& run : job.runs) {
      Kind& kind = w.kinds[run.kind];
      --kind.held;
      ++kind.ready;
    }
    job.runs.clear();
    free_nodes_ += static_cast<std::uint32_t>(job.free.size());
    figures_.avoidable += job.unused_at_last_start;
    if (!job.had_jobs) ++figures_.idle;
    job.state = state;
    job.works = false;
    if (state == "PENDING") {
      job.as = Seen::As::waits;
      job.start = {};
      job.may_start = now_ + dice_.between(1min, 1h);
    } else {
      job.as = Seen::As::over;
      job.end = now_;
    }
  }

  void bind(BatchJob& job) {
    Workflow& w = workflows_[job.workflow];
    Allocation& a = w.ledger.at(job.number);
    auto after = claim::after_binding(a, job.attempt, "c", job.id, wall(job.start), wall(now_),
                                      scenario_.cpus);
    if (after.admission == claim::Admission::surplus) return leave(job, "COMPLETED");
    a = std::move(after.allocation);
    job.works = true;
    const auto at_work =
        static_cast<std::uint32_t>(std::ranges::count_if(live_, [&](const BatchJob& other) {
          return other.works && other.workflow == job.workflow && other.number == job.number;
        }));
    figures_.most_for_an_intent = std::max(figures_.most_for_an_intent, at_work);
  }

  // --- its workers ---

  void end_runs(BatchJob& job) {
    Workflow& w = workflows_[job.workflow];
    std::erase_if(job.runs, [&](const Run& run) {
      if (now_ < run.end) return false;
      Kind& kind = w.kinds[run.kind];
      --kind.held;
      if (run.fails) {
        Kind& larger = w.kinds[static_cast<std::size_t>(kind.grows_into)];
        --kind.jobs;
        ++larger.jobs;
        ++larger.ready;
      } else {
        ++kind.done;
      }
      if (kind.nodes > 1) {
        std::ranges::fill(job.free, scenario_.cpus);
      } else {
        job.free[run.node] += kind.cpus;
      }
      open(w);
      return true;
    });
  }

  void open(Workflow& w) {
    for (Kind& kind : w.kinds) {
      if (kind.behind < 0 || !w.kinds[static_cast<std::size_t>(kind.behind)].is_over()) continue;
      kind.behind = -1;
      kind.ready = kind.jobs;
    }
  }

  void start_runs(BatchJob& job) {
    Workflow& w = workflows_[job.workflow];
    std::vector<std::size_t> order(w.kinds.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      const Kind& x = w.kinds[a];
      const Kind& y = w.kinds[b];
      return x.nodes != y.nodes ? x.nodes > y.nodes : x.expected > y.expected;
    });
    for (const std::size_t k : order) {
      Kind& kind = w.kinds[k];
      if (kind.ready == 0 || kind.nodes > job.free.size()) continue;
      if (now_ + kind.expected > job.end) continue;
      if (kind.nodes > 1) {
        const bool is_free = std::ranges::all_of(
            job.free, [&](std::uint32_t cpus) { return cpus == scenario_.cpus; });
        if (is_free) begin(job, k, 0);
        return;  // nothing else is begun where a gang waits
      }
      for (std::size_t n = 0; n < job.free.size(); ++n) {
        while (kind.ready > 0 && job.free[n] >= kind.cpus) begin(job, k, n);
      }
    }
  }

  void begin(BatchJob& job, std::size_t k, std::size_t node) {
    Kind& kind = workflows_[job.workflow].kinds[k];
    --kind.ready;
    ++kind.held;
    Run run{k, node, now_, now_ + dice_.between(kind.expected / 2, kind.expected), false};
    run.fails = kind.grows_into >= 0 && dice_.part() < 0.1;
    if (kind.nodes > 1) {
      std::ranges::fill(job.free, 0U);
    } else {
      job.free[node] -= kind.cpus;
    }
    job.runs.push_back(run);
    job.had_jobs = true;
    job.last_start = now_;
    job.unused_at_last_start = job.unused;
  }

  // --- a pass over the ledger of a workflow, by whoever ---

  void pass(std::size_t number) {
    Workflow& w = workflows_[number];
    if (now_ < w.arrives || w.is_over) return;
    while (!w.additions.empty() && w.additions.front().first <= now_) {
      w.kinds[0].jobs += w.additions.front().second;
      w.kinds[0].ready += w.additions.front().second;
      w.additions.pop_front();
    }
    const bool is_done = std::ranges::all_of(w.kinds, &Kind::is_over);
    if (!is_away_) look(number);
    const claim::Demand demand = claim::demand_of(input_of(w, is_done));
    note(w, demand);
    if (!is_away_) cancel(number);
    submit(number);
    const bool is_quiet =
        std::ranges::none_of(w.ledger, [](const auto& one) { return claim::is_live(one.second); });
    w.is_over = is_done && w.additions.empty() && is_quiet;
  }

  void look(std::size_t number) {
    Workflow& w = workflows_[number];
    std::map<std::uint32_t, claim::Look> looks;
    const bool is_empty = dice_.part() < 0.01;  // and says that this is all
    for (const auto& [n, a] : w.ledger) {
      if (claim::may_be_there(a)) looks[n].whole = true;
    }
    for (const BatchJob& job : live_) {
      if (job.workflow != number || is_empty) continue;
      Seen row;
      row.as = job.as;
      row.attempt = job.attempt;
      row.cluster = "c";
      row.id = job.id;
      row.state = job.state;
      row.submitted = wall(job.submitted);
      if (job.start.count() > 0) row.start = wall(job.start);
      if (job.end.count() > 0) row.end = wall(job.end);
      looks[job.number].whole = true;
      looks[job.number].rows.push_back(row);
    }
    for (auto& [n, one] : looks) {
      claim::AfterLook after = claim::after_look(w.ledger.at(n), one, wall(now_));
      w.ledger.at(n) = std::move(after.allocation);
      for (const std::string& id : after.surplus) to_cancel_.push_back(id);
    }
  }

  claim::DemandInput input_of(const Workflow& w, bool is_done) {
    claim::DemandInput input;
    input.schedulers = w.schedulers;
    input.is_over = is_done;
    for (const Kind& kind : w.kinds) {
      claim::WorkLeft work;
      work.job_class.need.cpus = kind.cpus;
      work.job_class.need.memory = mebibytes(1);
      work.job_class.need.nodes = kind.nodes;
      work.job_class.need.runtime = kind.expected;
      work.ready = kind.ready;
      work.held = kind.held;
      if (kind.behind >= 0) {
        const bool is_soon = w.kinds[static_cast<std::size_t>(kind.behind)].behind < 0;
        (is_soon ? work.soon : work.later) = kind.jobs;
      }
      input.work.push_back(work);
    }
    for (const auto& [n, a] : w.ledger) {
      if (!claim::is_live(a) || a.is_surplus) continue;
      claim::Place place;
      place.allocation = n;
      place.scheduler = a.scheduler;
      place.scheduler_name = w.schedulers[a.scheduler - 1].name;
      place.waits = a.stage != AllocationStage::running;
      place.has_limit = true;
      place.left = a.walltime;
      if (!place.waits)
        place.left = std::max(0s, std::chrono::duration_cast<seconds>(a.ends_at - wall(now_)));
      place.nodes = a.nodes;
      place.node = w.schedulers[a.scheduler - 1].node;
      input.places.push_back(place);
    }
    return input;
  }

  void note(Workflow& w, const claim::Demand& demand) {
    for (const claim::Ask& ask : demand.ask) {
      for (std::uint32_t n = 0; n < ask.allocations; ++n) {
        Allocation a;
        a.scheduler = ask.scheduler;
        a.nodes = w.schedulers[ask.scheduler - 1].nodes;
        a.walltime = w.schedulers[ask.scheduler - 1].walltime;
        a.wanted_at = wall(now_);
        w.ledger.emplace(static_cast<std::uint32_t>(w.ledger.size() + 1), a);
      }
    }
    for (const std::uint32_t n : demand.surplus) {
      Allocation& a = w.ledger.at(n);
      if (a.stage == AllocationStage::queued) a.is_surplus = true;
      if (a.stage != AllocationStage::wanted) continue;
      a.stage = AllocationStage::ended;
      a.end = claim::AllocationEnd::withdrawn;
    }
  }

  void cancel(std::size_t number) {
    for (const auto& [n, a] : workflows_[number].ledger) {
      if (claim::is_live(a) && a.is_surplus && !a.id.empty()) to_cancel_.push_back(a.id);
    }
    for (BatchJob& job : live_) {
      if (std::ranges::find(to_cancel_, job.id) == to_cancel_.end()) continue;
      if (job.as == Seen::As::runs) leave(job, "CANCELLED");
      if (job.as != Seen::As::waits) continue;
      job.as = Seen::As::over;
      job.state = "CANCELLED";
      job.end = now_;
    }
    to_cancel_.clear();
  }

  void submit(std::size_t number) {
    Workflow& w = workflows_[number];
    for (auto& [n, a] : w.ledger) {
      claim::Scheduler& s = w.schedulers[a.scheduler - 1];
      if (!claim::may_submit(a, s, wall(now_))) continue;
      a = claim::begun(a, {"somebody"}, wall(now_));
      claim::AttemptEnd answer;
      const double dice = dice_.part();
      // It acted, and nobody heard of it; or it did not; or it says so.
      if (is_away_) answer.what = dice < 0.2 ? claim::Attempted::unclear : claim::Attempted::later;
      if (!is_away_ && dice >= 0.01) {
        answer.what = dice < 0.02 ? claim::Attempted::unclear : claim::Attempted::accepted;
        BatchJob job;
        job.id = std::to_string(++ids_);
        job.workflow = number;
        job.number = n;
        job.attempt = a.tries;
        job.scheduler = a.scheduler - 1;
        job.submitted = now_;
        job.may_start = now_ + dice_.between(1min, 1h);
        answer.cluster = "c";
        if (answer.what == claim::Attempted::accepted) answer.id = job.id;
        live_.push_back(job);
      }
      claim::AfterTry after = claim::after_try(a, s, a.tries, answer, wall(now_));
      a = std::move(after.allocation);
      s = std::move(after.scheduler);
    }
  }

  WeekScenario scenario_;
  Dice dice_;
  std::uint32_t free_nodes_;
  seconds now_{0};
  bool is_away_ = false;
  std::vector<Workflow> workflows_;
  std::deque<BatchJob> live_;
  std::vector<std::string> to_cancel_;
  std::uint64_t ids_ = 0;
  WeekFigures figures_;
};

}  // namespace
}  // namespace week

WeekFigures live_through(const WeekScenario& scenario) {
  return week::Week(scenario).run();
}

}  // namespace torc::simulation
