// The two checksums of the store. CRC-32C finds damage of a file on its own; the 128-bit hash names
// a whole history (each commit file contains the hash of its predecessor), so two equal hashes mean
// equal histories.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/clock.h"

namespace torc::store {

using Bytes16 = std::array<std::uint8_t, 16>;
using StoreId = Bytes16;
using CommitId = Bytes16;
using Hash128 = Bytes16;

[[nodiscard]] Bytes16 random_bytes(Entropy& entropy);
[[nodiscard]] std::string to_hex(const Bytes16& bytes);                  // 32 lower-case digits
[[nodiscard]] bool from_hex(std::string_view hex, Bytes16& bytes);       // false: not 32 hex digits
[[nodiscard]] std::string_view as_text(const Bytes16& bytes);            // the 16 bytes themselves
[[nodiscard]] bool from_text(std::string_view sixteen, Bytes16& bytes);  // false: not 16 bytes

// CRC-32C (Castagnoli), as in iSCSI, RFC 3720; "123456789" gives 0xe3069283.
// `before`: that of the bytes before these, where there are some.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
// 2012), keyed by the store id. A keyed pseudo-random function of 128 bits: no two histories of one
// store collide by accident, and those of two stores are unrelated even when their commits are the
// same. It is no defence against a user of the store who wants to forge a history; such a user
// could simply write one.
class Hasher {
 public:
  explicit Hasher(const StoreId& key);
  Hasher& add(std::string_view bytes);
  [[nodiscard]] Hash128 finish() const;  // of everything added so far; add() may go on

 private:
  struct State {
    std::uint64_t v0, v1, v2, v3;
  };
  static void round(State& s);
  static void absorb(State& s, std::uint64_t word);

  State state_;
  std::array<std::uint8_t, 8> tail_{};
  std::uint64_t length_ = 0;
};

[[nodiscard]] Hash128 hash128(const StoreId& key, std::string_view bytes);

}  // namespace torc::store
