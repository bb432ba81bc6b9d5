#include "lib/store/format/segment.h"

#include <algorithm>

namespace torc::store {

std::optional<SegmentName> segment_ending_at(std::uint64_t sequence) {
  if ((sequence + 1) % kLargeSegment == 0)
    return SegmentName{sequence + 1 - kLargeSegment, kLargeSegment};
  if ((sequence + 1) % kSmallSegment == 0)
    return SegmentName{sequence + 1 - kSmallSegment, kSmallSegment};
  return std::nullopt;
}

bool is_whole_segment(const StoreId& store, const SegmentName& name, std::string_view bytes,
                      std::string_view last) {
  std::optional<Hash128> chain;
  std::string_view newest;
  for (std::uint64_t n = std::max<std::uint64_t>(name.first, 1); n <= name.last(); ++n) {
    const auto length = commit_length(bytes);
    if (!length || *length > bytes.size()) return false;
    newest = bytes.substr(0, *length);
    bytes.remove_prefix(*length);
    const Result<CommitFile> file = decode_commit(store, n, newest, {});
    if (!file.ok() || (chain && file->header.before != *chain)) return false;
    chain = file->after;
  }
  return bytes.empty() && newest == last;
}

SegmentReader::SegmentReader(Journal& journal) : journal_(&journal) {
  Result<std::vector<SegmentName>> names = journal.segments();
  if (names.ok()) names_ = std::move(*names);
}

std::optional<std::string_view> SegmentReader::find(std::uint64_t sequence) {
  for (;;) {
    if (const auto at = commits_.find(sequence); at != commits_.end()) return at->second;
    const auto better = [&](const SegmentName& a, const SegmentName& b) {
      return a.count < b.count;
    };
    auto best = names_.end();
    for (auto name = names_.begin(); name != names_.end(); ++name) {
      if (name->first <= sequence && sequence <= name->last() &&
          (best == names_.end() || better(*best, *name)))
        best = name;
    }
    if (best == names_.end()) return std::nullopt;
    const SegmentName name = *best;
    names_.erase(best);  // it is read once; a smaller one may do where it does not
    (void)load(name);
  }
}

// What comes after the first commit that is not whole is left out.
bool SegmentReader::load(const SegmentName& name) {
  Result<std::string> bytes =
      read_file(journal_->disk(), journal_->segment_path(name), kMostSegment);
  if (!bytes.ok()) return false;
  commits_.clear();
  bytes_ = std::move(*bytes);
  std::string_view rest = bytes_;
  for (std::uint64_t n = std::max<std::uint64_t>(name.first, 1); n <= name.last(); ++n) {
    const auto length = commit_length(rest);
    if (!length || *length > rest.size()) return false;
    commits_.emplace(n, rest.substr(0, *length));
    rest.remove_prefix(*length);
  }
  return true;
}

}  // namespace torc::store
