// What it costs to ask for the state of a sweep of 1,000,000 jobs that has run, of which 10,000
// failed, scattered through it, and to let these run again. The questions are compared with a
// command that does nothing, the retry with the same command when nothing has failed.
#include <fmt/format.h>

#include "bench/batch_worker.h"
#include "bench/local_world.h"
#include "bench/measure.h"
#include "lib/claim/transactions/plan_writing.h"
#include "lib/spec/load/load.h"

namespace torc::bench {
namespace {

constexpr std::uint64_t kEvery = 100;

// Names and commands, which the questions show.
Result<std::string> recipe_of(std::uint64_t jobs) {
  const std::string text = fmt::format(
      "name: bench\njobs:\n  - name: run_{{i}}\n    command: simulate --seed {{i}}\n"
      "    parameters: {{i: \"1:{}\"}}\n",
      jobs);
  const spec::Loaded loaded = spec::load(text, "bench.yaml", {});
  if (loaded.expansion) return loaded.expansion->entries.front().recipe;
  return Error{ErrorKind::invalid, "the workflow is none", "this is a mistake of the benchmark"};
}

class Failures {
 public:
  Failures(const Options& options, std::uint64_t jobs)
      : directory_(options.scratch), jobs_(jobs), failed_(jobs / kEvery) {}

  // Runs all of the sweep; every hundredth job fails.
  Result<void> make() {
    TORC_ASSIGN(local_, LocalWorld::make());
    TORC_ASSIGN(const std::string recipe, recipe_of(jobs_));
    TORC_ASSIGN(store_, store::Store::create(local_->world(), directory_ / "jobs.torc",
                                             store::Engine::journal, store::Tuning{},
                                             [&](store::Transaction& tx) {
                                               claim::Plan plan = plan_of(jobs_, Shape::sweep);
                                               plan.templates.front().recipe = recipe;
                                               return claim::write_plan(tx, plan);
                                             }));
    TORC_ASSIGN(BatchWorker worker, BatchWorker::join(*store_));
    worker_ = worker;
    constexpr std::uint64_t kBatch = 10'000;
    TORC_TRY(worker_->turn(kBatch));
    for (std::uint64_t done = kBatch; done < jobs_; done += kBatch) {
      TORC_TRY(worker_->fail(kEvery, kBatch));
    }
    return worker_->fail(kEvery, 0);
  }

  // Those that were retried fail again, which is not measured.
  Round retry() {
    return [this]() -> Result<Seconds> {
      TORC_ASSIGN(const ProcessCost cost, run());
      TORC_TRY(worker_->turn(failed_));
      TORC_TRY(worker_->fail(1, 0));
      return cost.wall;
    };
  }
  Round ask(std::vector<std::string> argv) {
    return [this, argv = std::move(argv)]() -> Result<Seconds> {
      TORC_ASSIGN(const ProcessCost cost, run_process(argv, directory_));
      return cost.wall;
    };
  }
  [[nodiscard]] std::uint64_t failed() const { return failed_; }
  Round nothing() {
    return [this]() -> Result<Seconds> {
      TORC_ASSIGN(const ProcessCost cost,
                  run_process({TORC_PROGRAM, "release", "jobs.torc", "--all"}, directory_));
      return cost.wall;
    };
  }

 private:
  Result<ProcessCost> run() {
    return run_process({TORC_PROGRAM, "retry", "jobs.torc", "--failed"}, directory_);
  }

  Path directory_;
  std::uint64_t jobs_;
  std::uint64_t failed_;
  std::unique_ptr<LocalWorld> local_;
  std::unique_ptr<store::Store> store_;
  std::optional<BatchWorker> worker_;
};

// The limits are those of 1,000,000 jobs; with --quick there are fewer.
Result<void> measure_questions(const Options& options, Table& table, std::uint64_t jobs,
                               Failures& failures) {
  const Round version = failures.ask({TORC_PROGRAM, "--version"});
  const auto add = [&](const std::string& what, std::vector<std::string> argv,
                       double limit) -> Result<void> {
    argv.insert(argv.begin(), TORC_PROGRAM);
    TORC_ASSIGN(const Comparison c,
                compare(options.quick ? 3 : 15, failures.ask(std::move(argv)), version));
    table.add({fmt::format("torc {}, {} jobs / torc --version", what, jobs), show(c.measured),
               show(c.baseline), c.ratio,
               Floor{Floor::Kind::at_most, limit, fmt::format("<= {:g} ms", limit * 1e3)},
               c.measured.count()});
    return {};
  };
  TORC_TRY(add("status", {"status", "jobs.torc"}, 0.020));
  TORC_TRY(add("job NAME", {"job", "jobs.torc", fmt::format("run_{}", jobs / 2)}, 0.020));
  const double rows = static_cast<double>(failures.failed());
  return add(fmt::format("jobs --state failed ({} rows)", failures.failed()),
             {"jobs", "jobs.torc", "--state", "failed"}, 0.050 + 1e-6 * rows);
}

Result<void> measure(const Options& options, Table& table) {
  const std::uint64_t jobs = options.quick ? 100'000 : 1'000'000;
  Failures failures(options, jobs);
  TORC_TRY(failures.make());
  TORC_TRY(measure_questions(options, table, jobs, failures));
  TORC_ASSIGN(const Comparison c,
              compare(options.quick ? 2 : 7, failures.retry(), failures.nothing()));
  table.add(
      {fmt::format("torc retry --failed, {} of {} jobs / nothing to change", jobs / kEvery, jobs),
       show(c.measured), show(c.baseline), c.ratio, Floor{Floor::Kind::at_most, 0.3, "<= 0.3 s"},
       c.measured.count()});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
