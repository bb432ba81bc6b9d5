// Keeps what samples tell of a worker's running jobs, where the workflow asks for time series.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/exec/output/series.h"
#include "lib/workflow/context/context.h"

namespace torc::worker {

// Of one worker. Its files are made when the first point comes. Troubles are told once by `notice`,
// and no more is kept then; they are never those of a job.
class SeriesKeeper {
 public:
  // `root`: see output_root().
  SeriesKeeper(const exec::OutputRoot& root, const Path& output_dir, std::uint64_t worker,
               std::function<void(const std::string&)> notice);

  void add(const std::vector<std::pair<exec::AttemptKey, exec::SeriesPoint>>& points);
  void end(exec::AttemptKey key);

 private:
  Result<void> open();

  exec::SeriesNames names_;
  std::function<void(const std::string&)> notice_;
  exec::PosixOutputDisk disk_;
  std::unique_ptr<exec::SeriesWriter> writer_;
  bool given_up_ = false;
};

}  // namespace torc::worker
