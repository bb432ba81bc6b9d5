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

}  // namespace torc::claim
