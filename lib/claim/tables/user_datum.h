// One of the user data (user_data.h): how it is written and read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/claim/tables/transaction.h"

namespace torc::claim {

struct UserDatum {
  std::string name;
  std::string value;          // JSON text; empty: nothing
  std::string initial;        // what it held at first
  bool is_declared = true;    // by the workflow file; others were made by `torc data set --create`
  bool is_ephemeral = false;  // reset to `initial` with the job that makes it
  JobId maker{};              // the job that outputs it; 0: none
  std::uint64_t changed = 0;  // commit that set it last; 0: the first one of the store
  JobId by{};                 // the job that did; 0: a person, or nobody
  bool operator==(const UserDatum&) const = default;
};

// Of a record that cannot be read: Error corrupt. nullopt: nobody has this name.
[[nodiscard]] Result<std::optional<UserDatum>> read_user_datum(const Reader& reader,
                                                               std::string_view name);
// In the order of their names. Error corrupt when a record cannot be read.
Result<void> scan_user_data(const Reader& reader,
                            const std::function<bool(const UserDatum&)>& visit);

// As a Signature keeps it; 0: nothing.
[[nodiscard]] std::uint64_t user_data_fingerprint(std::string_view value);

// --- as written ---

[[nodiscard]] std::string user_data_key(std::string_view name);
// Where an ephemeral one is listed with the job that makes it, or 0.
[[nodiscard]] std::string ephemeral_key(JobId maker, std::string_view name);
[[nodiscard]] std::string encode(const UserDatum& datum);
[[nodiscard]] std::optional<UserDatum> decode_user_datum(std::string_view key,
                                                         std::string_view value);
// How many there are, as it is counted.
[[nodiscard]] std::uint64_t count_user_data(const Reader& reader);
// Error invalid: beyond a limit of lib/base/limits.h.
[[nodiscard]] Result<void> check_user_datum(std::string_view name, std::string_view value);

}  // namespace torc::claim
