#include "lib/claim/tables/change_record.h"

#include <utility>

#include "lib/base/codec.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {
namespace {

enum ChangeFlag : unsigned { kTooLarge = 1, kUndone = 2 };

// Each begins where the one before ended, or later.
void put_disjoint(Encoder& out, const std::vector<JobRange>& ranges) {
  out.varint(ranges.size());
  std::uint64_t end = 0;
  for (const JobRange& range : ranges) {
    out.varint(raw(range.first) - end).varint(range.count);
    end = raw(range.first) + range.count;
  }
}

bool take_disjoint(Decoder& in, std::vector<JobRange>& ranges) {
  const std::uint64_t size = in.up_to(KeptChange::kMostRanges);
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t first = end + in.up_to(kMaxJobs);
    const std::uint64_t count = in.varint();
    if (!in.ok() || !are_jobs(first, count)) return false;
    ranges.push_back({JobId{first}, count});
    end = first + count;
  }
  return in.ok();
}

}  // namespace

Key change_key(std::uint64_t number) {
  return {Table::change, number};
}

Key before_change_key(std::uint64_t number) {
  return Key(Table::change, number).be32(0);
}

std::string encode(const KeptChange& change) {
  const bool undone = change.undone_at != WallTime{};
  Encoder out;
  out.u8(
      static_cast<std::uint8_t>((change.is_too_large ? kTooLarge : 0U) | (undone ? kUndone : 0U)));
  out.varint(change.sequence).svarint(in_reach(change.at).count());
  out.svarint(in_reach(change.asked_at).count()).text(change.by).text(change.words);
  out.varint(change.jobs).varint(change.bytes);
  if (undone) out.svarint(in_reach(change.undone_at).count()).text(change.undone_by);
  put_disjoint(out, change.ranges);
  put_disjoint(out, change.lost);
  put_disjoint(out, change.regained);
  return std::move(out).bytes();
}

std::optional<KeptChange> decode_change(std::string_view key, std::string_view value) {
  const auto number = id_in(Table::change, key);
  if (!number || *number == 0) return {};
  Decoder in(value);
  KeptChange change;
  change.number = *number;
  const unsigned flags = in.u8();
  change.is_too_large = (flags & kTooLarge) != 0;
  change.sequence = in.varint();
  change.at = in.wall_time();
  change.asked_at = in.wall_time();
  change.by = in.text();
  change.words = in.text();
  change.jobs = in.varint();
  change.bytes = in.varint();
  if ((flags & kUndone) != 0) {
    change.undone_at = in.wall_time();
    change.undone_by = in.text();
  }
  if (!take_disjoint(in, change.ranges) || !take_disjoint(in, change.lost) ||
      !take_disjoint(in, change.regained))
    return {};
  if (flags > (kTooLarge | kUndone) || change.jobs > kMaxJobs) return {};
  return in.whole(std::move(change));
}

std::uint64_t newest_change(const Reader& reader) {
  // Each is a commit, so that there are no more of them: what says otherwise is none.
  const std::uint64_t commits = reader.sequence();
  const auto last =
      reader.seek_before(Key(Table::change, commits == UINT64_MAX ? commits : commits + 1));
  return last && is_in(Table::change, last->key) && last->key.size() > sizeof(std::uint64_t)
             ? number_at(last->key, 1, sizeof(std::uint64_t))
             : 0;
}

Result<std::optional<KeptChange>> read_change(const Reader& reader, std::uint64_t number) {
  const Key key = change_key(number);
  const auto value = reader.get(key);
  if (!value) return std::optional<KeptChange>();
  auto change = decode_change(key, *value);
  if (!change) {
    State state(reader);
    state.damaged(key);
    TORC_TRY(state.sound());
  }
  return change;
}

Result<void> scan_changes(const Reader& reader,
                          const std::function<bool(const KeptChange&)>& visit) {
  for (std::uint64_t number = newest_change(reader); number > 0; --number) {
    TORC_ASSIGN(const auto change, read_change(reader, number));
    if (!change || !visit(*change)) break;
  }
  return {};
}

}  // namespace torc::claim
