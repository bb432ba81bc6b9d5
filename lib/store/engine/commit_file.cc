#include "lib/store/engine/commit_file.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

#include "lib/base/pages.h"

namespace torc::store {
namespace {

constexpr std::string_view kMagic = "torcCMT1";
constexpr std::uint32_t kZstd = 1;
constexpr std::size_t kCompressFrom = 1024;
// What a byte of zstd can become: a block of 128 KiB is at least four bytes (RFC 8878, 3.1.1.2).
constexpr std::uint64_t kMostOfAByte = (std::uint64_t{128} << 10) / 4;
// What zstd remembers of what it has decompressed, as a power of two: torc's frames ask for less
// than 1 MiB, a forged one may ask for 128.
constexpr int kMostWindow = 23;
constexpr std::size_t kMostOfFrameHead = 18;  // RFC 8878, 3.1.1.1, with its magic number
constexpr std::size_t kHeadBytes = 8 + 16 + 8 + 16 + 16 + 8 + 4 + 8 + 8;
constexpr std::size_t kFootBytes = 4;

// Empty when compression does not pay.
std::string compressed(std::string_view raw) {
  if (raw.size() < kCompressFrom) return {};
  std::string out(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t n = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), 1);
  if (ZSTD_isError(n) != 0 || n >= raw.size()) return {};
  out.resize(n);
  return out;
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

CommitDecoder::CommitDecoder(const StoreId& store, std::uint64_t sequence)
    : store_(store), sequence_(sequence), hash_(store), stream_(nullptr, ZSTD_freeDCtx) {}

CommitDecoder::~CommitDecoder() = default;

bool CommitDecoder::add(std::string_view part) {
  hash_.add(part);
  if (head_.size() < kHeadBytes) {
    const std::string_view more = part.substr(0, kHeadBytes - head_.size());
    head_.append(more);
    part.remove_prefix(more.size());
    if (!std::string_view(head_).starts_with(kMagic.substr(0, head_.size()))) return false;
    if (head_.size() < kHeadBytes) return true;
    begin_payload();
  }
  const std::string_view payload = part.substr(0, payload_left_);
  crc_ = crc32c(payload, crc_);
  payload_left_ -= payload.size();
  if (good_ && !payload.empty()) add_payload(payload);
  part.remove_prefix(payload.size());
  const std::string_view foot = part.substr(0, kFootBytes - foot_.size());
  foot_.append(foot);
  too_long_ = foot.size() < part.size();
  return !too_long_;
}

// What is wrong with the head is said at the end. Nothing is made of the payload then, and nothing
// of an impossible size.
void CommitDecoder::begin_payload() {
  Decoder in(std::string_view(head_).substr(kMagic.size()));
  (void)from_text(in.raw(16), id_);
  header_.sequence = in.be64();
  (void)from_text(in.raw(16), header_.before);
  (void)from_text(in.raw(16), header_.id);
  header_.author = in.be64();
  flags_ = in.be32();
  raw_size_ = in.be64();
  payload_size_ = payload_left_ = in.be64();
  crc_ = crc32c(head_);
  const bool possible = (flags_ & kZstd) == 0 ? payload_size_ == raw_size_
                                              : payload_size_ < raw_size_ &&
                                                    raw_size_ / kMostOfAByte <= payload_size_;
  good_ = id_ == store_ && header_.sequence == sequence_ && (flags_ & ~kZstd) == 0 && possible &&
          raw_size_ <= kMostWrites;
}

void CommitDecoder::add_payload(std::string_view part) {
  if ((flags_ & kZstd) == 0) {
    if (writes_.empty()) writes_.reserve(raw_size_);
    writes_.append(part);
  } else if (stream_) {
    decompress(part);
  } else {
    const bool enough = part.size() >= kMostOfFrameHead || payload_left_ == 0;
    if (!enough || !frame_head_.empty()) part = frame_head_.append(part);
    if (part.size() < kMostOfFrameHead && payload_left_ > 0) return;
    // The frame names its own size, too, which must be the same.
    good_ = ZSTD_getFrameContentSize(part.data(), part.size()) == raw_size_;
    if (!good_) return;
    stream_.reset(ZSTD_createDCtx());
    (void)ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMostWindow);
    writes_.resize(raw_size_);
    decompress(part);
  }
}

// Straight to where it belongs.
void CommitDecoder::decompress(std::string_view part) {
  ZSTD_inBuffer in{part.data(), part.size(), 0};
  while (good_ && in.pos < in.size) {
    const std::size_t read = in.pos;
    ZSTD_outBuffer out{writes_.data(), writes_.size(), written_};
    frame_left_ = ZSTD_decompressStream(stream_.get(), &out, &in);
    // Nothing follows a frame, and nothing is left of it when all is there that it said.
    good_ = ZSTD_isError(frame_left_) == 0 && (frame_left_ != 0 || in.pos == in.size) &&
            (in.pos > read || out.pos > written_);
    written_ = out.pos;
  }
}

Result<CommitFile> CommitDecoder::finish(const Path& file) && {
  if (!std::string_view(head_).starts_with(kMagic))
    return damaged(file, "it does not begin like a commit file");
  if (head_.size() < kHeadBytes || payload_left_ > 0 || foot_.size() < kFootBytes || too_long_)
    return damaged(file, "its length is wrong (cut off, or something was added)");
  if (Decoder(foot_).be32() != crc_) return damaged(file, "its checksum is wrong");
  if (id_ != store_) return damaged(file, "it belongs to another store, " + to_hex(id_));
  if (header_.sequence != sequence_)
    return damaged(file, "it contains commit " + std::to_string(header_.sequence));
  if ((flags_ & ~kZstd) != 0) return damaged(file, "it has flags that this program does not know");
  const bool packed = (flags_ & kZstd) != 0;
  if (packed && (!good_ || frame_left_ != 0 || written_ != raw_size_))
    return damaged(file, "its payload does not decompress");
  if (payload_size_ > kMostWrites) return damaged(file, "its payload is too large");
  if (!packed && payload_size_ != raw_size_)
    return damaged(file, "its payload has the wrong length");
  CommitFile out;
  out.header = header_;
  out.writes = std::move(writes_);
  out.after = hash_.finish();
  out.size = kHeadBytes + payload_size_ + kFootBytes;
  return out;
}

Result<CommitFile> decode_commit(const StoreId& store, std::uint64_t sequence,
                                 std::string_view bytes, const Path& file) {
  CommitDecoder decoder(store, sequence);
  (void)decoder.add(bytes);
  return std::move(decoder).finish(file);
}

Result<CommitFile> decode_large_commit(const StoreId& store, std::uint64_t sequence,
                                       std::string&& bytes, const Path& file) {
  CommitDecoder decoder(store, sequence);
  for (std::string_view rest = bytes; !rest.empty();) {
    const std::string_view part = rest.substr(0, kManyPages);
    if (!decoder.add(part)) break;
    give_back_pages(part);
    rest.remove_prefix(part.size());
  }
  return std::move(decoder).finish(file);
}

std::optional<std::uint64_t> commit_length(std::string_view bytes) {
  constexpr std::size_t kBeforeLength = kHeadBytes - 8;
  Decoder in(bytes);
  if (in.raw(kBeforeLength).substr(0, kMagic.size()) != kMagic) return std::nullopt;
  const std::uint64_t payload = in.be64();
  if (!in.ok() || payload > kMostWrites) return std::nullopt;
  return kHeadBytes + payload + kFootBytes;
}

namespace {

// `after`: how many bytes are replayed.
template <class Put, class Erase, class After>
bool replay_all(std::string_view writes, const Put& put, const Erase& erase, const After& after) {
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
    after(writes.size() - in.rest().size());
  }
  return true;
}

}  // namespace

bool replay(std::string_view writes,
            const std::function<void(std::string_view, std::string_view)>& put,
            const std::function<void(std::string_view)>& erase) {
  return replay_all(writes, put, erase, [](std::size_t) {});
}

bool replay_once(std::string writes,
                 const std::function<void(std::string_view, std::string_view)>& put,
                 const std::function<void(std::string_view)>& erase) {
  std::size_t given_back = 0;
  return replay_all(writes, put, erase, [&](std::size_t replayed) {
    if (replayed - given_back < kManyPages) return;
    give_back_pages(std::string_view(writes).substr(given_back, replayed - given_back));
    given_back = replayed;
  });
}

}  // namespace torc::store
