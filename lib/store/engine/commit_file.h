// One commit as a file: what changed, who says so, and the hash of the file before it.
//
//   magic "torcCMT1" | store id 16 | sequence be64 | chain hash before 16 | commit id 16 | author
//   be64 | flags be32 (1: payload is zstd) | raw length be64 | payload length be64 | payload |
//   CRC-32C be32 of all before
//
// The chain hash *after* a commit is the 128-bit hash of its whole file, so it covers all of
// history. The payload is a write set: for each write, in order, 1 and key and value, or 2 and key
// (texts of the base codec).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/base/codec.h"
#include "lib/base/result.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/hash.h"

struct ZSTD_DCtx_s;

namespace torc::store {

struct CommitHeader {
  std::uint64_t sequence = 0;
  Hash128 before{};  // chain hash of sequence - 1; zeros for the first
  CommitId id{};
  std::uint64_t author = 0;
};

struct CommitFile {
  CommitHeader header;
  std::string writes;      // the write set, uncompressed
  Hash128 after{};         // chain hash including this commit
  std::uint64_t size = 0;  // bytes of the file
};

[[nodiscard]] std::string encode_commit(const StoreId& store, const CommitHeader& header,
                                        std::string_view writes);

// Checks everything that the file alone can tell: magic, store id, lengths, CRC, and that it is
// number `sequence`. Errors: corrupt, naming `file`.
Result<CommitFile> decode_commit(const StoreId& store, std::uint64_t sequence,
                                 std::string_view bytes, const Path& file);

// The same of bytes that come one part after the other: of a large file there are its writes and a
// part at a time, never all of the file beside them.
class CommitDecoder {
 public:
  CommitDecoder(const StoreId& store, std::uint64_t sequence);
  ~CommitDecoder();
  CommitDecoder(const CommitDecoder&) = delete;
  CommitDecoder& operator=(const CommitDecoder&) = delete;

  // false: enough, whatever follows it is no commit file.
  [[nodiscard]] bool add(std::string_view part);
  // After the last part.
  Result<CommitFile> finish(const Path& file) &&;

 private:
  void begin_payload();
  void add_payload(std::string_view part);
  void decompress(std::string_view part);

  StoreId store_;
  std::uint64_t sequence_;
  Hasher hash_;
  std::uint32_t crc_ = 0;
  std::string head_;
  std::string foot_;
  bool too_long_ = false;  // something follows the foot
  // What the head says.
  StoreId id_{};
  CommitHeader header_;
  std::uint32_t flags_ = 0;
  std::uint64_t raw_size_ = 0;
  std::uint64_t payload_size_ = 0;
  // The payload, as far as it came.
  std::uint64_t payload_left_ = 0;
  bool good_ = true;
  std::string frame_head_;  // too little to begin with
  std::string writes_;
  std::size_t written_ = 0;     // of writes_, decompressed
  std::size_t frame_left_ = 1;  // 0: the frame has ended
  std::unique_ptr<ZSTD_DCtx_s, std::size_t (*)(ZSTD_DCtx_s*)> stream_;
};

// The same of a large file that is there as a whole, and is given back as its writes come.
Result<CommitFile> decode_large_commit(const StoreId& store, std::uint64_t sequence,
                                       std::string&& bytes, const Path& file);

// How long the commit file at the beginning of `bytes` is by what its head says; nullopt: there is
// no whole head. Nothing is checked.
[[nodiscard]] std::optional<std::uint64_t> commit_length(std::string_view bytes);

// Of one commit, in bytes, before they are compressed, and of one value in it. Who reads a commit
// has its writes, which go as LMDB's pages of them come, and one value twice: together that is less
// than half a gibibyte. It is what the texts of a workflow file may have (64 MiB, and 256 MiB that
// variables put in); to cancel eight million jobs takes as much. Whoever would write more is told
// so, with either engine as far as it is about one value.
inline constexpr std::size_t kMostWrites = std::size_t{320} << 20;
inline constexpr std::size_t kMostValue = std::size_t{128} << 20;

class WriteSet {
 public:
  void put(std::string_view key, std::string_view value) { out_.u8(1).text(key).text(value); }
  void erase(std::string_view key) { out_.u8(2).text(key); }
  [[nodiscard]] const std::string& bytes() const { return out_.bytes(); }
  [[nodiscard]] bool empty() const { return out_.bytes().empty(); }

 private:
  Encoder out_;
};

// Calls `put` and `erase` for each write in order. false: the bytes are no write set that torc
// would make.
[[nodiscard]] bool replay(std::string_view writes,
                          const std::function<void(std::string_view, std::string_view)>& put,
                          const std::function<void(std::string_view)>& erase);

// The same of writes that nobody reads again: their memory is given back on the way, so that they
// are never there beside all that is made of them.
[[nodiscard]] bool replay_once(std::string writes,
                               const std::function<void(std::string_view, std::string_view)>& put,
                               const std::function<void(std::string_view)>& erase);

}  // namespace torc::store
