// What torc exec writes of each job that has ended, beside what it passes on: --joblog and
// --results, as GNU parallel writes them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bin/app.h"
#include "bin/commands/exec/options.h"
#include "bin/commands/exec/values.h"
#include "lib/base/file/beneath.h"
#include "lib/report/job_output.h"
#include "lib/worker/loop/worker.h"

namespace torc::cli {

// Below --results: "1/a/2/b/" of the values a and b.
[[nodiscard]] std::string results_place(const ExecValues& values);

class ExecRecord {
 public:
  // Of the files those of --joblog is made by now, anew or, with --resume, to go on with. Error
  // (invalid): it cannot be written. `directory`: where the worker puts output.
  static Result<ExecRecord> open(const App& app, const ExecOptions& options);

  void started(const worker::PreparedJob& job);
  void ended(const worker::JobEnd& job, const Path& directory);

 private:
  struct Close {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
  };
  struct Started {
    std::string command;
    ExecValues values;
  };
  explicit ExecRecord(const App& app) : app_(&app) {}
  void write_line(const worker::JobEnd& job, const std::string& command, std::uint64_t bytes);
  void write_results(const report::AttemptOutput& output, const Started& started);
  [[nodiscard]] Result<void> save(const report::AttemptOutput& output, exec::Stream stream,
                                  const Path& file);
  [[nodiscard]] Result<std::unique_ptr<std::FILE, Close>> make_file(const Path& file) const;
  void complain(const Path& file, std::string_view why);

  const App* app_;
  std::string log_name_;
  std::unique_ptr<std::FILE, Close> log_;
  std::unique_ptr<beneath::Root> results_;  // null: none are wanted
  std::map<JobId, Started> running_;
  report::OutputReader reader_;
  bool complained_ = false;
};

}  // namespace torc::cli
