// A snapshot: as it is, and with checksum, hash and number of entries that fit.
#include <zstd.h>

#include <string>

#include "lib/store/format/snapshot.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/one_file_disk.h"

namespace {

using namespace torc::store;

constexpr std::size_t kId = 8, kSequence = 24, kChain = 32, kHeadCrc = 56, kHead = 60, kFoot = 32;
constexpr std::size_t kMostContent = std::size_t{1} << 16;  // of one that is sealed here

void check(std::string_view bytes) {
  if (bytes.size() < kHead) return;
  StoreId id{};
  SnapshotName name;
  (void)from_text(bytes.substr(kId, 16), id);
  name.sequence = torc::fuzz::be64_at(bytes, kSequence);
  (void)from_text(bytes.substr(kChain, 16), name.chain);
  torc::fuzz::OneFileJournal only(id, name.text(), bytes);
  std::uint64_t entries = 0;
  const auto whole = read_snapshot(only.journal, name, [&](const Entry&) {
    ++entries;
    return true;
  });
  if (!whole.ok()) {
    TORC_MUST(whole.error().kind == torc::ErrorKind::corrupt);
    return;
  }
  TORC_MUST(whole->sequence == name.sequence && whole->chain == name.chain);
  TORC_MUST(entries == torc::fuzz::be64_at(bytes, bytes.size() - kFoot));
  // A visitor that has enough ends it.
  if (entries > 0)
    TORC_MUST(!read_snapshot(only.journal, name, [](const Entry&) { return false; }).ok());
  // One byte less of it is no snapshot.
  torc::fuzz::OneFileJournal cut(id, name.text(), bytes.substr(0, bytes.size() - 1));
  TORC_MUST(!read_snapshot(cut.journal, name, [](const Entry&) { return true; }).ok());
}

std::string unpacked(std::string_view frame) {
  std::string out(kMostContent, '\0');
  const std::size_t n = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  out.resize(ZSTD_isError(n) != 0 ? 0 : n);
  return out;
}

std::string sealed(std::string_view bytes) {
  std::string out(bytes);
  torc::fuzz::put_be32(out, kHeadCrc, crc32c(bytes.substr(0, kHeadCrc)));
  StoreId id{};
  (void)from_text(bytes.substr(kId, 16), id);
  const std::string content = unpacked(bytes.substr(kHead, bytes.size() - kHead - kFoot));
  std::uint64_t entries = 0;
  torc::Decoder in(content);
  for (; !in.at_end(); ++entries) {
    (void)in.text();
    (void)in.text();
    if (!in.ok()) break;
  }
  const std::size_t foot = bytes.size() - kFoot;
  torc::fuzz::put_be64(out, foot, entries);
  out.replace(foot + 8, 16, as_text(hash128(id, content)));
  out.replace(foot + 24, 8, "torcEND1");
  return out;
}

// The bytes as the content of a snapshot, packed as a writer would.
std::string around(std::string_view content) {
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  static ZSTD_CCtx* const context = ZSTD_createCCtx();  // making one takes longer than all the rest
  frame.resize(
      ZSTD_compressCCtx(context, frame.data(), frame.size(), content.data(), content.size(), 1));
  return sealed("torcSNP1" + std::string(kHead - 8, 'x') + frame + std::string(kFoot, '\0'));
}

}  // namespace

TORC_FUZZ_TARGET(snapshot) {
  check(input);
  if (input.size() >= kHead + kFoot) check(sealed(input));
  check(around(input));
}
