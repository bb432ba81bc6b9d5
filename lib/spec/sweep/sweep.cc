#include "lib/spec/sweep/sweep.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace torc::spec {

namespace {

// Whether it is a column of the same table as the one before it.
bool continues_table(std::span<const Parameter> parameters, std::size_t p) {
  return p > 0 && parameters[p].table != 0 && parameters[p].table == parameters[p - 1].table;
}

}  // namespace

Sweep::Sweep(std::span<const Parameter> parameters, ParameterMode mode) : axes_(parameters.size()) {
  for (std::size_t p = parameters.size(); p-- > 0;) {
    const std::uint64_t n = spec::count(parameters[p].values);
    Axis& axis = axes_[p];
    axis.count = std::max<std::uint64_t>(n, 1);
    if (mode == ParameterMode::zip) {
      count_ = n;
      continue;
    }
    if (p + 1 < parameters.size() && continues_table(parameters, p + 1)) {
      axis = axes_[p + 1];
      continue;
    }
    axis.stride = std::max<std::uint64_t>(count_, 1);
    count_ = n != 0 && count_ > kTooMany / n ? kTooMany : count_ * n;
  }
  if (mode == ParameterMode::zip) return;  // the first leads all
  for (std::size_t p = 1; p < axes_.size(); ++p)
    axes_[p].leader = continues_table(parameters, p) ? axes_[p - 1].leader : p;
}

bool have_equal_lengths(std::span<const Parameter> parameters, ParameterMode mode) {
  for (std::size_t p = 1; p < parameters.size(); ++p) {
    const bool together = mode == ParameterMode::zip || continues_table(parameters, p);
    if (together && count(parameters[p].values) != count(parameters[p - 1].values)) return false;
  }
  return true;
}

Sweep::Cycle Sweep::cycle(std::size_t first, std::size_t last) const {
  const Axis& outer = axes_[first];
  const Axis& inner = axes_[last];
  return {inner.stride, outer.stride / inner.stride * outer.count};
}

namespace {

ParameterValues slice(const ParameterValues& values, std::uint64_t first, std::uint64_t n) {
  if (first == 0 && n == count(values)) return values;
  if (const auto* range = std::get_if<IntegerRange>(&values)) {
    const auto at = [&](std::uint64_t i) { return std::get<std::int64_t>(value_at(values, i)); };
    return IntegerRange{at(first), at(first + n - 1), range->step};
  }
  // Also of a float range: another beginning would round differently.
  std::vector<ParameterValue> list;
  list.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) list.push_back(value_at(values, first + i));
  return list;
}

}  // namespace

NarrowSweep narrow(std::span<const Parameter> parameters, ParameterMode mode, std::uint64_t first,
                   std::uint64_t count) {
  NarrowSweep result;
  result.parameters.reserve(parameters.size());
  result.offset = mode == ParameterMode::zip ? 0 : first;
  const Sweep sweep(parameters, mode);
  bool still_equal = true;  // all parameters so far have one value in the whole run
  std::uint64_t low = first;
  std::uint64_t high = first + count - 1;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const Parameter& parameter = parameters[p];
    if (mode == ParameterMode::product && !continues_table(parameters, p)) {
      low = still_equal ? sweep.position(p, first) : 0;
      high = still_equal ? sweep.position(p, first + count - 1) : spec::count(parameter.values) - 1;
      result.offset -= low * sweep.cycle(p, p).period;
      still_equal = still_equal && low == high;
    }
    result.parameters.push_back(
        {parameter.name, slice(parameter.values, low, high - low + 1), parameter.table});
  }
  return result;
}

namespace {

enum class Tag : std::uint8_t { integers, reals, list };
enum class ValueTag : std::uint8_t { integer, real, text, numeral };

void put_real(Encoder& out, double v) {
  out.be64(std::bit_cast<std::uint64_t>(v));
}
double get_real(Decoder& in) {
  return std::bit_cast<double>(in.be64());
}

struct EncodeValue {
  Encoder& out;
  void operator()(std::int64_t v) const {
    out.u8(static_cast<std::uint8_t>(ValueTag::integer)).svarint(v);
  }
  void operator()(double v) const {
    put_real(out.u8(static_cast<std::uint8_t>(ValueTag::real)), v);
  }
  void operator()(const std::string& v) const {
    out.u8(static_cast<std::uint8_t>(ValueTag::text)).text(v);
  }
  void operator()(const Numeral& v) const {
    out.u8(static_cast<std::uint8_t>(ValueTag::numeral)).text(v.text);
  }
};

struct EncodeValues {
  Encoder& out;
  void operator()(const IntegerRange& r) const {
    out.u8(static_cast<std::uint8_t>(Tag::integers)).svarint(r.first).svarint(r.last);
    out.svarint(r.step);
  }
  void operator()(const FloatRange& r) const {
    out.u8(static_cast<std::uint8_t>(Tag::reals));
    put_real(out, r.first);
    put_real(out, r.step);
    out.varint(r.count).svarint(r.decimals);
  }
  void operator()(const std::vector<ParameterValue>& list) const {
    out.u8(static_cast<std::uint8_t>(Tag::list)).varint(list.size());
    for (const ParameterValue& v : list) std::visit(EncodeValue{out}, v);
  }
};

ParameterValue decode_value(Decoder& in) {
  switch (static_cast<ValueTag>(in.u8())) {
    case ValueTag::integer:
      return in.svarint();
    case ValueTag::real:
      return get_real(in);
    case ValueTag::numeral:
      return Numeral{std::string(in.text())};
    case ValueTag::text:
      break;
  }
  return std::string(in.text());
}

ParameterValues decode_values(Decoder& in) {
  const auto tag = static_cast<Tag>(in.u8());
  if (tag == Tag::integers) {
    IntegerRange r;
    r.first = in.svarint();
    r.last = in.svarint();
    r.step = in.svarint();
    return r;
  }
  if (tag == Tag::reals) {
    FloatRange r;
    r.first = get_real(in);
    r.step = get_real(in);
    r.count = in.varint();
    r.decimals = static_cast<int>(std::clamp<std::int64_t>(in.svarint(), -1, 15));
    return r;
  }
  const std::uint64_t n = in.varint();
  std::vector<ParameterValue> list;
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) list.push_back(decode_value(in));
  return list;
}

}  // namespace

void encode(Encoder& out, std::span<const Parameter> parameters, ParameterMode mode) {
  out.u8(static_cast<std::uint8_t>(mode)).varint(parameters.size());
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    out.text(parameters[p].name).u8(continues_table(parameters, p) ? 1 : 0);
    std::visit(EncodeValues{out}, parameters[p].values);
  }
}

DecodedSweep decode_sweep(Decoder& in) {
  DecodedSweep result;
  result.mode = in.u8() == 0 ? ParameterMode::product : ParameterMode::zip;
  const std::uint64_t n = in.varint();
  std::uint32_t tables = 0;
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
    Parameter p;
    p.name = std::string(in.text());
    if (in.u8() != 0 && !result.parameters.empty()) {
      Parameter& before = result.parameters.back();
      if (before.table == 0) before.table = ++tables;
      p.table = before.table;
    }
    p.values = decode_values(in);
    result.parameters.push_back(std::move(p));
  }
  return result;
}

}  // namespace torc::spec
