#include "lib/claim/tables/retired_record.h"

#include "lib/base/codec.h"
#include "lib/claim/tables/state.h"

namespace torc::claim {

std::string encode(const Retired& retired) {
  Encoder out;
  out.be64(retired.definition).be64(retired.upstream).text(std::string_view(encode(retired.job)));
  return std::move(out).bytes();
}

std::optional<Retired> decode_retired(std::string_view value) {
  Decoder in(value);
  Retired retired;
  retired.definition = in.be64();
  retired.upstream = in.be64();
  const auto job = decode_job(in.text());
  if (!job || job->state != JobState::completed || !in.is_whole()) return {};
  retired.job = *job;
  return retired;
}

Result<std::optional<Retired>> read_retired(const Reader& reader, JobId id) {
  const auto value = reader.get(Key(Table::retired, raw(id)));
  if (!value) return std::optional<Retired>();
  auto retired = decode_retired(*value);
  if (!retired) {
    State state(reader);
    state.damaged(Key(Table::retired, raw(id)));
    TORC_TRY(state.sound());
  }
  return retired;
}

}  // namespace torc::claim
