#include "lib/base/codec.h"

#include <algorithm>
#include <cstdint>

namespace torc {
namespace {

// Microseconds. Linux lets no clock be set beyond the year 2232 (TIME_SETTOD_SEC_MAX), which is
// less.
constexpr std::int64_t kLatest = std::int64_t{1} << 53;
constexpr std::int64_t kLongestTime = std::int64_t{1} << 33;  // 272 years: in nanoseconds it fits

}  // namespace

std::chrono::microseconds in_reach(std::chrono::microseconds time) {
  return std::chrono::microseconds(std::clamp(time.count(), -kLatest, kLatest));
}

std::chrono::seconds in_reach(std::chrono::seconds time) {
  return std::chrono::seconds(std::clamp(time.count(), -kLongestTime, kLongestTime));
}

Encoder& Encoder::u8(std::uint8_t v) {
  out_.push_back(static_cast<char>(v));
  return *this;
}

Encoder& Encoder::be32(std::uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) out_.push_back(static_cast<char>(v >> shift));
  return *this;
}

Encoder& Encoder::be64(std::uint64_t v) {
  for (int shift = 56; shift >= 0; shift -= 8) out_.push_back(static_cast<char>(v >> shift));
  return *this;
}

Encoder& Encoder::varint(std::uint64_t v) {
  while (v >= 0x80) {
    out_.push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  out_.push_back(static_cast<char>(v));
  return *this;
}

Encoder& Encoder::svarint(std::int64_t v) {
  return varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
}

Encoder& Encoder::text(std::string_view v) {
  varint(v.size());
  out_.append(v);
  return *this;
}

Encoder& Encoder::raw(std::string_view v) {
  out_.append(v);
  return *this;
}

std::uint8_t Decoder::u8() {
  std::string_view b = raw(1);
  return b.empty() ? 0 : static_cast<std::uint8_t>(b[0]);
}

std::uint32_t Decoder::be32() {
  std::uint32_t v = 0;
  for (char c : raw(4)) v = (v << 8) | static_cast<std::uint8_t>(c);
  return v;
}

std::uint64_t Decoder::be64() {
  std::uint64_t v = 0;
  for (char c : raw(8)) v = (v << 8) | static_cast<std::uint8_t>(c);
  return v;
}

std::uint64_t Decoder::varint() {
  std::uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in_.empty()) break;
    const auto b = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    v |= static_cast<std::uint64_t>(b & 0x7f) << shift;
    if (b < 0x80) {
      if (shift == 63 && b > 1) break;
      return v;
    }
  }
  fail();
  return 0;
}

std::int64_t Decoder::svarint() {
  const std::uint64_t v = varint();
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

void Decoder::fail() {
  ok_ = false;
  in_ = {};
}

std::uint64_t Decoder::up_to(std::uint64_t most) {
  const std::uint64_t v = varint();
  if (v <= most) return v;
  fail();
  return 0;
}

std::int64_t Decoder::within(std::int64_t most) {
  const std::int64_t v = svarint();
  if (v >= -most && v <= most) return v;
  fail();
  return 0;
}

std::uint32_t Decoder::u32() {
  return static_cast<std::uint32_t>(up_to(UINT32_MAX));
}

std::int32_t Decoder::i32() {
  const std::int64_t v = svarint();
  if (v >= INT32_MIN && v <= INT32_MAX) return static_cast<std::int32_t>(v);
  fail();
  return 0;
}

std::chrono::microseconds Decoder::wall_time() {
  return std::chrono::microseconds(within(kLatest));
}

// Precondition: `from` is one itself.
std::chrono::microseconds Decoder::wall_time(std::chrono::microseconds from) {
  const std::int64_t at = from.count() + within(2 * kLatest);
  if (at < -kLatest || at > kLatest) fail();
  return std::chrono::microseconds(ok_ ? at : 0);
}

std::chrono::seconds Decoder::seconds() {
  return std::chrono::seconds(within(kLongestTime));
}

std::string_view Decoder::text() {
  const std::uint64_t n = varint();
  return ok_ ? raw(n) : std::string_view{};
}

std::string_view Decoder::raw(std::size_t n) {
  if (!ok_ || n > in_.size()) {
    fail();
    return {};
  }
  std::string_view out = in_.substr(0, n);
  in_.remove_prefix(n);
  return out;
}

}  // namespace torc
