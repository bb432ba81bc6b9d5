#include "lib/store/disk/hash.h"

#include <bit>
#include <cstring>

namespace torc::store {
namespace {

constexpr std::uint32_t kCastagnoli = 0x82f63b78;  // reflected polynomial

// Eight tables, so that eight bytes are taken in one step (Kounavis and Berry, "Novel table
// lookup-based algorithms for high-performance CRC generation", 2008).
constexpr auto make_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? kCastagnoli : 0);
    t[0][i] = c;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  }
  return t;
}
constexpr auto kTables = make_tables();

std::uint64_t little64(const std::uint8_t* p) {
  std::uint64_t v = 0;
  for (int i = 7; i >= 0; --i) v = (v << 8) | p[i];
  return v;
}

void put_little64(std::uint8_t* p, std::uint64_t v) {
  for (int i = 0; i < 8; ++i) p[i] = static_cast<std::uint8_t>(v >> (8 * i));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Bytes16 random_bytes(Entropy& entropy) {
  Bytes16 out{};
  put_little64(out.data(), entropy.next());
  put_little64(out.data() + 8, entropy.next());
  return out;
}

std::string to_hex(const Bytes16& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(32);
  for (std::uint8_t b : bytes) {
    out.push_back(kDigits[b >> 4]);
    out.push_back(kDigits[b & 15]);
  }
  return out;
}

bool from_hex(std::string_view hex, Bytes16& bytes) {
  if (hex.size() != 32) return false;
  for (std::size_t i = 0; i < 16; ++i) {
    const int high = hex_digit(hex[2 * i]);
    const int low = hex_digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

std::string_view as_text(const Bytes16& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool from_text(std::string_view sixteen, Bytes16& bytes) {
  if (sixteen.size() != bytes.size()) return false;
  std::memcpy(bytes.data(), sixteen.data(), bytes.size());
  return true;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  std::uint32_t crc = ~before;
  for (; left >= 8; left -= 8, p += 8) {
    const std::uint64_t w = little64(p) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(w >> (8 * k)) & 0xff];
  }
  for (; left > 0; --left, ++p) crc = (crc >> 8) ^ kTables[0][(crc ^ *p) & 0xff];
  return ~crc;
}

Hasher::Hasher(const StoreId& key) {
  const std::uint64_t k0 = little64(key.data());
  const std::uint64_t k1 = little64(key.data() + 8);
  // The constants of the paper ("somepseudorandomlygeneratedbytes"); 0xee selects 128 bits of
  // output.
  state_ = {0x736f6d6570736575 ^ k0, 0x646f72616e646f6d ^ k1 ^ 0xee, 0x6c7967656e657261 ^ k0,
            0x7465646279746573 ^ k1};
}

void Hasher::round(State& s) {
  s.v0 += s.v1;
  s.v1 = std::rotl(s.v1, 13) ^ s.v0;
  s.v0 = std::rotl(s.v0, 32);
  s.v2 += s.v3;
  s.v3 = std::rotl(s.v3, 16) ^ s.v2;
  s.v0 += s.v3;
  s.v3 = std::rotl(s.v3, 21) ^ s.v0;
  s.v2 += s.v1;
  s.v1 = std::rotl(s.v1, 17) ^ s.v2;
  s.v2 = std::rotl(s.v2, 32);
}

void Hasher::absorb(State& s, std::uint64_t word) {
  s.v3 ^= word;
  round(s);
  round(s);
  s.v0 ^= word;
}

Hasher& Hasher::add(std::string_view bytes) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  std::size_t held = length_ % 8;
  length_ += left;
  if (held > 0) {
    while (left > 0 && held < 8) {
      tail_[held++] = *p++;
      --left;
    }
    if (held < 8) return *this;
    absorb(state_, little64(tail_.data()));
  }
  for (; left >= 8; left -= 8, p += 8) absorb(state_, little64(p));
  std::memcpy(tail_.data(), p, left);
  return *this;
}

Hash128 Hasher::finish() const {
  State s = state_;
  std::uint64_t last = (length_ & 0xff) << 56;
  for (std::size_t i = 0; i < length_ % 8; ++i) last |= std::uint64_t{tail_[i]} << (8 * i);
  absorb(s, last);
  Hash128 out;
  s.v2 ^= 0xee;
  for (int i = 0; i < 4; ++i) round(s);
  put_little64(out.data(), s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
  s.v1 ^= 0xdd;
  for (int i = 0; i < 4; ++i) round(s);
  put_little64(out.data() + 8, s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
  return out;
}

Hash128 hash128(const StoreId& key, std::string_view bytes) {
  return Hasher(key).add(bytes).finish();
}

}  // namespace torc::store
