#include "lib/claim/queries/extent.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "lib/claim/tables/tables.h"

namespace torc::claim {
namespace {

// The last entry of a table.
std::optional<store::Entry> last_of(const Reader& reader, Table table) {
  const char after_all = static_cast<char>(static_cast<char>(table) + 1);
  auto entry = reader.seek_before({&after_all, 1});
  if (entry && !is_in(table, entry->key)) entry.reset();
  return entry;
}

}  // namespace

std::uint64_t extent(State& state) {
  const std::uint64_t jobs = state.tally().jobs();
  const auto check = [&](Table table, std::string_view what, const auto& end_of) {
    const auto entry = last_of(state.reader(), table);
    std::optional<std::uint64_t> end = 1;
    if (entry) end = end_of(*entry);
    if (!end) {
      state.damaged(entry->key);
    } else if (*end != jobs + 1) {
      state.contradicts(
          fmt::format("the {} end at job {} where {} are counted", what, *end - 1, jobs));
    }
  };
  check(Table::span, "spans", [](const store::Entry& e) {
    const auto s = decode_span(e.key, e.value);
    return s ? std::optional(s->end()) : std::nullopt;
  });
  check(Table::job_template, "templates", [](const store::Entry& e) {
    const auto t = decode_template(e.key, e.value);
    return t ? std::optional(raw(t->first) + t->count) : std::nullopt;
  });
  const auto first = state.reader().seek(Key(Table::job));
  if (first && first->key < std::string_view(Key(Table::job, 1)) && is_in(Table::job, first->key))
    state.damaged(first->key);
  return jobs;
}

}  // namespace torc::claim
