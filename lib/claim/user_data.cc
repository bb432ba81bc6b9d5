#include "lib/claim/user_data.h"

#include <fmt/format.h>

#include "lib/base/codec.h"
#include "lib/base/limits.h"
#include "lib/claim/claimer.h"
#include "lib/claim/state.h"
#include "lib/claim/tables.h"
#include "lib/claim/verify_plan.h"

namespace torc::claim {
namespace {

enum Flag : std::uint8_t { kDeclared = 1, kEphemeral = 2 };

std::string key_of(std::string_view name) {
  std::string key(1, static_cast<char>(Table::user_data));
  return key.append(name);
}

std::string ephemeral_key(JobId maker, std::string_view name) {
  return std::string(Key(Table::ephemeral, raw(maker))).append(name);
}

std::string encode(const UserDatum& d) {
  Encoder out;
  out.u8(static_cast<std::uint8_t>((d.is_declared ? kDeclared : 0) |
                                   (d.is_ephemeral ? kEphemeral : 0)));
  out.varint(raw(d.maker)).varint(d.changed).varint(raw(d.by)).text(d.initial).text(d.value);
  return std::move(out).bytes();
}

std::optional<UserDatum> decode(std::string_view key, std::string_view value) {
  if (!is_in(Table::user_data, key) || key.size() < 2) return std::nullopt;
  Decoder in(value);
  UserDatum d;
  d.name = key.substr(1);
  const std::uint8_t flags = in.u8();
  d.is_declared = (flags & kDeclared) != 0;
  d.is_ephemeral = (flags & kEphemeral) != 0;
  d.maker = JobId{in.varint()};
  d.changed = in.varint();
  d.by = JobId{in.varint()};
  d.initial = in.text();
  d.value = in.text();
  if (!in.is_whole()) return std::nullopt;
  return d;
}

std::uint64_t count_of(const store::Reader& reader) {
  const auto value = reader.get(Key(Table::user_data));
  if (!value) return 0;
  Decoder in(*value);
  return in.varint();
}

void put_count(store::Transaction& tx, std::uint64_t count) {
  tx.put(Key(Table::user_data), Value().varint(count));
}

void put(store::Transaction& tx, const UserDatum& d) {
  tx.put(key_of(d.name), encode(d));
}

Result<void> check_limits(std::string_view name, std::string_view value) {
  if (name.empty() || name.size() > kMaxUserDataName) {
    return Error{ErrorKind::invalid,
                 fmt::format("a name of user data has 1 to {} bytes", kMaxUserDataName),
                 "choose another name"};
  }
  if (value.size() > kMaxUserDataBytes) {
    return Error{ErrorKind::invalid,
                 fmt::format("the value of user data '{}' has {} bytes; the limit is {}", name,
                             value.size(), kMaxUserDataBytes),
                 "write it to a file, declare that under files, and keep its path here"};
  }
  return {};
}

Error no_such(std::string_view name) {
  return Error{ErrorKind::invalid, fmt::format("there is no user data '{}'", name),
               "`torc data list` shows what there is"};
}

// The attempt must be the one that has the job.
Result<void> check_setter(const store::Reader& reader, Setter setter) {
  const ClaimToken& token = setter.token;
  if (raw(token.job) == 0 || is_held_by(reader, token)) return {};
  return Error{ErrorKind::fenced,
               fmt::format("attempt {} of job {} is not, or no longer, the one that counts",
                           token.attempt, raw(token.job)),
               "what it wanted to set was discarded"};
}

}  // namespace

Result<void> write_user_data(store::Transaction& tx, const std::vector<UserDatum>& all) {
  if (all.empty()) return {};
  for (const UserDatum& d : all) {
    TORC_TRY(check_limits(d.name, d.initial));
    if (tx.get(key_of(d.name)))
      return Error{ErrorKind::invalid, fmt::format("two user data are named '{}'", d.name), ""};
    UserDatum first = d;
    first.value = d.initial;
    put(tx, first);
    if (d.is_ephemeral) tx.put(ephemeral_key(d.maker, d.name), {});
  }
  put_count(tx, all.size());
  return {};
}

Result<void> update_user_data(store::Transaction& tx, const std::vector<UserDatum>& all) {
  std::uint64_t made = 0;
  for (const UserDatum& d : all) {
    TORC_TRY(check_limits(d.name, d.initial));
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
    if (before && *before == after) continue;
    if (before && before->is_ephemeral) tx.erase(ephemeral_key(before->maker, d.name));
    if (after.is_ephemeral) tx.put(ephemeral_key(after.maker, d.name), {});
    put(tx, after);
  }
  if (made > 0) put_count(tx, count_of(tx) + made);
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

Result<void> add_user_data(store::Transaction& tx, const std::vector<UserDatum>& all) {
  std::uint64_t made = 0;
  for (const UserDatum& d : all) {
    TORC_TRY(check_limits(d.name, d.initial));
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
      if (after == *before) continue;
      if (before->is_ephemeral) tx.erase(ephemeral_key(before->maker, d.name));
    }
    if (after.is_ephemeral) tx.put(ephemeral_key(after.maker, d.name), {});
    put(tx, after);
  }
  if (made > 0) put_count(tx, count_of(tx) + made);
  return {};
}

Result<std::optional<UserDatum>> read_user_datum(const store::Reader& reader,
                                                 std::string_view name) {
  std::optional<UserDatum> none;
  if (name.empty() || name.size() > kMaxUserDataName) return none;
  const std::string key = key_of(name);
  const auto value = reader.get(key);
  if (!value) return none;
  auto datum = decode(key, *value);
  if (!datum) return unreadable(key);
  return datum;
}

Result<void> scan_user_data(const store::Reader& reader,
                            const std::function<bool(const UserDatum&)>& visit) {
  State state(reader);
  reader.scan_prefix(Key(Table::user_data), [&](const store::Entry& e) {
    if (e.key.size() == 1) return true;  // the count
    const auto datum = decode(e.key, e.value);
    if (!datum) state.damaged(e.key);
    return datum && visit(*datum);
  });
  return state.sound();
}

Result<bool> set_user_datum(store::Transaction& tx, std::string_view name, std::string_view value,
                            Setter setter, Create create) {
  TORC_TRY(check_limits(name, value));
  TORC_TRY(check_setter(tx, setter));
  TORC_ASSIGN(std::optional<UserDatum> datum, read_user_datum(tx, name));
  if (!datum) {
    if (create == Create::no) return no_such(name);
    datum.emplace();
    datum->name = name;
    datum->is_declared = false;
    put_count(tx, count_of(tx) + 1);
  } else if (datum->value == value) {
    return false;
  }
  datum->value = value;
  datum->changed = tx.sequence();
  datum->by = setter.token.job;
  put(tx, *datum);
  return true;
}

Result<bool> delete_user_datum(store::Transaction& tx, std::string_view name) {
  TORC_ASSIGN(std::optional<UserDatum> datum, read_user_datum(tx, name));
  if (!datum) return no_such(name);
  if (!datum->is_declared) {
    tx.erase(key_of(name));
    put_count(tx, count_of(tx) - 1);
    return true;
  }
  if (datum->value.empty()) return false;
  datum->value.clear();
  datum->changed = tx.sequence();
  datum->by = JobId{};
  put(tx, *datum);
  return true;
}

Result<void> clear_ephemeral(store::Transaction& tx, const JobRange& makers) {
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
    datum->value = datum->initial;
    datum->changed = tx.sequence();
    datum->by = JobId{};
    put(tx, *datum);
  }
  return {};
}

