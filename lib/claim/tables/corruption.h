// What is said of tables that cannot be read or contradict themselves.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/claim/tables/tables.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

[[nodiscard]] Error wrong(std::string what);
[[nodiscard]] std::string show_key(std::string_view key);
[[nodiscard]] Error unreadable(std::string_view key);

// Visits a table in key order; an Error of `visit` ends it.
template <class Visit>
Result<void> each(const Reader& reader, Table table, const Visit& visit) {
  Result<void> result;
  reader.scan_prefix(Key(table), [&](const store::Entry& e) {
    result = visit(e);
    return result.ok();
  });
  return result;
}

// The same of a table of one record for each id. What cannot be read ends it.
template <class Decode, class Visit>
Result<void> each_record(const Reader& reader, Table table, const Decode& decode,
                         const Visit& visit) {
  return each(reader, table, [&](const store::Entry& e) -> Result<void> {
    const auto id = id_in(table, e.key);
    auto record = decode(e.value);
    if (!id || !record) return unreadable(e.key);
    return visit(*id, *record);
  });
}

[[nodiscard]] std::uint64_t count_entries(const Reader& reader, Table table);

}  // namespace torc::claim
