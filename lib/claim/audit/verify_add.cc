#include <fmt/format.h>

#include "lib/claim/audit/verify_parts.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/definition.h"
#include "lib/claim/tables/origin.h"

namespace torc::claim {
namespace {

// The jobs from the first that was added on, each in one addition, by a job that was there before.
Result<void> audit_origins(const Reader& reader, std::uint64_t jobs) {
  Additions found;
  std::uint64_t next = 0;
  std::optional<Additions> listed;
  TORC_TRY(each(reader, Table::addition, [&](const store::Entry& e) -> Result<void> {
    if (e.key.size() == 1) {
      listed = decode_additions(e.value);
      return listed ? Result<void>() : unreadable(e.key);
    }
    const auto origin = decode_origin(e.key, e.value);
    if (!origin) return unreadable(e.key);
    const std::uint64_t first = raw(origin->jobs.first);
    if (found.count++ == 0) found.first = next = first;
    if (first != next || origin->jobs.count == 0) {
      return wrong(fmt::format("an addition begins at job {} where {} follows", first, next));
    }
    if (raw(origin->parent) >= first || raw(origin->root) >= first) {
      return wrong(fmt::format("job {} was added by a job that came after it", first));
    }
    next = first + origin->jobs.count;
    return {};
  }));
  const Additions told = listed.value_or(Additions{});
  if (told.count != found.count || told.first != found.first) {
    return wrong(fmt::format("{} additions are counted where {} are", told.count, found.count));
  }
  if (found.count > 0 && next != jobs + 1)
    return wrong(fmt::format("nobody knows where job {} comes from", next));
  return {};
}

}  // namespace

Result<void> audit_additions(const Reader& reader, std::uint64_t jobs) {
  TORC_TRY(audit_origins(reader, jobs));
  std::uint64_t told = 0;
  std::uint64_t found = 0;
  TORC_TRY(each(reader, Table::definition, [&](const store::Entry& e) -> Result<void> {
    if (e.key.size() > 1) return ++found, Result<void>();
    const auto count = decode_definition_count(e.value);
    if (!count) return unreadable(e.key);
    told = *count;
    return {};
  }));
  if (told == found) return {};
  return wrong(fmt::format("{} definitions are counted where {} are", told, found));
}

}  // namespace torc::claim
