// What the jobs of torc exec print, as it is passed on: each job's output whole, after its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bin/app.h"
#include "bin/commands/run/progress.h"
#include "lib/report/job_output.h"
#include "lib/worker/loop/worker.h"

namespace torc::cli {

// `directory`: where the worker puts output.
[[nodiscard]] report::AttemptOutput output_of(const worker::JobEnd& job, const Path& directory);

class ExecOutput {
 public:
  struct Style {
    bool quiet = false;       // nothing is passed on
    bool keep_order = false;  // in the order of the jobs, not of their ends
    bool tag = false;         // the label and a tab before each line
  };
  // `over`: by number, jobs that ended earlier and are not waited for by keep_order.
  ExecOutput(const App& app, Progress& progress, Path directory, Style style,
             std::vector<bool> over)
      : app_(app),
        progress_(progress),
        directory_(std::move(directory)),
        style_(style),
        over_(std::move(over)) {}

  void ended(const worker::JobEnd& job);
  // What waits for jobs that ended elsewhere, or did not end.
  void flush();
  // Why stdout cannot be written any more, an errno: EPIPE, nobody reads it. 0: it can.
  [[nodiscard]] int closed_by() const { return closed_by_; }

 private:
  void print(const worker::JobEnd& job);
  void copy(const worker::JobEnd& job, exec::Stream stream, const std::string& tag);
  void write(std::string_view text, std::FILE* to);
  void note_closed();

  const App& app_;
  Progress& progress_;
  Path directory_;
  report::OutputReader reader_;
  Style style_;
  std::vector<bool> over_;
  std::uint64_t next_ = 1;                         // with keep_order: the job that is printed next
  std::map<std::uint64_t, worker::JobEnd> waits_;  // ended before an earlier one
  int closed_by_ = 0;
};

}  // namespace torc::cli
