// Commit files one after the other in one file, byte for byte as they were published, so that
// whoever is far behind need not open each:
//
//   segment/000000000064-16   commits 64 … 79, written by the author of 79
//   segment/000000000064-64   commits 64 … 127, written by the author of 127
//
// Nothing hangs on them. What they contain is checked as the single files are: store id, number,
// CRC, and the hash of the commit before. One that is missing, cut off or damaged costs speed. A
// name is never written twice with different bytes, so it does not matter who writes it, or how
// often.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/store/format/journal.h"

namespace torc::store {

inline constexpr std::uint64_t kSmallSegment = 16;
inline constexpr std::size_t kMostSegment = std::size_t{16} << 20;  // bytes
inline constexpr std::uint64_t kLargeSegment = kPerDirectory;

// The segment that ends with `sequence`; nullopt: none does.
[[nodiscard]] std::optional<SegmentName> segment_ending_at(std::uint64_t sequence);

// Whether `bytes` are all commits of the segment, each continuing the one before, and the last one
// is `last`, byte for byte.
[[nodiscard]] bool is_whole_segment(const StoreId& store, const SegmentName& name,
                                    std::string_view bytes, std::string_view last);

// Finds commit files in segments, for a reader that goes through them in order: holds one segment
// in memory at a time.
class SegmentReader {
 public:
  // Without segments when the directory cannot be listed.
  explicit SegmentReader(Journal& journal);

  // The bytes of a commit, not yet checked; valid until the next call. nullopt: no segment has it.
  std::optional<std::string_view> find(std::uint64_t sequence);

 private:
  bool load(const SegmentName& name);

  Journal* journal_;
  std::vector<SegmentName> names_;  // ascending; those that turned out useless are taken out
  std::string bytes_;
  std::map<std::uint64_t, std::string_view> commits_;  // in bytes_
};

}  // namespace torc::store
