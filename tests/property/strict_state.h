// A MemoryState that takes the contract of views at its word: all that it handed out are garbage
// after the next write, as they may be in an engine that reuses its pages.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "lib/store/engine/memory_state.h"

namespace torc::store {

class StrictState final : public Transaction {
 public:
  std::optional<std::string_view> get(std::string_view key) const override {
    const auto value = state.get(key);
    return value ? std::optional(hand_out(*value)) : std::nullopt;
  }
  std::optional<Entry> seek(std::string_view from) const override {
    return hand_out(state.seek(from));
  }
  std::optional<Entry> seek_before(std::string_view before) const override {
    return hand_out(state.seek_before(before));
  }
  void scan(std::string_view from, const std::function<bool(const Entry&)>& visit) const override {
    state.scan(from, visit);
  }
  std::uint64_t sequence() const override { return state.sequence(); }
  void put(std::string_view key, std::string_view value) override {
    state.put(std::string(key), std::string(value));
    spoil();
  }
  void erase(std::string_view key) override {
    state.erase(std::string(key));
    spoil();
  }
  void spoil() {
    for (std::string& s : handed_out_) s.assign(s.size(), '\xee');
    handed_out_.clear();
  }

  MemoryState state;

 private:
  std::string_view hand_out(std::string_view v) const { return handed_out_.emplace_back(v); }
  std::optional<Entry> hand_out(std::optional<Entry> e) const {
    if (!e) return std::nullopt;
    return Entry{hand_out(e->key), hand_out(e->value)};
  }
  mutable std::list<std::string> handed_out_;
};

}  // namespace torc::store
