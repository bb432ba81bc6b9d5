// Bytes on disk: big-endian fixed integers for keys (so that byte order is number order),
// little-endian base-128 varints for values, length-prefixed strings. A Decoder never reads past
// its input: after the first bad field ok() is false and every further field reads as zero or
// empty.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace torc {

// As far as Decoder::wall_time() and seconds() read: what is further off is written as that.
[[nodiscard]] std::chrono::microseconds in_reach(std::chrono::microseconds time);
[[nodiscard]] std::chrono::seconds in_reach(std::chrono::seconds time);

class Encoder {
 public:
  Encoder() = default;
  explicit Encoder(char table) { out_.push_back(table); }

  Encoder& u8(std::uint8_t v);
  Encoder& be32(std::uint32_t v);
  Encoder& be64(std::uint64_t v);
  Encoder& varint(std::uint64_t v);
  Encoder& svarint(std::int64_t v);   // zigzag
  Encoder& text(std::string_view v);  // varint length, then the bytes
  Encoder& raw(std::string_view v);   // the bytes alone

  [[nodiscard]] const std::string& bytes() const& { return out_; }
  [[nodiscard]] std::string bytes() && { return std::move(out_); }

 private:
  std::string out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}

  std::uint8_t u8();
  std::uint32_t be32();
  std::uint64_t be64();
  std::uint64_t varint();
  std::int64_t svarint();
  // What does not fit is a bad field, as it would be taken for another number.
  std::uint32_t u32();                      // a varint
  std::int32_t i32();                       // a svarint
  std::uint64_t up_to(std::uint64_t most);  // a varint
  std::int64_t within(std::int64_t most);   // a svarint of -most to most
  // svarints, within what this program's clocks and limits can give: they can be added up, and
  // turned into nanoseconds.
  std::chrono::microseconds wall_time();
  std::chrono::microseconds wall_time(std::chrono::microseconds from);  // as the distance
  std::chrono::seconds seconds();
  std::string_view text();              // valid as long as the input
  std::string_view raw(std::size_t n);  // valid as long as the input

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool is_whole() const { return ok_ && in_.empty(); }  // and nothing is left
  // What was decoded, if that is all there is.
  template <class T>
  [[nodiscard]] std::optional<T> whole(T decoded) const {
    return is_whole() ? std::optional<T>(std::move(decoded)) : std::nullopt;
  }
  [[nodiscard]] bool at_end() const { return in_.empty(); }
  [[nodiscard]] std::string_view rest() const { return in_; }

 private:
  void fail();
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace torc
