// What the benchmarks share: a directory to work in, interleaved measurement, processes with their
// cost, and the table.
//
// A benchmark machine is noisy and two runs are never comparable, so a figure is always measured
// together with something that it is compared with: in turn, A B A B, in one run. Of each side the
// median is shown; the ratio is the median of the ratios of neighbours, which a disk that gets
// slower meanwhile leaves alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/path.h"
#include "lib/base/result.h"
#include "lib/base/units.h"

namespace torc::bench {

using Seconds = std::chrono::duration<double>;

struct Options {
  Path scratch;        // a fresh directory of this run, removed at its end
  bool quick = false;  // fewer and shorter rounds: to see that it works, not to quote
};

// A directory that nobody else uses, deleted with everything in it on scope exit.
class ScratchDirectory {
 public:
  static Result<ScratchDirectory> make(const Path& parent);
  ScratchDirectory(ScratchDirectory&& other) noexcept
      : root_(std::exchange(other.root_, {})), path_(std::move(other.path_)) {}
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();
  [[nodiscard]] const Path& path() const { return path_; }
  void keep() { root_.clear(); }  // leaves it to whoever wants it

 private:
  ScratchDirectory(Path root, Path path) : root_(std::move(root)), path_(std::move(path)) {}
  Path root_;
  Path path_;
};

[[nodiscard]] double median(std::vector<double> values);  // precondition: not empty

template <class Action>
Result<Seconds> timed(const Action& action) {
  const auto begun = std::chrono::steady_clock::now();
  TORC_TRY(action());
  return Seconds(std::chrono::steady_clock::now() - begun);
}

// One round of one side: the seconds for one unit of its work.
using Round = std::function<Result<Seconds>()>;

struct Comparison {
  Seconds measured{};
  Seconds baseline{};
  double ratio = 0;  // measured / baseline: above 1 is slower than the baseline
};
// `rounds` times each, in turn, after one of each that does not count.
Result<Comparison> compare(int rounds, const Round& measured, const Round& baseline);

struct ProcessCost {
  Seconds wall{};
  ByteCount peak_memory;  // resident
};
// Runs a program in `directory` with its output thrown away, to its end; an exit code other than 0
// is an Error. The kernel counts the memory of the program that started it as the child's up to
// exec, so a program that measures memory must itself stay small.
Result<ProcessCost> run_process(const std::vector<std::string>& argv, const Path& directory);

Result<void> write_text(const Path& file, const std::string& text);

[[nodiscard]] std::string show(Seconds time);  // with a unit that fits: "12.3 ms"
[[nodiscard]] std::string show(ByteCount bytes);
[[nodiscard]] std::string show_rate(double per_second);  // "123,000/s"

// What a figure must reach. `limit` is in the unit of what is judged; `text` is for the table.
struct Floor {
  enum class Kind : std::uint8_t { none, at_least, at_most };
  Kind kind = Kind::none;
  double limit = 0;
  std::string text;
  [[nodiscard]] bool holds(double value) const {
    return kind == Kind::none || (kind == Kind::at_least ? value >= limit : value <= limit);
  }
};
[[nodiscard]] Floor at_least(double ratio);
[[nodiscard]] Floor at_most(double ratio);

struct Row {
  std::string figure;
  std::string measured;
  std::string baseline;
  std::optional<double> ratio;
  Floor floor;
  std::optional<double> judged;  // what the floor is about when it is not the ratio
};

class Table {
 public:
  void add(Row row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool all_hold() const;
  // `aligned`: for people, with a heading; else tabs between the cells, without one.
  [[nodiscard]] std::string text(bool aligned) const;

 private:
  std::vector<Row> rows_;
};

// The main function of every benchmark: NAME [--quick] [--tsv] [DIRECTORY]. It works in a fresh
// directory inside DIRECTORY (default: the current one; it should be on a real disk) and prints the
// table. Exit status: 0 every floor holds, 1 one does not, 2 it could not be measured.
int run_benchmark(int argc, char** argv,
                  const std::function<Result<void>(const Options&, Table&)>& benchmark);

}  // namespace torc::bench