std::uint64_t user_data_mark(std::string_view value) {
  return value.empty() ? 0 : name_hash(value);
}

Result<void> verify_user_data(const store::Reader& reader, std::uint64_t jobs) {
  std::uint64_t there = 0;
  std::uint64_t ephemeral = 0;
  TORC_TRY(each(reader, Table::user_data, [&](const store::Entry& e) -> Result<void> {
    if (e.key.size() == 1) return {};  // the count
    const auto datum = decode(e.key, e.value);
    if (!datum) return unreadable(e.key);
    ++there;
    if (raw(datum->maker) > jobs || raw(datum->by) > jobs || datum->changed > reader.sequence() ||
        !check_limits(datum->name, datum->value)) {
      return wrong(fmt::format("user data '{}' has impossible numbers", datum->name));
    }
    if (!datum->is_ephemeral) return {};
    ++ephemeral;
    if (reader.get(ephemeral_key(datum->maker, datum->name))) return {};
    return wrong(fmt::format("user data '{}' is not listed with its job", datum->name));
  }));
  std::uint64_t listed = 0;
  TORC_TRY(each(reader, Table::ephemeral, [&](const store::Entry&) -> Result<void> {
    ++listed;
    return {};
  }));
  if (there != count_of(reader)) {
    return wrong(fmt::format("{} user data are counted where {} are", count_of(reader), there));
  }
  if (listed != ephemeral) return wrong("user data is listed as ephemeral that is not");
  return {};
}

}  // namespace torc::claim
