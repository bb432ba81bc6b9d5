#include "lib/base/codec.h"

namespace torc {

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
  ok_ = false;
  in_ = {};
  return 0;
}

std::int64_t Decoder::svarint() {
  const std::uint64_t v = varint();
  return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
}

std::string_view Decoder::text() {
  const std::uint64_t n = varint();
  return ok_ ? raw(n) : std::string_view{};
}

std::string_view Decoder::raw(std::size_t n) {
  if (!ok_ || n > in_.size()) {
    ok_ = false;
    in_ = {};
    return {};
  }
  std::string_view out = in_.substr(0, n);
  in_.remove_prefix(n);
  return out;
}

}  // namespace torc
