#include "lib/workflow/change/job_number_map.h"

#include <algorithm>

namespace torc::workflow {

std::vector<JobNumberMap::Piece> JobNumberMap::pieces(const claim::JobRange& here) const {
  std::vector<Piece> found;
  std::uint64_t at = raw(here.first);
  const std::uint64_t end = at + here.count;
  auto entry = std::upper_bound(entries_.begin(), entries_.end(), at,
                                [](std::uint64_t id, const Entry& e) { return id < e.here; });
  if (entry != entries_.begin()) --entry;
  for (; entry != entries_.end() && at < end; ++entry) {
    const std::uint64_t to = std::min(end, entry->here + entry->count);
    if (to <= at) continue;
    found.push_back({{JobId{entry->there + (at - entry->here)}, to - at}, entry->is_new});
    at = to;
  }
  return found;
}

std::vector<claim::JobRange> JobNumberMap::numbers_of(
    const std::vector<claim::JobRange>& here) const {
  std::vector<claim::JobRange> there;
  for (const claim::JobRange& range : here) {
    for (const Piece& piece : pieces(range)) there.push_back(piece.jobs);
  }
  return joined(std::move(there));
}

JobId JobNumberMap::number_of(JobId here) const {
  if (raw(here) == 0) return here;
  const auto found = pieces({here, 1});
  return found.empty() ? JobId{} : found.front().jobs.first;
}

std::vector<claim::JobRange> joined(std::vector<claim::JobRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const claim::JobRange& a, const claim::JobRange& b) { return a.first < b.first; });
  std::vector<claim::JobRange> out;
  for (const claim::JobRange& r : ranges) {
    if (!out.empty() && raw(out.back().first) + out.back().count == raw(r.first)) {
      out.back().count += r.count;
    } else {
      out.push_back(r);
    }
  }
  return out;
}

}  // namespace torc::workflow
