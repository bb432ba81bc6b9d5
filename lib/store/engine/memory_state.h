// The slow, obvious state: a std::map. For tests of everything that runs inside transactions, and
// the oracle of the store's own property tests.
#pragma once

#include <map>
#include <string>

#include "lib/store/engine/transaction.h"

namespace torc::store {

class MemoryState final : public Transaction {
 public:
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const override {
    auto it = entries.find(key);
    if (it == entries.end()) return std::nullopt;
    return it->second;
  }
  [[nodiscard]] std::optional<Entry> seek(std::string_view from) const override {
    auto it = entries.lower_bound(from);
    if (it == entries.end()) return std::nullopt;
    return Entry{it->first, it->second};
  }
  [[nodiscard]] std::optional<Entry> seek_before(std::string_view before) const override {
    auto it = entries.lower_bound(before);
    if (it == entries.begin()) return std::nullopt;
    --it;
    return Entry{it->first, it->second};
  }
  void scan(std::string_view from, const std::function<bool(const Entry&)>& visit) const override {
    for (auto it = entries.lower_bound(from); it != entries.end(); ++it) {
      if (!visit({it->first, it->second})) return;
    }
  }
  [[nodiscard]] std::uint64_t sequence() const override { return number; }
  void put(std::string_view key, std::string_view value) override {
    entries.insert_or_assign(std::string(key), std::string(value));
  }
  void erase(std::string_view key) override {
    if (auto it = entries.find(key); it != entries.end()) entries.erase(it);
  }

  std::map<std::string, std::string, std::less<>> entries;
  std::uint64_t number = 1;
};

}  // namespace torc::store
