// What a bell says: that the store has a commit which left work for others. A datagram of 54 bytes
// with a code that only those can make who can read the store. Whoever gets one may look earlier
// than it would have; nothing else follows from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/siphash.h"

namespace torc::worker {

struct BellMessage {
  std::uint64_t commit = 0;
  // Of all that are rung for it: those that come later look later, so that not all come at once.
  std::uint32_t place = 0;
  auto operator<=>(const BellMessage&) const = default;
};

// store::Identity::instance: copies of a store do not ring each other's workers.
using StoreInstance = std::array<std::uint8_t, 16>;

// Longer than any that is read.
inline constexpr std::size_t kMostBellBytes = 64;

[[nodiscard]] std::string render_bell(const BellMessage& message, const StoreInstance& store,
                                      const SipKey& key);
// nullopt: it is no bell, one for another store, or not made with this key.
[[nodiscard]] std::optional<BellMessage> read_bell(std::string_view datagram,
                                                   const StoreInstance& store, const SipKey& key);

}  // namespace torc::worker
