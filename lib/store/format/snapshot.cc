#include "lib/store/format/snapshot.h"

#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "lib/base/pages.h"
#include "lib/store/disk/file_parts.h"

namespace torc::store {
namespace {

// Compressed, in bytes: of a state of any size that fits into the memory of a node.
constexpr std::size_t kMostOfASnapshot = std::numeric_limits<std::uint32_t>::max();

constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 29;

constexpr std::string_view kMagic = "torcSNP1";
constexpr std::string_view kEnd = "torcEND1";
constexpr std::size_t kHeadSize = 8 + 16 + 8 + 16 + 8 + 4;
constexpr std::size_t kFootSize = 8 + 16 + 8;
constexpr std::size_t kChunk = std::size_t{1} << 17;

Error damaged(const Path& file, const std::string& how) {
  return {ErrorKind::corrupt, file.string() + " is damaged: " + how,
          "keep a copy of the store directory; `torc verify` says what else is good"};
}

std::string encode_head(const StoreId& id, const Head& head) {
  Encoder out;
  out.raw(kMagic).raw(as_text(id)).be64(head.sequence).raw(as_text(head.chain)).be64(head.bytes);
  out.be32(crc32c(out.bytes()));
  return std::move(out).bytes();
}

Result<Head> decode_head(const StoreId& id, std::string_view bytes, const SnapshotName& name,
                         const Path& file) {
  Decoder in(bytes.substr(0, kHeadSize));
  if (in.raw(kMagic.size()) != kMagic) return damaged(file, "it does not begin like a snapshot");
  StoreId store{};
  Head head;
  (void)from_text(in.raw(16), store);
  head.sequence = in.be64();
  (void)from_text(in.raw(16), head.chain);
  head.bytes = in.be64();
  const std::uint32_t crc = in.be32();
  if (!in.ok() || crc != crc32c(bytes.substr(0, kHeadSize - 4)))
    return damaged(file, "its head is wrong");
  if (store != id) return damaged(file, "it belongs to another store, " + to_hex(store));
  if (head.sequence != name.sequence || head.chain != name.chain)
    return damaged(file, "its name does not fit");
  return head;
}

// Compresses entries as they come and hashes what it compresses.
class Packer {
 public:
  Packer(const StoreId& id, std::string& out)
      : stream_(ZSTD_createCStream(), ZSTD_freeCStream), hash_(id), out_(out) {
    ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_compressionLevel, 3);
  }
  // A long value is compressed from where it is.
  void add(const Entry& entry) {
    buffer_.text(entry.key).varint(entry.value.size());
    ++entries_;
    const bool is_long = entry.value.size() >= kChunk;
    if (!is_long) buffer_.raw(entry.value);
    if (is_long || buffer_.bytes().size() >= kChunk) flush(ZSTD_e_continue);
    if (!is_long) return;
    // A page of the state that was read is of no use any more.
    for (std::string_view rest = entry.value; !rest.empty();) {
      const std::string_view part = rest.substr(0, kManyPages);
      compress(part, ZSTD_e_continue);
      if (part.size() == kManyPages) give_back_pages(part);
      rest.remove_prefix(part.size());
    }
  }
  [[nodiscard]] bool finish() {
    flush(ZSTD_e_end);
    out_ += Encoder().be64(entries_).raw(as_text(hash_.finish())).raw(kEnd).bytes();
    return good_;
  }

 private:
  void flush(ZSTD_EndDirective mode) {
    const std::string raw = std::move(buffer_).bytes();
    buffer_ = Encoder();
    compress(raw, mode);
  }

  void compress(std::string_view raw, ZSTD_EndDirective mode) {
    hash_.add(raw);
    ZSTD_inBuffer in{raw.data(), raw.size(), 0};
    std::string piece(ZSTD_CStreamOutSize(), '\0');
    for (bool more = true; more && good_;) {
      ZSTD_outBuffer out{piece.data(), piece.size(), 0};
      const std::size_t left = ZSTD_compressStream2(stream_.get(), &out, &in, mode);
      good_ = ZSTD_isError(left) == 0;
      out_.append(piece, 0, out.pos);
      more = mode == ZSTD_e_end ? left != 0 : in.pos < in.size;
    }
  }

  std::unique_ptr<ZSTD_CStream, std::size_t (*)(ZSTD_CStream*)> stream_;
  Hasher hash_;
  std::string& out_;
  Encoder buffer_;
  std::uint64_t entries_ = 0;
  bool good_ = true;
};

// How long the entry is, at least, with which `bytes` begin: by what they have of its lengths.
std::uint64_t announced(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint64_t key = in.varint();
  if (!in.ok() || key >= in.rest().size()) return in.ok() ? key : 0;
  (void)in.raw(key);
  const std::uint64_t value = in.varint();
  return in.ok() ? std::max(key, value) : key;
}

// Takes entries off the front of `pending` as long as they are whole. Who forges a snapshot can
// make a few bytes become gigabytes: an entry is no longer than the commit that wrote it may be,
// and no key comes twice, so that what is endless ends soon.
class Unpacker {
 public:
  Unpacker(const StoreId& id, const std::function<bool(const Entry&)>& visit)
      : hash_(id), visit_(visit) {}

