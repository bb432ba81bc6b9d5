// What additions to a workflow refer to by name besides its jobs (Definition of plan.h): keys and
// reading.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

[[nodiscard]] std::optional<std::string> read_definition(const Reader& reader,
                                                         std::string_view key);
// The last definition whose key is at most `key` and begins with `prefix`.
[[nodiscard]] std::optional<Definition> definition_up_to(const Reader& reader,
                                                         std::string_view prefix,
                                                         std::string_view key);
void scan_definitions(const Reader& reader, std::string_view prefix,
                      const std::function<bool(const Definition&)>& visit);

[[nodiscard]] std::string definition_key(std::string_view key);
// Of the table's own key: how many there are.
[[nodiscard]] std::optional<std::uint64_t> decode_definition_count(std::string_view value);

}  // namespace torc::claim
