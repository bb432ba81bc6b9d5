#include "lib/store/engine/commit_file.h"

#include <zstd.h>

namespace torc::store {
namespace {

constexpr std::string_view kMagic = "torcCMT1";
constexpr std::uint32_t kZstd = 1;
constexpr std::size_t kCompressFrom = 1024;
// What a byte of zstd can become: a block of 128 KiB is at least four bytes (RFC 8878, 3.1.1.2).
constexpr std::uint64_t kMostOfAByte = (std::uint64_t{128} << 10) / 4;

// Empty when compression does not pay.
std::string compressed(std::string_view raw) {
  if (raw.size() < kCompressFrom) return {};
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t n = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), 1);
  if (ZSTD_isError(n) != 0 || n >= raw.size()) return {};
  out.resize(n);
  return out;
}

bool decompress(std::string_view payload, std::uint64_t raw_size, std::string& out) {
  // The frame names its own size too; they must agree, and be possible, before anything of that
  // size is allocated.
  if (raw_size > kMostWrites || payload.size() >= raw_size ||
      raw_size > payload.size() * kMostOfAByte ||
      ZSTD_getFrameContentSize(payload.data(), payload.size()) != raw_size) {
    return false;
  }
  out.resize(raw_size);
  return ZSTD_decompress(out.data(), out.size(), payload.data(), payload.size()) == raw_size;
}

Error damaged(const Path& file, const std::string& how) {
  return {ErrorKind::corrupt, file.string() + " is damaged: " + how,
          "keep a copy of the store directory; `torc verify` says how far the history is good"};
}

}  // namespace

std::string encode_commit(const StoreId& store, const CommitHeader& header,
                          std::string_view writes) {
  const std::string small = compressed(writes);
  const std::string_view payload = small.empty() ? writes : std::string_view(small);
  Encoder out;
  out.raw(kMagic).raw(as_text(store)).be64(header.sequence).raw(as_text(header.before));
  out.raw(as_text(header.id)).be64(header.author).be32(small.empty() ? 0 : kZstd);
  out.be64(writes.size()).be64(payload.size()).raw(payload);
  const std::uint32_t crc = crc32c(out.bytes());
  out.be32(crc);
  return std::move(out).bytes();
}

Result<CommitFile> decode_commit(const StoreId& store, std::uint64_t sequence,
                                 std::string_view bytes, const Path& file) {
  Decoder in(bytes);
  if (in.raw(kMagic.size()) != kMagic) return damaged(file, "it does not begin like a commit file");
  StoreId id{};
  CommitFile out;
  (void)from_text(in.raw(16), id);
  out.header.sequence = in.be64();
  (void)from_text(in.raw(16), out.header.before);
  (void)from_text(in.raw(16), out.header.id);
  out.header.author = in.be64();
  const std::uint32_t flags = in.be32();
  const std::uint64_t raw_size = in.be64();
  const std::uint64_t size = in.be64();
  const std::string_view payload = in.raw(size);
  const std::uint32_t crc = in.be32();
  if (!in.ok() || !in.at_end())
    return damaged(file, "its length is wrong (cut off, or something was added)");
  if (crc != crc32c(bytes.substr(0, bytes.size() - 4)))
    return damaged(file, "its checksum is wrong");
  if (id != store) return damaged(file, "it belongs to another store, " + to_hex(id));
  if (out.header.sequence != sequence) {
    return damaged(file, "it contains commit " + std::to_string(out.header.sequence));
  }
  if ((flags & ~kZstd) != 0) return damaged(file, "it has flags that this program does not know");
  if ((flags & kZstd) == 0) {
    if (payload.size() > kMostWrites) return damaged(file, "its payload is too large");
    out.writes = payload;
  } else if (!decompress(payload, raw_size, out.writes)) {
    return damaged(file, "its payload does not decompress");
  }
  if (out.writes.size() != raw_size) return damaged(file, "its payload has the wrong length");
  out.after = hash128(store, bytes);
  out.size = bytes.size();
  return out;
}

std::optional<std::uint64_t> commit_length(std::string_view bytes) {
  constexpr std::size_t kBeforeLength = 8 + 16 + 8 + 16 + 16 + 8 + 4 + 8;
  Decoder in(bytes);
  if (in.raw(kBeforeLength).substr(0, kMagic.size()) != kMagic) return std::nullopt;
  const std::uint64_t payload = in.be64();
  if (!in.ok() || payload > kMostWrites) return std::nullopt;
  return kBeforeLength + 8 + payload + 4;
}

bool replay(std::string_view writes,
            const std::function<void(std::string_view, std::string_view)>& put,
            const std::function<void(std::string_view)>& erase) {
  Decoder in(writes);
  while (!in.at_end()) {
    const std::uint8_t op = in.u8();
    const std::string_view key = in.text();
    const std::string_view value = op == 1 ? in.text() : std::string_view();
    if (!in.ok() || key.empty() || value.size() > kMostValue) return false;
    if (op == 1) {
      put(key, value);
    } else if (op == 2) {
      erase(key);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace torc::store
