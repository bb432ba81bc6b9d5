// How a parameter's value becomes text: the part after ':' in `{i:03d}` or `{lr:.4f}`, a subset of
// what printf and Python have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/codec.h"
#include "lib/spec/language/workflow.h"

namespace torc::spec {

// [align][+][0][width][.precision][kind]; align is < > ^, kind one of d x X f F e E g G s. The
// width counts characters. Without any format: integers in decimal; a float as the shortest text
// that reads back as the same double and as a float (0.1, 1.0, 1e-05: plain digits from 0.0001 to
// below 1e16); text and numerals as they are. With one a numeral is the number that it says.
struct Format {
  char kind = 0;   // 0: none was given
  char align = 0;  // 0: numbers to the right, text to the left
  bool plus = false;
  bool zeros = false;
  std::uint16_t width = 0;
  std::int16_t precision = -1;  // -1: none was given

  [[nodiscard]] bool is_plain() const {
    return kind == 0 && width == 0 && precision < 0 && !plus && align == 0;
  }
  bool operator==(const Format&) const = default;
};

// Widths and precisions go up to kMaxWidth. nullopt: not a format.
constexpr int kMaxWidth = 200;
[[nodiscard]] std::optional<Format> parse_format(std::string_view text);

enum class ValueKind : std::uint8_t { integer, real, text };
[[nodiscard]] ValueKind kind_of(const ParameterValue& value);
// The number as `{name}` would print it.
[[nodiscard]] std::string plain_text(const std::variant<std::int64_t, double>& number);
[[nodiscard]] bool fits(const Format& format, ValueKind kind);

// Precondition: the format fits.
void append(std::string& out, std::int64_t value, const Format& format);
void append(std::string& out, double value, const Format& format);
void append(std::string& out, std::string_view value, const Format& format);

// Value `index` of the parameter, without copying it.
void append_value(std::string& out, const ParameterValues& values, std::uint64_t index,
                  const Format& format);

void encode(Encoder& out, const Format& format);
[[nodiscard]] Format decode_format(Decoder& in);

}  // namespace torc::spec
