#include "lib/spec/language/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lib/base/quantities.h"
#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"

namespace torc::spec {
namespace {

constexpr std::string_view kKinds = "dxXfFeEgGs";

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// False: more digits than any sensible width has.
bool take_number(std::string_view& text, int& value) {
  value = 0;
  while (!text.empty() && is_digit(text.front())) {
    value = value * 10 + (text.front() - '0');
    if (value > kMaxWidth) return false;
    text.remove_prefix(1);
  }
  return true;
}

void pad(std::string& out, std::string_view text, const Format& format, char natural) {
  const std::size_t length = count_characters(text);
  const std::size_t missing = format.width > length ? format.width - length : 0;
  const char align = format.align == 0 ? natural : format.align;
  const std::size_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2;
  out.append(left, ' ').append(text).append(missing - left, ' ');
}

// `digits` is without a sign.
void append_number(std::string& out, bool negative, std::string_view digits, const Format& format) {
  const std::string_view sign = negative ? "-" : format.plus ? "+" : "";
  const std::size_t length = sign.size() + digits.size();
  if (format.zeros && format.align == 0) {
    out.append(sign).append(format.width > length ? format.width - length : 0, '0').append(digits);
  } else if (format.width <= length) {
    out.append(sign).append(digits);
  } else {
    pad(out, std::string(sign).append(digits), format, '>');
  }
}

struct KindOf {
  ValueKind operator()(std::int64_t) const { return ValueKind::integer; }
  ValueKind operator()(double) const { return ValueKind::real; }
  ValueKind operator()(const std::string&) const { return ValueKind::text; }
  ValueKind operator()(const Numeral& n) const {
    const auto integer = parse_integer(n.text);
    return integer.ok() && integer->has_value() ? ValueKind::integer : ValueKind::real;
  }
};

}  // namespace

std::optional<Format> parse_format(std::string_view text) {
  Format format;
  if (!text.empty() && std::string_view("<>^").find(text.front()) != std::string_view::npos) {
    format.align = text.front();
    text.remove_prefix(1);
  }
  format.plus = take(text, '+');
  if (!format.plus) take(text, '-');  // the usual sign, as Python has it
  format.zeros = take(text, '0');
  int number = 0;
  if (!take_number(text, number)) return {};
  format.width = static_cast<std::uint16_t>(number);
  if (take(text, '.')) {
    if (text.empty() || !is_digit(text.front())) return {};
    if (!take_number(text, number)) return {};
    format.precision = static_cast<std::int16_t>(number);
  }
  if (!text.empty()) {
    if (kKinds.find(text.front()) == std::string_view::npos) return {};
    format.kind = text.front();
    text.remove_prefix(1);
  }
  if (!text.empty()) return {};
  return format;
}

ValueKind kind_of(const ParameterValue& value) {
  return std::visit(KindOf{}, value);
}

bool fits(const Format& format, ValueKind kind) {
  const bool whole = format.kind == 'd' || format.kind == 'x' || format.kind == 'X';
  const bool text = format.kind == 's';
  const bool real = format.kind != 0 && !whole && !text;
  if (whole && format.precision >= 0) return false;
  switch (kind) {
    case ValueKind::integer:
      return !text && (real || format.precision < 0);
    case ValueKind::real:
      return !text && !whole;
    case ValueKind::text:
      return !whole && !real && !format.zeros && !format.plus && format.precision < 0;
  }
  return false;
}

void append(std::string& out, std::int64_t value, const Format& format) {
  std::array<char, 24> buffer;
  if (format.is_plain()) {
    const auto end = std::to_chars(buffer.begin(), buffer.end(), value).ptr;
    out.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    return;
  }
  if (format.kind != 0 && format.kind != 'd' && format.kind != 'x' && format.kind != 'X') {
    append(out, static_cast<double>(value), format);
    return;
  }
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = value < 0 ? 0 - bits : bits;
  const bool hex = format.kind == 'x' || format.kind == 'X';
  char* end = std::to_chars(buffer.begin(), buffer.end(), magnitude, hex ? 16 : 10).ptr;
  if (format.kind == 'X') std::transform(buffer.data(), end, buffer.data(), upper);
  append_number(out, value < 0, {buffer.data(), static_cast<std::size_t>(end - buffer.data())},
                format);
}

void append(std::string& out, double value, const Format& format) {
  std::array<char, 320 + kMaxWidth> buffer;  // the largest double in plain digits, with decimals
  char* const begin = buffer.begin();
  const double magnitude = std::fabs(value);
  char* end = begin;
  if (format.kind == 0 && format.precision < 0) {
    const bool digits = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
    const auto style = digits ? std::chars_format::fixed : std::chars_format::scientific;
    end = std::to_chars(begin, buffer.end(), magnitude, style).ptr;
    if (digits && std::find(begin, end, '.') == end) {
      *end++ = '.';
      *end++ = '0';
    }
  } else {
    const int precision = format.precision < 0 ? 6 : format.precision;
    const char kind = format.kind;
    const auto style = kind == 'f' || kind == 'F'   ? std::chars_format::fixed
                       : kind == 'e' || kind == 'E' ? std::chars_format::scientific
                                                    : std::chars_format::general;
    end = std::to_chars(begin, buffer.end(), magnitude, style, precision).ptr;
    if (kind == 'F' || kind == 'E' || kind == 'G') std::transform(begin, end, begin, upper);
  }
  append_number(out, std::signbit(value), {begin, static_cast<std::size_t>(end - begin)}, format);
}

void append(std::string& out, std::string_view value, const Format& format) {
  if (format.width == 0) {
    out.append(value);
  } else {
    pad(out, value, format, '<');
  }
}

namespace {

struct AppendOne {
  std::string& out;
  const Format& format;
  void operator()(std::int64_t v) const { append(out, v, format); }
  void operator()(double v) const { append(out, v, format); }
  void operator()(const std::string& v) const { append(out, std::string_view(v), format); }
  void operator()(const Numeral& v) const {
    const auto integer = parse_integer(v.text);
    if (format.is_plain()) {
      out.append(v.text);
    } else if (integer.ok() && integer->has_value()) {
      append(out, **integer, format);
    } else {
      append(out, parse_decimal(v.text).value_or(0), format);
    }
  }
};

}  // namespace

void append_value(std::string& out, const ParameterValues& values, std::uint64_t index,
                  const Format& format) {
  if (const auto* list = std::get_if<std::vector<ParameterValue>>(&values)) {
    std::visit(AppendOne{out, format}, (*list)[index]);
  } else if (const auto* range = std::get_if<IntegerRange>(&values)) {
    const auto step = static_cast<std::uint64_t>(range->step);
    append(out, static_cast<std::int64_t>(static_cast<std::uint64_t>(range->first) + index * step),
           format);
  } else {
    std::visit(AppendOne{out, format}, value_at(values, index));
  }
}

std::string plain_text(const std::variant<std::int64_t, double>& number) {
  std::string out;
  std::visit([&](auto value) { append(out, value, Format{}); }, number);
  return out;
}

void encode(Encoder& out, const Format& format) {
  out.u8(static_cast<std::uint8_t>(format.kind)).u8(static_cast<std::uint8_t>(format.align));
  out.u8(static_cast<std::uint8_t>((format.plus ? 1 : 0) | (format.zeros ? 2 : 0)));
  out.varint(format.width).svarint(format.precision);
}

Format decode_format(Decoder& in) {
  Format format;
  format.kind = static_cast<char>(in.u8());
  format.align = static_cast<char>(in.u8());
  const std::uint8_t flags = in.u8();
  format.plus = (flags & 1) != 0;
  format.zeros = (flags & 2) != 0;
  format.width = static_cast<std::uint16_t>(std::min<std::uint64_t>(in.varint(), kMaxWidth));
  format.precision =
      static_cast<std::int16_t>(std::clamp<std::int64_t>(in.svarint(), -1, kMaxWidth));
  return format;
}

}  // namespace torc::spec
