#include "lib/spec/sweep/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/spec/text/placeholder.h"

namespace torc::spec {
namespace {

Error bad_format(std::string_view placeholder, std::string_view what) {
  return invalid(
      fmt::format("the format of {} {}", torc::quoted(placeholder), what),
      "formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for "
      "text");
}

// The first value that `format` does not fit, as a part of a message; empty: it fits all.
std::string format_mismatch(const ParameterValues& values, const Format& format) {
  const auto describe = [&](std::uint64_t i) {
    std::string text;
    append_value(text, values, i, Format{});
    return "does not fit the value " + torc::quoted(text);
  };
  if (const auto* list = std::get_if<std::vector<ParameterValue>>(&values)) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (!fits(format, kind_of((*list)[i]))) return describe(i);
    }
    return {};
  }
  return count(values) == 0 || fits(format, kind_of(value_at(values, 0))) ? "" : describe(0);
}

const Parameter* parameter_of(const Placeholder& p, std::span<const Parameter> parameters) {
  const auto found = std::ranges::find(parameters, p.name, &Parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

// Bytes that no value of the parameter exceeds. Doubles have at most 17 digits, a sign, a point and
// an exponent unless the format says more; those of a range have about as many as its ends.
std::uint64_t value_bound(const ParameterValues& values, const Format& format) {
  constexpr std::uint64_t kDigits = 26;
  std::uint64_t most = 0;
  std::string text;
  const auto look_at = [&](std::uint64_t i) {
    text.clear();
    append_value(text, values, i, format);
    most = std::max<std::uint64_t>(most, text.size());
  };
  const std::uint64_t n = count(values);
  if (n == 0) return 0;
  if (std::holds_alternative<std::vector<ParameterValue>>(values)) {
    for (std::uint64_t i = 0; i < n; ++i) look_at(i);
    return most;
  }
  look_at(0);
  look_at(n - 1);
  return std::holds_alternative<FloatRange>(values) ? most + kDigits : most;
}

}  // namespace

void Pattern::add_literal(std::string_view text) {
  if (text.empty()) return;
  if (!pieces_.empty() && pieces_.back().kind == Piece::Kind::literal) {
    pieces_.back().text.append(text);
    return;
  }
  pieces_.push_back({Piece::Kind::literal, std::string(text), 0, {}, {}});
}

void Pattern::add_parameter(std::size_t index, std::string_view text, const Format& format) {
  pieces_.push_back(
      {Piece::Kind::parameter, std::string(text), static_cast<std::uint32_t>(index), format, {}});
  const int i = static_cast<int>(index);
  first_ = first_ < 0 ? i : std::min(first_, i);
  last_ = std::max(last_, i);
}

std::vector<BadPlaceholder> find_bad_placeholders(std::string_view text,
                                                  std::span<const Parameter> parameters) {
  if (parameters.empty() || text.find('{') == std::string_view::npos) return {};
  std::vector<BadPlaceholder> bad;
  const auto take = [&](const Placeholder& p, std::string_view why) {
    bad.push_back({p.begin, p.end, bad_format(text.substr(p.begin, p.end - p.begin), why)});
  };
  for (const Placeholder& p : misformatted(text)) {
    if (parameter_of(p, parameters) != nullptr) take(p, "is not known");
  }
  for (const Placeholder& p : placeholders(text)) {
    const Parameter* parameter = parameter_of(p, parameters);
    if (parameter == nullptr) continue;
    const auto format = parse_format(p.format);
    if (!format) {
      take(p, "is not known");
    } else if (!format->is_plain()) {
      if (const std::string why = format_mismatch(parameter->values, *format); !why.empty())
        take(p, why);
    }
  }
  std::ranges::sort(bad, {}, &BadPlaceholder::begin);
  return bad;
}

// Precondition: find_bad_placeholders() finds nothing.
void Pattern::add(std::string_view text, std::span<const Parameter> parameters) {
  std::size_t done = 0;
  if (!parameters.empty() && text.find('{') != std::string_view::npos) {
    for (const Placeholder& p : placeholders(text)) {
      const Parameter* parameter = parameter_of(p, parameters);
      if (parameter == nullptr) continue;
      add_literal(text.substr(done, p.begin - done));
      add_parameter(static_cast<std::size_t>(parameter - parameters.data()),
                    text.substr(p.begin, p.end - p.begin),
                    parse_format(p.format).value_or(Format{}));
      done = p.end;
    }
  }
  add_literal(text.substr(done));
}

Result<Pattern> Pattern::compile(std::string_view text, std::span<const Parameter> parameters) {
  if (auto bad = find_bad_placeholders(text, parameters); !bad.empty())
    return std::move(bad.front().error);
  Pattern pattern;
  pattern.add(text, parameters);
  return pattern;
}

Result<Pattern> Pattern::compile_command(std::string_view text,
                                         std::span<const Parameter> parameters, Named& named) {
  if (auto bad = find_bad_placeholders(text, parameters); !bad.empty())
    return std::move(bad.front().error);
  Pattern pattern;
  std::size_t done = 0;
  for (const ReferenceText& r : reference_texts(text)) {
    if (r.section == ReferenceText::Section::wrong) continue;
    pattern.add(text.substr(done, r.begin - done), parameters);
    if (r.section == ReferenceText::Section::user_data) {
      pattern.add(r.name, parameters);
      done = r.end;
      continue;
    }
    std::uint32_t& index = r.side == FileSide::input ? named.inputs : named.outputs;
    pattern.pieces_.push_back({Piece::Kind::file, {}, index++, {}, r.side});
    done = r.end;
  }
  pattern.add(text.substr(done), parameters);
  return pattern;
}

std::uint64_t Pattern::bound(std::span<const Parameter> parameters,
                             std::uint64_t file_bytes) const {
  std::uint64_t sum = 0;
  for (const Piece& piece : pieces_) {
    switch (piece.kind) {
      case Piece::Kind::literal:
        sum += piece.text.size();
        break;
      case Piece::Kind::parameter:
        sum += value_bound(parameters[piece.index].values, piece.format);
        break;
      case Piece::Kind::file:
        sum += file_bytes;
        break;
    }
  }
  return sum;
}

bool Pattern::uses(std::size_t parameter) const {
  return std::ranges::any_of(pieces_, [&](const Piece& p) {
    return p.kind == Piece::Kind::parameter && p.index == parameter;
  });
}

std::string_view Pattern::prefix() const {
  return pieces_.empty() || pieces_[0].kind != Piece::Kind::literal ? std::string_view()
                                                                    : pieces_[0].text;
}

Sweep::Cycle Pattern::cycle(const Sweep& sweep) const {
  if (!has_parameters()) return {};
  return sweep.cycle(static_cast<std::size_t>(first_), static_cast<std::size_t>(last_));
}

void Pattern::append_to(std::string& out, std::span<const Parameter> parameters, const Sweep& sweep,
                        std::uint64_t k) const {
  for (const Piece& piece : pieces_) {
    if (piece.kind == Piece::Kind::literal) {
      out.append(piece.text);
    } else {
      append_value(out, parameters[piece.index].values, sweep.position(piece.index, k),
                   piece.format);
    }
  }
}

void Pattern::encode(Encoder& out) const {
  out.varint(pieces_.size());
  for (const Piece& piece : pieces_) {
    out.u8(static_cast<std::uint8_t>(piece.kind));
    switch (piece.kind) {
      case Piece::Kind::literal:
        out.text(piece.text);
        break;
      case Piece::Kind::parameter:
        out.varint(piece.index);
        spec::encode(out, piece.format);
        break;
      case Piece::Kind::file:
        out.u8(static_cast<std::uint8_t>(piece.side)).varint(piece.index);
        break;
    }
  }
}

Pattern Pattern::decode(Decoder& in, std::size_t parameters, FilePieces files) {
  Pattern pattern;
  const std::uint64_t n = in.varint();
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
    const std::uint8_t kind = in.u8();
    if (kind == static_cast<std::uint8_t>(Piece::Kind::literal)) {
      pattern.add_literal(in.text());
      continue;
    }
    if (kind == static_cast<std::uint8_t>(Piece::Kind::parameter)) {
      const std::uint64_t index = in.varint();
      const Format format = decode_format(in);
      if (index < parameters) {
        pattern.add_parameter(index, {}, format);
        continue;
      }
    } else if (kind == static_cast<std::uint8_t>(Piece::Kind::file) &&
               files == FilePieces::allowed) {
      Piece piece;
      piece.kind = Piece::Kind::file;
      piece.side = in.u8() == 0 ? FileSide::input : FileSide::output;
      piece.index = static_cast<std::uint32_t>(in.varint());
      pattern.pieces_.push_back(std::move(piece));
      continue;
    }
    in.raw(std::numeric_limits<std::size_t>::max());  // cannot succeed: marks the input as bad
  }
  return pattern;
}

}  // namespace torc::spec
