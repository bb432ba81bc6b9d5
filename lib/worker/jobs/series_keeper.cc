#include "lib/worker/jobs/series_keeper.h"

#include <fmt/format.h>

namespace torc::worker {

SeriesKeeper::SeriesKeeper(const exec::OutputRoot& root, const Path& output_dir,
                           std::uint64_t worker, std::function<void(const std::string&)> notice)
    : names_{exec::series_directory(output_dir), worker}, notice_(std::move(notice)), disk_(root) {}

Result<void> SeriesKeeper::open() {
  if (writer_ != nullptr) return {};
  (void)disk_.make_directories(names_.directory);  // else the next step says why
  TORC_ASSIGN(writer_, exec::SeriesWriter::create(disk_, names_));
  return {};
}

void SeriesKeeper::add(const std::vector<std::pair<exec::AttemptKey, exec::SeriesPoint>>& points) {
  if (given_up_ || points.empty()) return;
  Result<void> added = open();
  if (added) added = writer_->add(points);
  if (added) return;
  given_up_ = true;
  notice_(fmt::format("no more time series of jobs are kept here: {}", added.error().what));
}

void SeriesKeeper::end(exec::AttemptKey key) {
  if (writer_ != nullptr) writer_->end(key);
}

}  // namespace torc::worker
