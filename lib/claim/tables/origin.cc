#include "lib/claim/tables/origin.h"

#include "lib/base/codec.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

Result<std::optional<Origin>> read_origin(const Reader& reader, JobId id) {
  const auto e = reader.seek_before(Key(Table::addition, raw(id) + 1));
  // The key of the table alone counts the additions.
  if (!e || !is_in(Table::addition, e->key) || e->key.size() == 1) return std::optional<Origin>();
  auto origin = decode_origin(e->key, e->value);
  if (!origin) {
    State state(reader);
    state.damaged(e->key);
    TORC_TRY(state.sound());
  }
  if (raw(id) - raw(origin->jobs.first) >= origin->jobs.count) origin.reset();
  return origin;
}

Result<std::uint64_t> first_addition(const Reader& reader, std::uint64_t jobs) {
  const Key key(Table::addition);
  const auto value = reader.get(key);
  if (!value) return jobs + 1;
  const auto additions = decode_additions(*value);
  if (!additions) {
    State state(reader);
    state.damaged(key);
    TORC_TRY(state.sound());
  }
  return additions->count == 0 ? jobs + 1 : additions->first;
}

std::string encode(const Origin& origin) {
  Encoder out;
  out.varint(origin.jobs.count).varint(raw(origin.parent)).varint(origin.attempt);
  out.varint(origin.depth).varint(raw(origin.root)).svarint(in_reach(origin.at).count());
  out.text(origin.by).text(origin.state);
  return std::move(out).bytes();
}

std::optional<Origin> decode_origin(std::string_view key, std::string_view value) {
  const auto first = id_in(Table::addition, key);
  if (!first) return {};
  Decoder in(value);
  Origin origin;
  origin.jobs = {JobId{*first}, in.varint()};
  if (!are_jobs(*first, origin.jobs.count)) return {};
  origin.parent = JobId{in.varint()};
  origin.attempt = in.u32();
  origin.depth = in.u32();
  origin.root = JobId{in.varint()};
  origin.at = in.wall_time();
  origin.by = in.text();
  origin.state = in.text();
  return in.whole(std::move(origin));
}

std::optional<Additions> decode_additions(std::string_view value) {
  Decoder in(value);
  Additions additions;
  additions.count = in.varint();
  additions.first = in.varint();
  return in.whole(additions);
}

}  // namespace torc::claim
