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

// Of entries that somebody else keeps, those of the store's callers.
class EntriesReader final : public Reader {
 public:
  using Entries = std::map<std::string, std::string, std::less<>>;
  EntriesReader(const Entries& entries, std::uint64_t number)
      : entries_(&entries), first_(entries.lower_bound(kFirstUserKey)), number_(number) {}

  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const override {
    const auto at = key < kFirstUserKey ? entries_->end() : entries_->find(key);
    if (at == entries_->end()) return std::nullopt;
    return at->second;
  }
  [[nodiscard]] std::optional<Entry> seek(std::string_view from) const override {
    const auto at = from_on(from);
    if (at == entries_->end()) return std::nullopt;
    return Entry{at->first, at->second};
  }
  [[nodiscard]] std::optional<Entry> seek_before(std::string_view before) const override {
    auto at = from_on(before);
    if (at == first_) return std::nullopt;
    --at;
    return Entry{at->first, at->second};
  }
  void scan(std::string_view from, const std::function<bool(const Entry&)>& visit) const override {
    for (auto at = from_on(from); at != entries_->end(); ++at) {
      if (!visit({at->first, at->second})) return;
    }
  }
  [[nodiscard]] std::uint64_t sequence() const override { return number_; }

 private:
  [[nodiscard]] Entries::const_iterator from_on(std::string_view key) const {
    return key < kFirstUserKey ? first_ : entries_->lower_bound(key);
  }

  const Entries* entries_;
  Entries::const_iterator first_;
  std::uint64_t number_;
};

}  // namespace torc::store