  [[nodiscard]] bool add(std::string_view raw) {
    hash_.add(raw);
    pending_.append(raw);
    std::string_view rest = pending_;
    for (;;) {
      Decoder in(rest);
      const std::string_view key = in.text();
      const std::string_view value = in.text();
      if (!in.ok()) break;
      if (key <= last_key_) return false;
      last_key_ = key;
      ++entries_;
      if (!visit_({key, value})) return false;
      rest = in.rest();
    }
    pending_.erase(0, pending_.size() - rest.size());
    const std::uint64_t length = announced(pending_);
    if (length > kMostValue) return false;
    // At once what it needs: to grow into it would take twice as much.
    if (length > kChunk) pending_.reserve(length + kChunk);
    return true;
  }
  [[nodiscard]] bool matches(std::uint64_t entries, const Hash128& hash) const {
    return pending_.empty() && entries == entries_ && hash == hash_.finish();
  }

 private:
  Hasher hash_;
  const std::function<bool(const Entry&)>& visit_;
  std::string pending_;
  std::string last_key_;  // of all keys none is empty
  std::uint64_t entries_ = 0;
};

// One zstd frame, as its bytes come.
class Frame {
 public:
  explicit Frame(Unpacker& to)
      : to_(to),
        stream_(ZSTD_createDStream(), ZSTD_freeDStream),
        piece_(ZSTD_DStreamOutSize(), 0) {}

  // false: it is none, something follows it, or the visitor stopped.
  [[nodiscard]] bool add(std::string_view bytes) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (left_ != 0) {
      ZSTD_outBuffer out{piece_.data(), piece_.size(), 0};
      left_ = ZSTD_decompressStream(stream_.get(), &out, &in);
      if (ZSTD_isError(left_) != 0) return false;
      if (!to_.add(std::string_view(piece_).substr(0, out.pos))) return false;
      if (in.pos == in.size && out.pos < out.size) break;
    }
    return in.pos == in.size;
  }
  [[nodiscard]] bool is_whole() const { return left_ == 0; }

 private:
  Unpacker& to_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  std::string piece_;
  std::size_t left_ = 1;
};

}  // namespace

Result<PackedSnapshot> pack_snapshot(const StoreId& id, const Txn& txn, const Head& head,
                                     const std::atomic<bool>* canceled) {
  PackedSnapshot out{head, encode_head(id, head)};
  // Not by growing, which would have it there twice. What is not needed of it is never touched.
  out.bytes.reserve(std::min<std::uint64_t>(state_size(txn), kMostReserved));
  Packer packer(id, out.bytes);
  bool stopped = false;
  const int rc = scan_state(txn, [&](const Entry& e) {
    packer.add(e);
    stopped = canceled != nullptr && canceled->load(std::memory_order_relaxed);
    return !stopped;
  });
  if (rc != 0) return lmdb_error(rc, "cannot read " + (txn.directory() / "data.mdb").string());
  if (stopped) return Error{ErrorKind::busy, "the snapshot is not needed any more", {}};
  if (!packer.finish()) {
    const SnapshotName name{head.sequence, head.chain};
    return Error{ErrorKind::io, "cannot compress snapshot " + name.text(), {}};
  }
  return out;
}

Result<void> publish_snapshot(Journal& journal, const PackedSnapshot& packed) {
  const SnapshotName name{packed.head.sequence, packed.head.chain};
  TORC_ASSIGN(const Publication made,
              journal.publisher().publish(journal.snapshot_directory(), name.text(), packed.bytes));
  if (made.state == Publication::State::absent) return made.error;
  return {};
}

Result<void> write_snapshot(Journal& journal, const Txn& txn, const Head& head) {
  TORC_ASSIGN(const PackedSnapshot packed, pack_snapshot(journal.id(), txn, head, nullptr));
  return publish_snapshot(journal, packed);
}

Result<Head> read_snapshot(Journal& journal, const SnapshotName& name,
                           const std::function<bool(const Entry&)>& visit) {
  const Path file = journal.snapshot_path(name);
  FileParts parts(journal.disk(), file, kMostOfASnapshot);
  TORC_ASSIGN(std::string bytes, parts.next());
  if (bytes.size() < kHeadSize + kFootSize) return damaged(file, "it is too short");
  TORC_ASSIGN(const Head head, decode_head(journal.id(), bytes, name, file));
  Unpacker unpacker(journal.id(), visit);
  Frame frame(unpacker);
  // The last bytes that were read may be the foot, and are kept back until there are more.
  bytes.erase(0, kHeadSize);
  bool good = true;
  for (;;) {
    TORC_ASSIGN(const std::string more, parts.next());
    if (more.empty()) break;
    good = good && frame.add(std::string_view(bytes).substr(0, bytes.size() - kFootSize));
    if (!good) break;
    bytes.erase(0, bytes.size() - kFootSize);
    bytes += more;
  }
  Decoder foot(std::string_view(bytes).substr(bytes.size() - kFootSize));
  const std::uint64_t entries = foot.be64();
  Hash128 hash{};
  (void)from_text(foot.raw(16), hash);
  if (good && foot.rest() != kEnd)
    return damaged(file, "it does not end like a snapshot (cut off)");
  good = good && frame.add(std::string_view(bytes).substr(0, bytes.size() - kFootSize));
  if (!good || !frame.is_whole() || !unpacker.matches(entries, hash))
    return damaged(file, "its content is wrong");
  return head;
}

}  // namespace torc::store
