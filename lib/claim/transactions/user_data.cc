#include "lib/claim/transactions/user_data.h"

#include <fmt/format.h>

#include "lib/claim/queries/queries.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

void put_count(Transaction& tx, std::uint64_t count) {
  tx.put(Key(Table::user_data), Value().varint(count));
}

void put(Transaction& tx, const UserDatum& d) {
  tx.put(user_data_key(d.name), encode(d));
}

void put_value(Transaction& tx, UserDatum& datum, std::string_view value, JobId by) {
  datum.value = value;
  datum.changed = tx.sequence();
  datum.by = by;
  put(tx, datum);
}

// Writes what a new version or an addition makes of one, and where it is listed.
void replace(Transaction& tx, const std::optional<UserDatum>& before, const UserDatum& after) {
  if (before == after) return;
  if (before && before->is_ephemeral) tx.erase(ephemeral_key(before->maker, before->name));
  if (after.is_ephemeral) tx.put(ephemeral_key(after.maker, after.name), {});
  put(tx, after);
}

Error no_such(std::string_view name) {
  return Error{ErrorKind::invalid, fmt::format("there is no user data '{}'", name),
               "`torc data list` shows what there is"};
}

// The attempt must be the one that has the job.
Result<void> check_setter(const Reader& reader, Setter setter) {
  const ClaimToken& token = setter.token;
  if (raw(token.job) == 0 || is_held_by(reader, token)) return {};
  return Error{ErrorKind::fenced,
               fmt::format("attempt {} of job {} is not, or no longer, the one that counts",
                           token.attempt, raw(token.job)),
               "what it wanted to set was discarded"};
}

}  // namespace

Result<void> write_user_data(Transaction& tx, const std::vector<UserDatum>& all) {
  if (all.empty()) return {};
  for (const UserDatum& d : all) {
    TORC_TRY(check_user_datum(d.name, d.initial));
    if (tx.get(user_data_key(d.name)))
      return Error{ErrorKind::invalid, fmt::format("two user data are named '{}'", d.name), ""};
    UserDatum first = d;
    first.value = d.initial;
    replace(tx, std::nullopt, first);
  }
  put_count(tx, all.size());
  return {};
}

Result<void> update_user_data(Transaction& tx, const std::vector<UserDatum>& all) {
  std::uint64_t made = 0;
  for (const UserDatum& d : all) {
    TORC_TRY(check_user_datum(d.name, d.initial));
    TORC_ASSIGN(std::optional<UserDatum> before, read_user_datum(tx, d.name));
    if (!before) ++made;
    UserDatum after = before.value_or(UserDatum{});
    after.name = d.name;
    after.is_declared = true;
    after.is_ephemeral = d.is_ephemeral;
    after.maker = d.maker;
    if (!before || before->initial != d.initial) {
      after.initial = after.value = d.initial;
      after.changed = tx.sequence();
      after.by = JobId{};
    }
    replace(tx, before, after);
  }
  if (made > 0) put_count(tx, count_user_data(tx) + made);
  return {};
}

namespace {

Result<void> check_same(const UserDatum& there, const UserDatum& here) {
  if (!there.is_declared || !here.is_declared) return {};
  const bool same_value = here.initial.empty() || here.initial == there.initial;
  if (same_value && (there.is_ephemeral || !here.is_ephemeral)) return {};
  return Error{ErrorKind::invalid,
               fmt::format("user data '{}' is in the workflow already, {}", here.name,
                           same_value ? "and is not ephemeral" : "with another 'data'"),
               "leave it out here, or give it another name; `torc data set` changes its value"};
}

}  // namespace

Result<void> add_user_data(Transaction& tx, const std::vector<UserDatum>& all) {
  std::uint64_t made = 0;
  for (const UserDatum& d : all) {
    TORC_TRY(check_user_datum(d.name, d.initial));
    TORC_ASSIGN(const std::optional<UserDatum> before, read_user_datum(tx, d.name));
    if (!before && !d.is_declared) continue;
    UserDatum after = before.value_or(d);
    if (!before) {
      ++made;
      after.value = d.initial;
      after.changed = tx.sequence();
    } else {
      TORC_TRY(check_same(*before, d));
      if (!before->is_declared && d.is_declared) {
        after.is_declared = true;
        after.is_ephemeral = d.is_ephemeral;
        after.initial = d.initial;
      }
      if (raw(after.maker) == 0) after.maker = d.maker;
    }
    replace(tx, before, after);
  }
  if (made > 0) put_count(tx, count_user_data(tx) + made);
  return {};
}

Result<bool> set_user_datum(Transaction& tx, std::string_view name, std::string_view value,
                            Setter setter, Create create) {
  TORC_TRY(check_user_datum(name, value));
  TORC_TRY(check_setter(tx, setter));
  TORC_ASSIGN(std::optional<UserDatum> datum, read_user_datum(tx, name));
  if (!datum) {
    if (create == Create::no) return no_such(name);
    datum.emplace();
    datum->name = name;
    datum->is_declared = false;
    put_count(tx, count_user_data(tx) + 1);
  } else if (datum->value == value) {
    return false;
  }
  put_value(tx, *datum, value, setter.token.job);
  return true;
}

Result<bool> delete_user_datum(Transaction& tx, std::string_view name) {
  TORC_ASSIGN(std::optional<UserDatum> datum, read_user_datum(tx, name));
  if (!datum) return no_such(name);
  if (!datum->is_declared) {
    tx.erase(user_data_key(name));
    put_count(tx, count_user_data(tx) - 1);
    return true;
  }
  if (datum->value.empty()) return false;
  put_value(tx, *datum, {}, JobId{});
  return true;
}

Result<void> clear_ephemeral(Transaction& tx, const JobRange& makers) {
  const std::uint64_t end = raw(makers.first) + makers.count;
  const std::size_t before_name = std::string_view(Key(Table::ephemeral, end)).size();
  State state(tx);
  std::vector<std::string> names;
  tx.scan(Key(Table::ephemeral, raw(makers.first)), [&](const store::Entry& e) {
    if (!is_in(Table::ephemeral, e.key) || e.key >= std::string_view(Key(Table::ephemeral, end)))
      return false;
    if (e.key.size() <= before_name) {
      state.damaged(e.key);
      return false;
    }
    names.emplace_back(e.key.substr(before_name));
    return true;
  });
  TORC_TRY(state.sound());
  for (const std::string& name : names) {
    TORC_ASSIGN(std::optional<UserDatum> datum, read_user_datum(tx, name));
    if (!datum || datum->value == datum->initial) continue;
    put_value(tx, *datum, datum->initial, JobId{});
  }
  return {};
}

}  // namespace torc::claim
