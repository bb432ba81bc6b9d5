// User data: small JSON values that jobs and people read and write, kept in the state itself, so
// that they are part of every commit, snapshot and backup. Names and values are within the limits
// of lib/base/limits.h. That a value is JSON is the caller's to see to.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/units.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/transaction.h"
#include "lib/claim/tables/user_datum.h"

namespace torc::claim {

// Who sets a value: an attempt of a job, or a person (token.job 0).
struct Setter {
  ClaimToken token;
};

// To be called once, in the first commit of a store. `value` is not looked at: it begins as
// `initial`. Error invalid: a name twice, or something beyond its limit.
Result<void> write_user_data(Transaction& tx, const std::vector<UserDatum>& all);

// What a new version of the workflow file says: names that were not there yet; other initial
// values, which are the values from then on. Errors as of write_user_data().
Result<void> update_user_data(Transaction& tx, const std::vector<UserDatum>& all);

// What an addition to the workflow says: new ones, and who makes those that nobody made yet; of one
// with !is_declared that alone. What was made by `set` is declared from then on and keeps its
// value. Error invalid: it is declared already and begins with another value, or is not ephemeral.
Result<void> add_user_data(Transaction& tx, const std::vector<UserDatum>& all);

enum class Create : std::uint8_t { no, yes };
// false: it holds that already. Errors: invalid (no such name, and Create::no; or too
// large); fenced (an attempt that does not have its job any more: what it says does not count).
Result<bool> set_user_datum(Transaction& tx, std::string_view name, std::string_view value,
                            Setter setter, Create create);
// A declared one holds nothing afterwards; one that was made by `set` is gone. false: it was so
// already. Error not_found.
Result<bool> delete_user_datum(Transaction& tx, std::string_view name);

// Of the jobs in the range; of JobId 0: what no job makes. One seek when there is none.
Result<void> clear_ephemeral(Transaction& tx, const JobRange& makers);

}  // namespace torc::claim
