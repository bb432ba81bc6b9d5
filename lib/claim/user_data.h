// User data: small JSON values that jobs and people read and write, kept in the state itself, so
// that they are part of every commit, snapshot and backup. Names and values are within the limits
// of lib/base/limits.h. That a value is JSON is the caller's to see to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/claim/plan.h"
#include "lib/store/engine/transaction.h"

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

// Who sets a value: an attempt of a job, or a person (token.job 0).
struct Setter {
  ClaimToken token;
};

// To be called once, in the first commit of a store. `value` is not looked at: it begins as
// `initial`. Error invalid: a name twice, or something beyond its limit.
Result<void> write_user_data(store::Transaction& tx, const std::vector<UserDatum>& all);

// What a new version of the workflow file says: names that were not there yet; other initial
// values, which are the values from then on. Errors as of write_user_data().
Result<void> update_user_data(store::Transaction& tx, const std::vector<UserDatum>& all);

// What an addition to the workflow says: new ones, and who makes those that nobody made yet; of one
// with !is_declared that alone. What was made by `set` is declared from then on and keeps its
// value. Error invalid: it is declared already and begins with another value, or is not ephemeral.
Result<void> add_user_data(store::Transaction& tx, const std::vector<UserDatum>& all);

// Of a record that cannot be read: Error corrupt. nullopt: nobody has this name.
[[nodiscard]] Result<std::optional<UserDatum>> read_user_datum(const store::Reader& reader,
                                                               std::string_view name);
// In the order of their names. Error corrupt when a record cannot be read.
Result<void> scan_user_data(const store::Reader& reader,
                            const std::function<bool(const UserDatum&)>& visit);

enum class Create : std::uint8_t { no, yes };
// false: it holds that already. Errors: invalid (no such name, and Create::no; or too
// large); fenced (an attempt that does not have its job any more: what it says does not count).
Result<bool> set_user_datum(store::Transaction& tx, std::string_view name, std::string_view value,
                            Setter setter, Create create);
// A declared one holds nothing afterwards; one that was made by `set` is gone. false: it was so
// already. Error not_found.
Result<bool> delete_user_datum(store::Transaction& tx, std::string_view name);

// Of the jobs in the range; of JobId 0: what no job makes. One seek when there is none.
Result<void> clear_ephemeral(store::Transaction& tx, const JobRange& makers);

// As a Signature keeps it; 0: nothing.
[[nodiscard]] std::uint64_t user_data_mark(std::string_view value);

// The part of verify_state.
[[nodiscard]] Result<void> verify_user_data(const store::Reader& reader, std::uint64_t jobs);

}  // namespace torc::claim
