// The state in LMDB, as a transaction sees it, and the store's own entries in it.
#pragma once

#include <optional>

#include "lib/store/disk/hash.h"
#include "lib/store/engine/commit_file.h"
#include "lib/store/engine/transaction.h"
#include "lib/store/lmdb/environment.h"

namespace torc::store {

// The store's own keys. kHeadKey: where in history this state is. kRingKey + be16(sequence mod
// 8192): the ids of the newest commits, by which an author that was frozen learns what became of
// its own.
inline constexpr std::string_view kHeadKey{"\0h", 2};
inline constexpr std::string_view kRingPrefix{"\0r", 2};
// kTailPrefix + u8(sequence mod 64): the newest commit files as they are, for segments; what one
// node has and another need not, so not part of a snapshot.
inline constexpr std::string_view kTailPrefix{"\0t", 2};
inline constexpr std::uint64_t kTailSize = 64;
inline constexpr std::uint64_t kRingSize = 8192;

struct Head {
  std::uint64_t sequence = 0;  // 0: nothing yet
  Hash128 chain{};             // engine journal: hash of the newest commit file
  std::uint64_t bytes = 0;     // engine journal: length of all commit files so far
  std::uint64_t author = 0;    // of the newest commit; not part of a snapshot
};

[[nodiscard]] std::string ring_key(std::uint64_t sequence);
[[nodiscard]] std::string ring_value(std::uint64_t sequence, const CommitId& id);

// What the ring says of commit `sequence`.
struct RingEntry {
  std::uint64_t sequence =
      0;  // the commit that has the slot now; another one when it was overwritten
  CommitId id{};
};

class LmdbTransaction final : public Transaction {
 public:
  // `sequence` as sequence() shall answer. `capture`, when given, collects what is written.
  LmdbTransaction(Txn& txn, std::uint64_t sequence, WriteSet* capture = nullptr)
      : txn_(txn), sequence_(sequence), capture_(capture) {}
  ~LmdbTransaction() override;  // before the Txn ends
  LmdbTransaction(const LmdbTransaction&) = delete;
  LmdbTransaction& operator=(const LmdbTransaction&) = delete;

  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const override;
  [[nodiscard]] std::optional<Entry> seek(std::string_view from) const override;
  [[nodiscard]] std::optional<Entry> seek_before(std::string_view before) const override;
  void scan(std::string_view from, const std::function<bool(const Entry&)>& visit) const override;
  [[nodiscard]] std::uint64_t sequence() const override { return sequence_; }
  void put(std::string_view key, std::string_view value) override;
  void erase(std::string_view key) override;

  [[nodiscard]] bool wrote() const { return wrote_; }
  // The first thing that went wrong in LMDB or by the caller; nothing that was decided after it
  // counts.
  [[nodiscard]] Result<void> health() const;
  [[nodiscard]] bool map_full() const { return rc_ == MDB_MAP_FULL; }
  [[nodiscard]] int code() const { return rc_; }

 private:
  [[nodiscard]] bool usable(std::string_view key) const;
  void spoil(int rc) const;
  [[nodiscard]] MDB_cursor* opened(MDB_cursor*& cursor) const;

  Txn& txn_;
  std::uint64_t sequence_;
  WriteSet* capture_;
  bool wrote_ = false;
  // One for each kind of use: a cursor finds a key on the page where it stands without a walk from
  // the root, and a batch reads, writes and erases in three places of the tree.
  mutable MDB_cursor* cursor_ = nullptr;
  MDB_cursor* put_cursor_ = nullptr;
  MDB_cursor* erase_cursor_ = nullptr;
  mutable int rc_ = 0;
  mutable bool bad_key_ = false;
  std::size_t too_large_ = 0;  // bytes of a value that is
  std::string copy_;  // of key and value of a write: they may be views into the page that it moves
};

// The store's own entries and whole states, on the raw transaction. They return LMDB's code: 0 is
// success.
[[nodiscard]] std::optional<Head> decode_head(std::string_view value);
[[nodiscard]] int read_head(const Txn& txn, Head& head);
[[nodiscard]] int write_head(Txn& txn, const Head& head);
[[nodiscard]] int write_ring(Txn& txn, std::uint64_t sequence, const CommitId& id);
[[nodiscard]] int read_ring(const Txn& txn, std::uint64_t sequence, RingEntry& entry);
// A commit file of more bytes is not kept, nor is an empty one.
inline constexpr std::size_t kMostOfTail = std::size_t{1} << 20;
[[nodiscard]] int write_tail(Txn& txn, std::uint64_t sequence, std::string_view file);
// nullopt: it is not there. Valid until the transaction ends.
[[nodiscard]] std::optional<std::string_view> read_tail(const Txn& txn, std::uint64_t sequence);
[[nodiscard]] int put_entry(Txn& txn, std::string_view key, std::string_view value);
[[nodiscard]] int erase_entry(Txn& txn, std::string_view key);
[[nodiscard]] int clear_state(Txn& txn);
// Bytes of the pages that the state takes.
[[nodiscard]] std::uint64_t state_size(const Txn& txn);
// Visits every entry that is part of the replicated state: all but head and tail.
[[nodiscard]] int scan_state(const Txn& txn, const std::function<bool(const Entry&)>& visit);

}  // namespace torc::store
