// What a transaction sees of the state: one ordered map from byte strings to byte strings. Both
// engines, the replica and the in-memory state of the tests offer exactly this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace torc::store {

// LMDB's limit is 511. Keys are never empty. Keys that begin with byte 0x00 belong to the store
// itself.
inline constexpr std::size_t kMaxKeySize = 500;
inline constexpr std::string_view kFirstUserKey{"\1", 1};

struct Entry {
  std::string_view key;
  std::string_view value;
};

// A reader of one consistent state. Views that it returns are valid until the transaction ends and,
// in a Transaction, until its next put or erase. A failed read of the underlying storage reads as
// absence and spoils the transaction: commit() or view() then report the error and nothing that was
// decided counts.
class Reader {
 public:
  virtual ~Reader() = default;

  [[nodiscard]] virtual std::optional<std::string_view> get(std::string_view key) const = 0;

  // The first entry whose key is >= `from`, or nothing at the end.
  [[nodiscard]] virtual std::optional<Entry> seek(std::string_view from) const = 0;

  // The last entry whose key is < `before`, or nothing.
  [[nodiscard]] virtual std::optional<Entry> seek_before(std::string_view before) const = 0;

  // Visits entries with key >= `from` in order until `visit` returns false or the end. `visit` must
  // not write.
  virtual void scan(std::string_view from,
                    const std::function<bool(const Entry&)>& visit) const = 0;

  // Visits the entries whose key begins with `prefix`.
  void scan_prefix(std::string_view prefix, const std::function<bool(const Entry&)>& visit) const {
    scan(prefix, [&](const Entry& e) { return e.key.starts_with(prefix) && visit(e); });
  }

  // Number of the last commit that this state contains; 0: none.
  [[nodiscard]] virtual std::uint64_t sequence() const = 0;
};

class Transaction : public Reader {
 public:
  // `key` and `value` are copied.
  virtual void put(std::string_view key, std::string_view value) = 0;
  virtual void erase(std::string_view key) = 0;  // an absent key is no error
  // In a Transaction, sequence() is the number that this commit will have if it succeeds.
};

}  // namespace torc::store
