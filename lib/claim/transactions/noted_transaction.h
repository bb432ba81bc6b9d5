// A transaction that notes what was there before each of its writes, so that they can be taken
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/claim/tables/transaction.h"

namespace torc::claim {

class NotedTransaction final : public Transaction {
 public:
  // Of keys and values: what is more is not noted, and what was noted is forgotten.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  // By key; nullopt: there was nothing.
  using Before = std::unordered_map<std::string, std::optional<std::string>>;

  // `tx` outlives this.
  explicit NotedTransaction(Transaction& tx) : tx_(tx) {}

  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const override {
    return tx_.get(key);
  }
  [[nodiscard]] std::optional<store::Entry> seek(std::string_view from) const override {
    return tx_.seek(from);
  }
  [[nodiscard]] std::optional<store::Entry> seek_before(std::string_view before) const override {
    return tx_.seek_before(before);
  }
  void scan(std::string_view from,
            const std::function<bool(const store::Entry&)>& visit) const override {
    tx_.scan(from, visit);
  }
  [[nodiscard]] std::uint64_t sequence() const override { return tx_.sequence(); }
  void put(std::string_view key, std::string_view value) override {
    note(key);
    tx_.put(key, value);
  }
  void erase(std::string_view key) override {
    note(key);
    tx_.erase(key);
  }

  [[nodiscard]] bool is_too_large() const { return bytes_ > kMostBytes; }
  [[nodiscard]] const Before& before() const { return before_; }

 private:
  void note(std::string_view key) {
    if (is_too_large()) return;
    const auto [at, fresh] = before_.try_emplace(std::string(key));
    if (!fresh) return;
    if (const auto value = tx_.get(key)) at->second.emplace(*value);
    bytes_ += key.size() + (at->second ? at->second->size() : 0);
    if (is_too_large()) before_.clear();
  }

  Transaction& tx_;
  Before before_;
  std::size_t bytes_ = 0;
};

}  // namespace torc::claim
