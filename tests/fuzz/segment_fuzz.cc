// A segment: commit files one after the other, as they are, and with numbers, hashes and checksums
// that fit.
#include <optional>
#include <vector>

#include "lib/store/format/segment.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/one_file_disk.h"

namespace {

using namespace torc::store;

constexpr std::size_t kId = 8, kSequence = 24, kBefore = 32, kCrc = 4;

// The commits that stand one after the other, at most so many as a segment has.
std::vector<std::string_view> pieces(std::string_view bytes) {
  std::vector<std::string_view> out;
  while (out.size() < kLargeSegment) {
    const auto length = commit_length(bytes);
    if (!length || *length > bytes.size()) break;
    out.push_back(bytes.substr(0, *length));
    bytes.remove_prefix(*length);
  }
  return out;
}

// The same with the first one's store, numbers that count on, and hashes and checksums that are
// right.
std::string sealed(std::string_view bytes) {
  std::string out;
  StoreId id{};
  Hash128 before{};
  std::uint64_t number = 0;
  for (const std::string_view piece : pieces(bytes)) {
    std::string commit(piece);
    if (out.empty()) {
      (void)from_text(piece.substr(kId, 16), id);
      number = torc::fuzz::be64_at(piece, kSequence);
      (void)from_text(piece.substr(kBefore, 16), before);
    }
    commit.replace(kId, 16, as_text(id));
    torc::fuzz::put_be64(commit, kSequence, number++);
    commit.replace(kBefore, 16, as_text(before));
    torc::fuzz::put_be32(commit, commit.size() - kCrc,
                         crc32c(std::string_view(commit).substr(0, commit.size() - kCrc)));
    before = hash128(id, commit);
    out += commit;
  }
  return out;
}

bool continues(const StoreId& id, std::uint64_t first,
               const std::vector<std::string_view>& commits) {
  std::optional<Hash128> chain;
  for (const std::string_view bytes : commits) {
    const auto file = decode_commit(id, first++, bytes, "segment");
    if (!file.ok() || (chain && *chain != file->header.before)) return false;
    chain = file->after;
  }
  return true;
}

void check(std::string_view bytes) {
  const std::vector<std::string_view> commits = pieces(bytes);
  if (commits.empty()) return;
  StoreId id{};
  (void)from_text(commits.front().substr(kId, 16), id);
  // Far from the end of all numbers, which no store reaches.
  const std::uint64_t first = torc::fuzz::be64_at(commits.front(), kSequence) % (1ULL << 48);
  if (first == 0) return;
  std::size_t length = 0;
  for (const std::string_view commit : commits) length += commit.size();
  // Number 0 there is none: the segment of the first commits has one less.
  const SegmentName name =
      first == 1 ? SegmentName{0, commits.size() + 1} : SegmentName{first, commits.size()};
  const std::string_view whole = bytes.substr(0, length);
  const std::string_view last = commits.back();
  TORC_MUST(is_whole_segment(id, name, whole, last) == continues(id, first, commits));
  TORC_MUST(!is_whole_segment(id, name, whole.substr(0, length - 1), last));
  TORC_MUST(!is_whole_segment(id, name, std::string(whole) + "x", last));
  TORC_MUST(!is_whole_segment(id, name, whole, last.substr(1)));

  torc::fuzz::OneFileJournal only(id, name.text(), whole);
  SegmentReader segment_reader(only.journal);
  for (std::size_t i = 0; i < commits.size(); ++i)
    TORC_MUST(segment_reader.find(first + i) == commits[i]);
  TORC_MUST(!segment_reader.find(first + commits.size()));
}

void check_names(std::string_view text) {
  if (const auto name = segment_name_of(text)) {
    const auto again = segment_name_of(name->text());
    TORC_MUST(again && again->first == name->first && again->count == name->count);
    TORC_MUST(name->count > 0 && name->last() >= name->first);
  }
  if (const auto name = snapshot_name_of(text)) {
    const auto again = snapshot_name_of(name->text());
    TORC_MUST(again && again->sequence == name->sequence && again->chain == name->chain);
  }
  if (const auto number = number_of(text)) TORC_MUST(number_of(number_name(*number)) == number);
}

}  // namespace

TORC_FUZZ_TARGET(segment) {
  check(input);
  check(sealed(input));
  check_names(input);
}
