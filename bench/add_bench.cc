// What it costs to add 10,000 jobs, each of which waits for one that is there, to a workflow of
// 1,000,000 jobs: compared with a workflow of 10,000.
#include <fmt/format.h>

#include <string>

#include "bench/measure.h"

namespace torc::bench {
namespace {

constexpr int kAdded = 10'000;

class Workflow {
 public:
  Workflow(Path directory, std::uint64_t jobs) : directory_(std::move(directory)), jobs_(jobs) {}

  Result<void> make() {
    std::filesystem::create_directories(directory_);
    TORC_TRY(
        write_text(directory_ / "wf.yaml",
                   fmt::format("name: wf\njobs:\n  - {{name: \"work_{{i}}\", command: \"true\", "
                               "parameters: {{i: \"1:{}\"}}}}\n",
                               jobs_)));
    TORC_TRY(run_process({TORC_PROGRAM, "init", "wf.yaml"}, directory_));
    return {};
  }
  // Each round adds others.
  Round add() {
    return [this]() -> Result<Seconds> {
      TORC_TRY(write_text(
          directory_ / "more.yaml",
          fmt::format("jobs:\n  - {{name: \"more_{}_{{i}}\", command: \"true\", depends_on: "
                      "[\"work_{{i}}\"], parameters: {{i: \"1:{}\"}}}}\n",
                      ++round_, kAdded)));
      TORC_ASSIGN(const ProcessCost cost,
                  run_process({TORC_PROGRAM, "add", "wf.torc", "more.yaml"}, directory_));
      return cost.wall;
    };
  }

 private:
  Path directory_;
  std::uint64_t jobs_;
  int round_ = 0;
};

Result<void> measure(const Options& options, Table& table) {
  const std::uint64_t most = options.quick ? 100'000 : 1'000'000;
  Workflow large(options.scratch / "large", most);
  Workflow small(options.scratch / "small", kAdded);
  TORC_TRY(large.make());
  TORC_TRY(small.make());
  TORC_ASSIGN(const Comparison c, compare(options.quick ? 2 : 7, large.add(), small.add()));
  table.add({fmt::format("torc add of {} jobs to {} / to {}", kAdded, most, kAdded),
             show(c.measured),
             show(c.baseline),
             c.ratio,
             at_most(1.5),
             {}});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
