// What large workflow files cost the commands that people wait for: whole processes, beside `seq N
// | wc` for the sweeps, which is about the least that anybody could do with N names.
#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "bench/measure.h"

namespace torc::bench {
namespace {

std::string sweep(std::uint64_t jobs) {
  return fmt::format(
      "name: sweep{0}\njobs:\n  - name: run_{{i}}\n    command: simulate --seed {{i}}\n"
      "    parameters:\n      i: \"1:{0}\"\n",
      jobs);
}

std::string all_to_all() {
  return "name: all\njobs:\n"
         "  - {name: \"first_{i}\", command: \"a {i}\", parameters: {i: \"1:10000\"}}\n"
         "  - name: second_{i}\n    command: b {i}\n    parameters: {i: \"1:10000\"}\n"
         "    depends_on_regexes: [\"^first_\"]\n"
         "  - {name: gather, command: c, depends_on_regexes: [\"^second_\"]}\n";
}

std::string random_dag() {
  std::mt19937 random(20);
  std::string text = "name: dag\njobs:\n";
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    text += fmt::format("  - name: job_{0}\n    command: run {0}\n", i);
    if (i < 3) continue;
    text += fmt::format("    depends_on: [job_{}, job_{}, job_{}]\n", random() % i, random() % i,
                        random() % i);
  }
  return text;
}

// Five stages of a thousand, each waiting for all of the one before by expression.
std::string barriers() {
  std::string text = "name: barriers\njobs:\n";
  for (int k = 1; k <= 5; ++k) {
    text += fmt::format(
        "  - name: stage{}_{{i}}\n    command: \"true\"\n    parameters: {{i: \"1:1000\"}}\n", k);
    if (k > 1) text += fmt::format("    depends_on_regexes: [\"^stage{}_\"]\n", k - 1);
  }
  return text;
}

// 50,000 lines; the last job names one that is not there.
std::string long_spec() {
  std::string text = "name: long\njobs:\n";
  for (int i = 0; i < 12'500; ++i) {
    text += fmt::format(
        "  - name: job_{0}\n    command: run {0}\n    priority: {0}\n    depends_on: [{1}]\n", i,
        i == 0 ? "" : fmt::format("job_{}", i - 1));
  }
  return text + "  - {name: last, command: run, depends_on: [jobb_7]}\n";
}

class Bench {
 public:
  Bench(const Options& options, Table& table)
      : directory_(options.scratch), rounds_(options.quick ? 1 : 5), table_(table) {}

  Result<void> init(const std::string& figure, const std::string& name, const std::string& text,
                    const std::vector<std::string>& beside, Floor floor) {
    TORC_TRY(write_text(directory_ / (name + ".yaml"), text));
    peak_ = {};
    const auto round = [&]() -> Result<Seconds> {
      store_ = fmt::format("{}-{}.torc", name, ++made_);
      return run({TORC_PROGRAM, "init", name + ".yaml", "--store", store_});
    };
    return add(figure, round, beside, std::move(floor));
  }

  // `mistakes`: the exit code is 2 then, which the shell turns into 0.
  Result<void> check(const std::string& figure, const std::string& name, const std::string& text,
                     Floor floor) {
    TORC_TRY(write_text(directory_ / (name + ".yaml"), text));
    const std::string line =
        fmt::format("{} check {}.yaml 2>/dev/null; test $? = 2", std::string(TORC_PROGRAM), name);
    const auto round = [&, line] { return run({"/bin/sh", "-c", line}); };
    return add(figure, round, {"/bin/sh", "-c", fmt::format("cat {}.yaml | wc", name)},
               std::move(floor));
  }

  void peak(const std::string& figure, double limit, const std::string& text) {
    table_.add({figure,
                show(peak_),
                "-",
                {},
                Floor{Floor::Kind::at_most, limit, text},
                static_cast<double>(peak_.value)});
  }

  Result<void> store_size(const std::string& figure, double limit, const std::string& text) {
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(directory_ / store_, error)) {
      if (entry.is_regular_file(error)) bytes += entry.file_size(error);
    }
    table_.add({figure,
                show(ByteCount{bytes}),
                "-",
                {},
                Floor{Floor::Kind::at_most, limit, text},
                static_cast<double>(bytes)});
    return {};
  }

 private:
  Result<Seconds> run(const std::vector<std::string>& argv) {
    TORC_ASSIGN(const ProcessCost cost, run_process(argv, directory_));
    peak_ = std::max(peak_, cost.peak_memory);
    return cost.wall;
  }

  Result<void> add(const std::string& figure, const Round& round,
                   const std::vector<std::string>& beside, Floor floor) {
    const Round baseline = [&]() -> Result<Seconds> {
      TORC_ASSIGN(const ProcessCost cost, run_process(beside, directory_));
      return cost.wall;
    };
    TORC_ASSIGN(const Comparison c, compare(rounds_, round, baseline));
    table_.add({figure, show(c.measured), show(c.baseline), c.ratio, std::move(floor),
                c.measured.count()});
    return {};
  }

  Path directory_;
  int rounds_;
  Table& table_;
  std::string store_;
  int made_ = 0;
  ByteCount peak_;
};

Floor seconds(double limit) {
  return {Floor::Kind::at_most, limit, fmt::format("<= {:g} s", limit)};
}

std::vector<std::string> shell(const std::string& line) {
  return {"/bin/sh", "-c", line};
}

double mebi(double n) {
  return n * 1024 * 1024;
}

Result<void> measure(const Options& options, Table& table) {
  Bench bench(options, table);
  const std::vector<std::string> nothing{TORC_PROGRAM, "--version"};
  TORC_TRY(bench.init("init, sweep of 1,000,000 / seq | wc", "million", sweep(1'000'000),
                      shell("seq 1000000 | wc"), seconds(2)));
  bench.peak("  its peak memory", mebi(200), "<= 200 MiB");
  TORC_TRY(bench.store_size("  its store", mebi(64), "<= 64 MiB"));
  TORC_TRY(bench.init("init, 10,000 to 10,000 by regex and a fan-in / torc --version", "all",
                      all_to_all(), nothing, seconds(1)));
  TORC_TRY(bench.store_size("  its store", mebi(1), "<= 1 MiB"));
  TORC_TRY(bench.init("init, 100,000 jobs with 300,000 edges by name / torc --version", "dag",
                      random_dag(), nothing, seconds(2)));
  TORC_TRY(bench.init("init, 5 stages of 1,000 with barriers by regex / torc --version", "barriers",
                      barriers(), nothing, seconds(1)));
  TORC_TRY(bench.check("check, 50,000 lines with one mistake at the end / cat | wc", "long",
                       long_spec(), seconds(1)));
  if (options.quick) return {};
  TORC_TRY(bench.init("init, sweep of 10,000,000 / seq | wc", "tenmillion", sweep(10'000'000),
                      shell("seq 10000000 | wc"), seconds(25)));
  bench.peak("  its peak memory", mebi(500), "<= 500 MiB");
  return {};
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
