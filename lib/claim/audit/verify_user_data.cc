#include "lib/claim/audit/verify_parts.h"

#include <fmt/format.h>

#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/user_datum.h"

namespace torc::claim {

Result<void> audit_user_data(const Reader& reader, std::uint64_t jobs) {
  std::uint64_t there = 0;
  std::uint64_t ephemeral = 0;
  TORC_TRY(each(reader, Table::user_data, [&](const store::Entry& e) -> Result<void> {
    if (e.key.size() == 1) return {};  // the count
    const auto datum = decode_user_datum(e.key, e.value);
    if (!datum) return unreadable(e.key);
    ++there;
    if (raw(datum->maker) > jobs || raw(datum->by) > jobs || datum->changed > reader.sequence() ||
        !check_user_datum(datum->name, datum->value)) {
      return wrong(fmt::format("user data '{}' has impossible numbers", datum->name));
    }
    if (!datum->is_ephemeral) return {};
    ++ephemeral;
    if (reader.get(ephemeral_key(datum->maker, datum->name))) return {};
    return wrong(fmt::format("user data '{}' is not listed with its job", datum->name));
  }));
  if (there != count_user_data(reader)) {
    return wrong(
        fmt::format("{} user data are counted where {} are", count_user_data(reader), there));
  }
  if (count_entries(reader, Table::ephemeral) != ephemeral)
    return wrong("user data is listed as ephemeral that is not");
  return {};
}

}  // namespace torc::claim
