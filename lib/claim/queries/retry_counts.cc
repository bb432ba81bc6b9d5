#include "lib/claim/queries/retry_counts.h"

#include <algorithm>

#include "lib/base/codec.h"
#include "lib/claim/queries/workers.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

std::string encode(const RetryCounts& counts) {
  Encoder out;
  out.varint(counts.since).varint(counts.by_rule.size());
  for (const std::uint32_t n : counts.by_rule) out.varint(n);
  if (counts.recoveries > 0) out.varint(counts.recoveries);
  return std::move(out).bytes();
}

std::optional<RetryCounts> decode_retries(std::string_view value) {
  Decoder in(value);
  RetryCounts counts;
  counts.since = in.u32();
  for (std::uint64_t n = in.varint(); n > 0 && in.ok(); --n) counts.by_rule.push_back(in.u32());
  if (in.ok() && !in.at_end()) {
    counts.recoveries = in.u32();
    if (counts.recoveries == 0) return std::nullopt;
  }
  return in.whole(std::move(counts));
}

std::optional<Handler> read_handler(const Reader& reader, const Template& of) {
  if (of.handler == 0) return std::nullopt;
  const auto value = reader.get(Key(Table::handler, of.handler));
  return value ? decode_handler(*value) : std::nullopt;
}

RetryCounts read_retries(const Reader& reader, JobId id, const Job& job) {
  const auto value = reader.get(Key(Table::retries, raw(id)));
  auto counts = value ? decode_retries(*value) : std::nullopt;
  if (!counts || counts->since != job.forgiven) return {job.forgiven, {}, 0};
  return *std::move(counts);
}

Result<ByteCount> memory_ceiling(const Reader& reader, const Handler& handler) {
  ByteCount most = handler.memory_ceiling;
  if (most.value > 0) return most;
  TORC_TRY(scan_workers(reader, true, [&](const Worker& worker) {
    most = std::max(most, worker.info.memory);
    return true;
  }));
  return most;
}

}  // namespace torc::claim
