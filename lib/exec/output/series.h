// How jobs used memory, processors and files over time: in two append-only files a worker, read
// while they are written and after their writer was killed. docs/maintainer/execution.md has the
// format.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/activity.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/exec/output/output_disk.h"
#include "lib/exec/output/packed_format.h"

namespace torc::exec {

// Of the whole tree of a job, at one moment. Kept to the millisecond, KiB and hundredth of a
// second.
struct SeriesPoint {
  WallTime at{};
  ByteCount memory;
  std::chrono::microseconds cpu_time{};  // since the start, like what follows
  std::optional<Traffic> io;
  std::uint32_t processes = 0;
  auto operator<=>(const SeriesPoint&) const = default;
};

using SeriesNames = PackedNames;  // in a directory of their own
// Where series lie below a directory of job output.
[[nodiscard]] std::filesystem::path series_directory(const std::filesystem::path& output_directory);

class SeriesWriter {
 public:
  // Makes both files; the directory is there.
  static Result<std::unique_ptr<SeriesWriter>> create(OutputDisk& disk, const SeriesNames& names);
  ~SeriesWriter();
  SeriesWriter(const SeriesWriter&) = delete;
  SeriesWriter& operator=(const SeriesWriter&) = delete;

  // One write for all of them, and one into the index when an attempt is new. After an Error
  // nothing more can be added; what was added before is kept.
  Result<void> add(const std::vector<std::pair<AttemptKey, SeriesPoint>>& points);
  // No more of this attempt.
  void end(AttemptKey key);

 private:
  struct Track {
    std::uint64_t number = 0;
    SeriesPoint last;
  };
  SeriesWriter(OutputDisk& disk, SeriesNames names, int index, int data)
      : disk_(disk), names_(std::move(names)), index_(index), data_(data) {}
  static void put(std::string& payload, Track& track, const SeriesPoint& point);

  OutputDisk& disk_;
  SeriesNames names_;
  int index_;
  int data_;
  std::uint64_t index_size_ = 0;
  std::uint64_t data_size_ = 0;
  std::uint64_t last_track_ = 0;
  std::map<AttemptKey, Track> tracks_;
  std::string ended_;  // records that go with the next write
};

// nullopt: this worker has no series of that attempt. What was cut off at the end is left out.
// Below `root` (a store, or a directory of output) no link is followed.
Result<std::optional<std::vector<SeriesPoint>>> read_series(const beneath::Root& root,
                                                            const SeriesNames& names,
                                                            AttemptKey key);
// The worker that kept a series of the attempt, the newest if several did. Reads all indexes.
Result<std::optional<std::uint64_t>> series_worker(const beneath::Root& root,
                                                   const std::filesystem::path& directory,
                                                   AttemptKey key);

}  // namespace torc::exec
