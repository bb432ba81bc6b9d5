#include "lib/claim/tables/corruption.h"

#include <fmt/format.h>

#include <utility>

namespace torc::claim {

Error wrong(std::string what) {
  return Error{ErrorKind::corrupt, "the state contradicts itself: " + std::move(what),
               "stop the workers, keep a copy of the store and report this"};
}

std::string show_key(std::string_view key) {
  std::string out = fmt::format("table '{}', key", key.substr(0, 1));
  for (char c : key.substr(1)) out += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  return out;
}

Error unreadable(std::string_view key) {
  return wrong("unreadable value at " + show_key(key));
}

std::uint64_t count_entries(const Reader& reader, Table table) {
  std::uint64_t n = 0;
  reader.scan_prefix(Key(table), [&](const store::Entry&) { return ++n > 0; });
  return n;
}

}  // namespace torc::claim
