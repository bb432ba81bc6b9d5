// What a large sweep costs the commands that a user waits for: making the store of 100,000 jobs and
// asking for its state. Compared with the same commands on a workflow of one job, and with a
// command that does nothing.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "bench/measure.h"

namespace torc::bench {
namespace {

std::string sweep_spec() {
  return "name: sweep\n"
         "resource_requirements:\n"
         "  - name: small\n"
         "    num_cpus: 2\n"
         "    memory: 2g\n"
         "    runtime: PT30M\n"
         "jobs:\n"
         "  - name: run_{seed:04d}_{rate:.2f}\n"
         "    command: simulate --seed {seed} --rate {rate:.2f} --out out/{seed}_{rate:.2f}.csv\n"
         "    resource_requirements: small\n"
         "    parameters:\n"
         "      seed: \"1:1000\"\n"
         "      rate: \"0.01:1.0:0.01\"\n";
}

std::string single_spec() {
  return "name: single\njobs:\n  - name: run\n    command: simulate\n";
}

class Commands {
 public:
  explicit Commands(const Options& options) : directory_(options.scratch) {}

  Result<void> write() {
    TORC_TRY(write_text(directory_ / "sweep.yaml", sweep_spec()));
    return write_text(directory_ / "single.yaml", single_spec());
  }
  Round init(const std::string& name) {
    return [this, name]() -> Result<Seconds> {
      newest_[name] = fmt::format("{}-{}.torc", name, ++made_);
      return run({TORC_PROGRAM, "init", name + ".yaml", "--store", newest_[name]});
    };
  }
  Round status(const std::string& name) {
    return [this, name] { return run({TORC_PROGRAM, "status", newest_[name]}); };
  }
  Round version() {
    return [this] { return run({TORC_PROGRAM, "--version"}); };
  }
  // The largest since the last call.
  ByteCount take_peak() { return std::exchange(peak_, ByteCount{}); }

 private:
  Result<Seconds> run(const std::vector<std::string>& argv) {
    TORC_ASSIGN(const ProcessCost cost, run_process(argv, directory_));
    peak_ = std::max(peak_, cost.peak_memory);
    return cost.wall;
  }

  Path directory_;
  std::map<std::string, std::string> newest_;  // store of each workflow
  int made_ = 0;
  ByteCount peak_;
};

Result<void> measure(const Options& options, Table& table) {
  Commands commands(options);
  TORC_TRY(commands.write());
  const int inits = options.quick ? 2 : 7;
  const int statuses = options.quick ? 5 : 20;

  TORC_ASSIGN(const Comparison init,
              compare(inits, commands.init("sweep"), commands.init("single")));
  table.add({"torc init, 100,000 jobs / 1 job", show(init.measured), show(init.baseline),
             init.ratio, Floor{Floor::Kind::at_most, 1.0, "<= 1 s"}, init.measured.count()});

  (void)commands.take_peak();
  TORC_TRY(commands.init("single")());
  const ByteCount small = commands.take_peak();
  TORC_TRY(commands.init("sweep")());
  const ByteCount large = commands.take_peak();
  const auto bytes = [](ByteCount b) { return static_cast<double>(b.value); };
  table.add({"peak memory of torc init, 100,000 jobs / 1 job", show(large), show(small),
             bytes(large) / bytes(small),
             Floor{Floor::Kind::at_most, bytes(mebibytes(150)), "<= 150 MiB"}, bytes(large)});

  TORC_ASSIGN(const Comparison status,
              compare(statuses, commands.status("sweep"), commands.version()));
  table.add({"torc status, 100,000 jobs / torc --version", show(status.measured),
             show(status.baseline), status.ratio, Floor{Floor::Kind::at_most, 0.030, "<= 30 ms"},
             status.measured.count()});
  TORC_ASSIGN(const Comparison flat,
              compare(statuses, commands.status("sweep"), commands.status("single")));
  table.add({"torc status, 100,000 jobs / 1 job",
             show(flat.measured),
             show(flat.baseline),
             flat.ratio,
             {},
             {}});
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
