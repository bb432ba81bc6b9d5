#include "lib/claim/tables/definition.h"

#include "lib/base/codec.h"
#include "lib/claim/tables/tables.h"

namespace torc::claim {

std::string definition_key(std::string_view key) {
  std::string whole{std::string_view(Key(Table::definition))};
  return whole.append(key);
}

std::optional<std::string> read_definition(const Reader& reader, std::string_view key) {
  const auto value = reader.get(definition_key(key));
  return value ? std::optional(std::string(*value)) : std::nullopt;
}

std::optional<Definition> definition_up_to(const Reader& reader, std::string_view prefix,
                                           std::string_view key) {
  const std::string begin = definition_key(prefix);
  const auto e = reader.seek_before(definition_key(key) + '\0');
  if (!e || !e->key.starts_with(begin)) return {};
  return Definition{std::string(e->key.substr(1)), std::string(e->value)};
}

void scan_definitions(const Reader& reader, std::string_view prefix,
                      const std::function<bool(const Definition&)>& visit) {
  reader.scan_prefix(definition_key(prefix), [&](const store::Entry& e) {
    return visit({std::string(e.key.substr(1)), std::string(e.value)});
  });
}

std::optional<std::uint64_t> decode_definition_count(std::string_view value) {
  Decoder in(value);
  const std::uint64_t n = in.varint();
  return in.whole(n);
}

}  // namespace torc::claim
