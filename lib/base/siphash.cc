#include "lib/base/siphash.h"

#include <bit>
#include <cstddef>

namespace torc {
namespace {

struct State {
  std::uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
  std::uint64_t finish() {
    for (int i = 0; i < 4; ++i) round();
    return v0 ^ v1 ^ v2 ^ v3;
  }
};

// Little-endian, of at most eight bytes.
template <class Bytes>
std::uint64_t word_of(const Bytes& bytes, std::size_t at, std::size_t size) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < size; ++i)
    word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[at + i])) << (8 * i);
  return word;
}

void put(SipTag& tag, std::size_t at, std::uint64_t word) {
  for (std::size_t i = 0; i < 8; ++i) tag[at + i] = static_cast<std::uint8_t>(word >> (8 * i));
}

}  // namespace

SipTag siphash128(const SipKey& key, std::string_view message) {
  const std::uint64_t k0 = word_of(key, 0, 8);
  const std::uint64_t k1 = word_of(key, 8, 8);
  State s{k0 ^ 0x736f6d6570736575U, k1 ^ 0x646f72616e646f6dU ^ 0xeeU, k0 ^ 0x6c7967656e657261U,
          k1 ^ 0x7465646279746573U};
  const std::size_t whole = message.size() / 8 * 8;
  for (std::size_t at = 0; at < whole; at += 8) s.take(word_of(message, at, 8));
  s.take(word_of(message, whole, message.size() - whole) |
         static_cast<std::uint64_t>(message.size()) << 56U);
  SipTag tag{};
  s.v2 ^= 0xeeU;
  put(tag, 0, s.finish());
  s.v1 ^= 0xddU;
  put(tag, 8, s.finish());
  return tag;
}

bool same_tag(const SipTag& a, const SipTag& b) {
  unsigned differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differs |= static_cast<unsigned>(a[i] ^ b[i]);
  return differs == 0;
}

}  // namespace torc
