#include "lib/claim/tables/gang_record.h"

#include <utility>

#include "lib/base/codec.h"

namespace torc::claim {
namespace {

constexpr unsigned kHasConfirmed = 1;
constexpr unsigned kHasLeft = 2;
constexpr unsigned kHasEnd = 4;
constexpr unsigned kLives = 8;
constexpr unsigned kSaved = 16;
constexpr unsigned kAll = kHasConfirmed | kHasLeft | kHasEnd | kLives | kSaved;

void put_member(Encoder& out, const GangMember& m) {
  out.varint(raw(m.worker)).text(m.node);
  out.u8(static_cast<std::uint8_t>((m.confirmed ? kHasConfirmed : 0U) | (m.left ? kHasLeft : 0U) |
                                   (m.end ? kHasEnd : 0U) | (m.lives ? kLives : 0U) |
                                   (m.saved ? kSaved : 0U)));
  if (!m.end) return;
  Job job;  // of which only this is kept
  job.outcome = *m.end;
  out.text(encode(job));
}

bool take_member(Decoder& in, GangMember& m) {
  m.worker = WorkerEpoch{in.varint()};
  m.node = in.text();
  const unsigned is = in.u8();
  m.confirmed = (is & kHasConfirmed) != 0;
  m.left = (is & kHasLeft) != 0;
  m.lives = (is & kLives) != 0;
  m.saved = (is & kSaved) != 0;
  if ((is & kHasEnd) != 0) {
    const auto job = decode_job(in.text());
    if (!job) return false;
    m.end = job->outcome;
  }
  return in.ok() && is <= kAll && (!m.saved || m.end);
}

}  // namespace

Key gang_key(const GangName& name) {
  return Key(Table::gang, name.job).be64(name.claim);
}

std::optional<GangName> gang_in(std::string_view key) {
  if (!is_in(Table::gang, key) || key.size() != 17) return std::nullopt;
  return GangName{number_at(key, 1, 8), number_at(key, 9, 8)};
}

std::string encode(const GangRecord& record) {
  const Gang& gang = record.gang;
  Encoder out;
  out.varint(record.changed).varint(gang.token.attempt).varint(gang.job_class);
  out.u8(static_cast<std::uint8_t>(gang.stage)).varint(gang.port).varint(gang.members.size());
  for (const GangMember& m : gang.members) put_member(out, m);
  return std::move(out).bytes();
}

std::optional<GangRecord> decode_gang(std::string_view key, std::string_view value) {
  const auto name = gang_in(key);
  if (!name) return std::nullopt;
  Decoder in(value);
  GangRecord record;
  Gang& gang = record.gang;
  record.changed = in.varint();
  gang.token = {JobId{name->job}, in.u32(), name->claim};
  gang.job_class = in.u32();
  const std::uint8_t stage = in.u8();
  gang.stage = static_cast<GangStage>(stage);
  gang.port = static_cast<std::uint16_t>(in.up_to(UINT16_MAX));
  const std::uint64_t members = in.varint();
  if (stage > static_cast<std::uint8_t>(kLastGangStage) || members < 2 || members > kMostGangNodes)
    return std::nullopt;
  for (std::uint64_t left = members; left > 0; --left) {
    if (!take_member(in, gang.members.emplace_back())) return std::nullopt;
  }
  return in.whole(std::move(record));
}

const std::string& name_of_node(const WorkerInfo& info) {
  return info.node_name.empty() ? info.host : info.node_name;
}

std::uint64_t hash_of_group(std::string_view group) {
  return name_hash(group);
}

Key node_key(const NodePlace& place, WorkerEpoch worker) {
  return Key(Table::node, place.group).be64(place.free_at).be64(raw(worker));
}

std::optional<ListedNode> node_in(std::string_view key) {
  if (!is_in(Table::node, key) || key.size() != 25) return std::nullopt;
  return ListedNode{{number_at(key, 1, 8), number_at(key, 9, 8)},
                    WorkerEpoch{number_at(key, 17, 8)}};
}

Key keep_key(std::uint64_t group) {
  return Key(Table::keeping, group);
}

Value encode(const Keep& keep) {
  return Value().varint(keep.job).varint(keep.job_class).varint(keep.until);
}

std::optional<Keep> decode_keep(std::string_view value) {
  Decoder in(value);
  Keep keep;
  keep.job = in.varint();
  keep.job_class = in.u32();
  keep.until = in.varint();
  return in.whole(keep);
}

Key kept_key(std::uint64_t job) {
  return Key(Table::kept_job, job);
}

std::string encode_kept(std::uint64_t group) {
  return Encoder().be64(group).bytes();
}

std::optional<std::uint64_t> decode_kept(std::string_view value) {
  Decoder in(value);
  return in.whole(in.be64());
}

}  // namespace torc::claim
