// torc exec beside xargs: the same commands, two at a time, from the same file. What torc exec does
// besides is to make a store, to record every start and end durably, and to keep the output.
#include <fmt/format.h>

#include "bench/measure.h"

namespace torc::bench {
namespace {

class Exec {
 public:
  Exec(const Options& options, std::string command)
      : directory_(options.scratch),
        jobs_(options.quick ? 500 : 5000),
        rounds_(options.quick ? 2 : 3),
        command_(std::move(command)) {}

  Result<void> write() {
    std::string lines;
    for (int i = 0; i < jobs_; ++i) lines += fmt::format("{}\n", i);
    return write_text(directory_ / "lines", lines);
  }
  Result<void> measure(Table& table, const std::string& what, Floor floor) {
    TORC_ASSIGN(const Comparison c, compare(rounds_, torc(), xargs()));
    table.add({fmt::format("torc exec of {} {}, 2 at a time / xargs -P2", jobs_, what),
               show(c.measured), show(c.baseline), c.ratio, std::move(floor), c.ratio});
    return {};
  }

 private:
  Round torc() {
    return [this]() -> Result<Seconds> {
      const std::string store =
          fmt::format("exec-{}-{}", Path(command_).filename().string(), ++made_);
      TORC_ASSIGN(const ProcessCost cost, run_process({TORC_PROGRAM, "exec", "-j2", "-c", command_,
                                                       "-a", "lines", "--store", store},
                                                      directory_));
      return cost.wall;
    };
  }
  Round xargs() {
    return [this]() -> Result<Seconds> {
      TORC_ASSIGN(
          const ProcessCost cost,
          run_process({"/bin/sh", "-c", "xargs -P2 -n1 " + command_ + " < lines"}, directory_));
      return cost.wall;
    };
  }

  Path directory_;
  int jobs_;
  int rounds_;
  std::string command_;
  int made_ = 0;
};

Result<void> measure(const Options& options, Table& table) {
  // /bin/true, with its value as an argument, as xargs starts it: neither needs a shell.
  Exec quiet(options, "/bin/true");
  TORC_TRY(quiet.write());
  TORC_TRY(quiet.measure(table, "`true`", {}));
  Exec loud(options, "/bin/echo");
  return loud.measure(table, "`echo` with their output", {});
}

}  // namespace
}  // namespace torc::bench

int main(int argc, char** argv) {
  return torc::bench::run_benchmark(argc, argv, torc::bench::measure);
}
