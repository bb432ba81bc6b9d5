#include "lib/claim/tables/user_datum.h"

#include <fmt/format.h>

#include "lib/base/codec.h"
#include "lib/base/limits.h"
#include "lib/claim/rules/plan.h"
#include "lib/claim/tables/corruption.h"
#include "lib/claim/tables/state.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

enum Flag : std::uint8_t { kDeclared = 1, kEphemeral = 2 };

}  // namespace

std::string user_data_key(std::string_view name) {
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

std::optional<UserDatum> decode_user_datum(std::string_view key, std::string_view value) {
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
  return in.whole(std::move(d));
}

std::uint64_t count_user_data(const Reader& reader) {
  const auto value = reader.get(Key(Table::user_data));
  if (!value) return 0;
  Decoder in(*value);
  return in.varint();
}

Result<void> check_user_datum(std::string_view name, std::string_view value) {
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

Result<std::optional<UserDatum>> read_user_datum(const Reader& reader, std::string_view name) {
  std::optional<UserDatum> none;
  if (name.empty() || name.size() > kMaxUserDataName) return none;
  const std::string key = user_data_key(name);
  const auto value = reader.get(key);
  if (!value) return none;
  auto datum = decode_user_datum(key, *value);
  if (!datum) return unreadable(key);
  return datum;
}

Result<void> scan_user_data(const Reader& reader,
                            const std::function<bool(const UserDatum&)>& visit) {
  State state(reader);
  reader.scan_prefix(Key(Table::user_data), [&](const store::Entry& e) {
    if (e.key.size() == 1) return true;  // the count
    const auto datum = decode_user_datum(e.key, e.value);
    if (!datum) state.damaged(e.key);
    return datum && visit(*datum);
  });
  return state.sound();
}

std::uint64_t user_data_fingerprint(std::string_view value) {
  return value.empty() ? 0 : name_hash(value);
}

}  // namespace torc::claim
