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
#include <optional>
#include <string>

#include "lib/base/codec.h"
#include "lib/base/result.h"
#include "lib/store/disk/disk.h"
#include "lib/store/disk/hash.h"

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

// How long the commit file at the beginning of `bytes` is by what its head says; nullopt: there is
// no whole head. Nothing is checked.
[[nodiscard]] std::optional<std::uint64_t> commit_length(std::string_view bytes);

// Of one commit, in bytes, before they are compressed, and of one value in it. Who reads a commit
// has its file, then its writes beside the pages that LMDB keeps of them, and `torc verify` the
// state, too: three times this is less than 1 GiB. It is what the texts of a workflow file may have
// (64 MiB, and 256 MiB that variables put in); to cancel eight million jobs takes as much. Whoever
// would write more is told so, with either engine as far as it is about one value.
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

}  // namespace torc::store
