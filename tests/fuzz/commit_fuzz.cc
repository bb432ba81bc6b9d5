// A commit file: read as it is, with a right checksum put on, and as the write set within one.
#include <utility>
#include <vector>

#include "lib/store/engine/commit_file.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace torc::store;

constexpr std::size_t kId = 8, kSequence = 24, kCrc = 4;

void check_file(std::string_view bytes) {
  StoreId id{};
  if (bytes.size() < kSequence + 8 || !from_text(bytes.substr(kId, 16), id)) return;
  const std::uint64_t sequence = torc::fuzz::be64_at(bytes, kSequence);
  const auto file = decode_commit(id, sequence, bytes, "commit");
  if (!file.ok()) {
    TORC_MUST(file.error().kind == torc::ErrorKind::corrupt);
    return;
  }
  TORC_MUST(commit_length(bytes) == bytes.size());
  TORC_MUST(file->size == bytes.size() && file->header.sequence == sequence);
  TORC_MUST(file->after == hash128(id, bytes));
  TORC_MUST(!decode_commit(id, sequence + 1, bytes, "commit").ok());
  const std::string again = encode_commit(id, file->header, file->writes);
  const auto same = decode_commit(id, sequence, again, "commit");
  TORC_MUST(same.ok() && same->writes == file->writes);
  TORC_MUST(same->header.before == file->header.before && same->header.id == file->header.id);
  TORC_MUST(same->header.author == file->header.author);
  // A CRC misses no single bit.
  std::string flipped(bytes);
  flipped[file->after[0] * 257U % flipped.size()] ^= static_cast<char>(1U << (file->after[1] % 8U));
  TORC_MUST(!decode_commit(id, sequence, flipped, "commit").ok());
}

using Write = std::pair<std::string, std::string>;  // of an erased key: the key, behind a mark

std::vector<Write> writes_in(std::string_view bytes, bool& good) {
  std::vector<Write> all;
  good = replay(
      bytes, [&](std::string_view k, std::string_view v) { all.emplace_back(k, v); },
      [&](std::string_view k) { all.emplace_back("", k); });
  return all;
}

void check_writes(std::string_view bytes) {
  bool good = false;
  const std::vector<Write> all = writes_in(bytes, good);
  if (!good) return;
  WriteSet set;
  for (const auto& [key, value] : all) {
    if (key.empty()) {
      set.erase(value);
    } else {
      set.put(key, value);
    }
  }
  TORC_MUST(set.bytes().size() <= bytes.size());
  TORC_MUST(writes_in(set.bytes(), good) == all && good);
  check_file(encode_commit({1}, {7, {2}, {3}, 4}, bytes));
}

}  // namespace

TORC_FUZZ_TARGET(commit) {
  check_file(input);
  check_writes(input);
  if (input.size() < kCrc) return;
  std::string sealed(input);
  torc::fuzz::put_be32(sealed, sealed.size() - kCrc, crc32c(input.substr(0, input.size() - kCrc)));
  check_file(sealed);
}
