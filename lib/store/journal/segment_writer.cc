#include "lib/store/journal/segment_writer.h"

#include <algorithm>

#include "lib/store/format/segment.h"

namespace torc::store {

void SegmentWriter::write(const SegmentName& due) {
  const Result<std::string> bytes = commits_in(due);
  if (!bytes.ok() || bytes->empty()) return;
  const Path directory = journal_.segment_directory();
  if (!journal_.publisher().replace(directory, due.text(), *bytes).ok()) return;
  if (due.count != kLargeSegment || due.first < kPerDirectory) return;
  for (std::uint64_t first = due.first - kPerDirectory; first + kSmallSegment < due.first;
       first += kSmallSegment) {
    (void)journal_.disk().unlink(directory / SegmentName{first, kSmallSegment}.text());
  }
}

Result<std::string> SegmentWriter::commits_in(const SegmentName& name) {
  TORC_ASSIGN(const Txn txn, Txn::begin(replica_.environment(), Access::read));
  std::string out;
  for (std::uint64_t n = std::max<std::uint64_t>(name.first, 1); n <= name.last(); ++n) {
    if (const auto known = read_tail(txn, n)) {
      out += *known;
    } else {
      TORC_ASSIGN(const std::string bytes, journal_.read_bytes(n));
      if (bytes.size() > kMostSegment) return std::string();
      out += bytes;
    }
    if (out.size() > kMostSegment) return std::string();
  }
  return out;
}

bool SegmentWriter::have_whole(std::uint64_t first) {
  const SegmentName name{first, kLargeSegment};
  const Result<std::string> single = journal_.read_bytes(name.last());
  if (!single.ok() || single->size() > kMostSegment) return false;
  for (int tries = 0; tries < 2; ++tries) {
    const Result<std::string> bytes =
        read_file(journal_.disk(), journal_.segment_path(name), kMostSegment);
    if (bytes.ok() && is_whole_segment(journal_.id(), name, *bytes, *single)) return true;
    if (tries > 0) break;
    const Result<std::string> made = commits_in(name);
    // Single files may be strays: nothing goes over a segment that could not stand in itself.
    if (!made.ok() || !is_whole_segment(journal_.id(), name, *made, *single) ||
        !journal_.publisher().replace(journal_.segment_directory(), name.text(), *made).ok())
      break;
  }
  return false;
}

}  // namespace torc::store
