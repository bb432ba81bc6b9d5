#include "lib/claim/tables/past_templates.h"

#include <string>
#include <utility>

#include "lib/base/codec.h"
#include "lib/claim/tables/corruption.h"

namespace torc::claim {
namespace {

constexpr std::size_t kNumber = sizeof(std::uint64_t);
constexpr std::size_t kPastKeySize = 1 + 2 * kNumber;

bool is_past_template(std::string_view key) {
  return is_in(Table::past_template, key) && key.size() == kPastKeySize;
}

// The newest commit of which a template was forgotten.
Key forgotten_key() {
  return {Table::past_template, 0};
}

void forget_oldest(Transaction& tx) {
  std::size_t there = 0;
  std::string oldest;
  tx.scan_prefix(Key(Table::past_template), [&](const store::Entry& e) {
    if (!is_past_template(e.key)) return true;
    if (there++ == 0) oldest = e.key;
    return there <= kPastTemplates;
  });
  if (there <= kPastTemplates) return;
  tx.put(forgotten_key(), Value().varint(number_at(oldest, 1, kNumber)));
  tx.erase(oldest);
}

}  // namespace

Key past_template_key(std::uint64_t commit, std::uint64_t first) {
  return Key(Table::past_template, commit).be64(first);
}

std::optional<Template> decode_past_template(std::string_view key, std::string_view value) {
  if (!is_past_template(key)) return std::nullopt;
  return decode_template(Key(Table::job_template, number_at(key, 1 + kNumber, kNumber)), value);
}

void keep_template(Transaction& tx, const Template& old) {
  const Key key = past_template_key(tx.sequence(), raw(old.first));
  if (tx.get(key)) return;  // what this commit itself has written meanwhile nobody ran by
  tx.put(key, encode(old));
  forget_oldest(tx);
}

Result<PastTemplate> past_template_of(const Reader& reader, JobId id, std::uint64_t claim) {
  PastTemplate past;
  const auto forgotten = reader.get(forgotten_key());
  past.is_known = !forgotten || Decoder(*forgotten).varint() <= claim;
  std::uint64_t commit = claim;
  for (;;) {
    const auto next = reader.seek(past_template_key(commit + 1, 0));
    if (!next || !is_past_template(next->key)) return past;
    commit = number_at(next->key, 1, kNumber);
    const auto at = reader.seek_before(past_template_key(commit, raw(id) + 1));
    if (!at || !is_past_template(at->key) || number_at(at->key, 1, kNumber) != commit) continue;
    auto found = decode_past_template(at->key, at->value);
    if (!found) return unreadable(at->key);
    if (raw(id) - raw(found->first) >= found->count) continue;
    past.template_then = std::move(found);
    return past;
  }
}

}  // namespace torc::claim
