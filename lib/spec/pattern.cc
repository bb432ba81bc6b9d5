#include "lib/spec/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/spec/diagnostic.h"
#include "lib/spec/placeholder.h"

namespace torc::spec {
namespace {

constexpr std::string_view kInput = "${files.input.";
constexpr std::string_view kOutput = "${files.output.";

Error bad_format(std::string_view placeholder, std::string_view what) {
  return {ErrorKind::invalid, fmt::format("the format of {} {}", quoted(placeholder), what),
          "formats are like {i:03d} for integers, {x:.4f} or {x:.2e} for numbers and {s:>10} for "
          "text"};
}

// The first value that `format` does not fit, as a part of a message; empty: it fits all.
std::string misfit(const ParameterValues& values, const Format& format) {
  const auto describe = [&](std::uint64_t i) {
    std::string text;
    append_value(text, values, i, Format{});
    return "does not fit the value " + quoted(text);
  };
  if (const auto* list = std::get_if<std::vector<ParameterValue>>(&values)) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (!fits(format, kind_of((*list)[i]))) return describe(i);
    }
    return {};
  }
  return count(values) == 0 || fits(format, kind_of(value_at(values, 0))) ? "" : describe(0);
}

struct FoundReference {
  std::size_t begin = std::string_view::npos;
  std::size_t end = 0;
  FileReference reference;
};

// The first `${files.input.NAME}` or `${files.output.NAME}` at or after `from`. Braces inside NAME
// (its placeholders) are balanced.
FoundReference find_reference(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find("${files.", from); at != std::string_view::npos;
       at = text.find("${files.", at + 1)) {
    const bool input = text.substr(at).starts_with(kInput);
    if (!input && !text.substr(at).starts_with(kOutput)) continue;
    const std::size_t name = at + (input ? kInput : kOutput).size();
    int depth = 1;
    for (std::size_t i = name; i < text.size(); ++i) {
      if (text[i] == '{') ++depth;
      if (text[i] == '}' && --depth == 0) {
        if (i == name) break;
        const FileSide side = input ? FileSide::input : FileSide::output;
        return {at, i + 1, {side, text.substr(name, i - name)}};
      }
    }
  }
  return {};
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

Result<void> Pattern::add(std::string_view text, std::span<const Parameter> parameters) {
  std::size_t done = 0;
  if (!parameters.empty() && text.find('{') != std::string_view::npos) {
    for (const Placeholder& p : placeholders(text)) {
      const auto found = std::find_if(parameters.begin(), parameters.end(),
                                      [&](const Parameter& q) { return q.name == p.name; });
      if (found == parameters.end()) continue;
      const std::string_view written = text.substr(p.begin, p.end - p.begin);
      const auto format = parse_format(p.format);
      if (!format) return bad_format(written, "is not known");
      if (!format->is_plain()) {
        if (const std::string why = misfit(found->values, *format); !why.empty()) {
          return bad_format(written, why);
        }
      }
      add_literal(text.substr(done, p.begin - done));
      add_parameter(static_cast<std::size_t>(found - parameters.begin()), written, *format);
      done = p.end;
    }
  }
  add_literal(text.substr(done));
  return {};
}

Result<Pattern> Pattern::compile(std::string_view text, std::span<const Parameter> parameters) {
  Pattern pattern;
  TORC_TRY(pattern.add(text, parameters));
  return pattern;
}

Result<Pattern> Pattern::compile_command(std::string_view text,
                                         std::span<const Parameter> parameters,
                                         std::vector<FileReference>& references) {
  Pattern pattern;
  std::uint32_t seen[2] = {0, 0};
  std::size_t done = 0;
  for (FoundReference f = find_reference(text, 0); f.begin != std::string_view::npos;
       f = find_reference(text, done)) {
    TORC_TRY(pattern.add(text.substr(done, f.begin - done), parameters));
    const FileSide side = f.reference.side;
    pattern.pieces_.push_back(
        {Piece::Kind::file, {}, seen[static_cast<std::size_t>(side)]++, {}, side});
    references.push_back(f.reference);
    done = f.end;
  }
  TORC_TRY(pattern.add(text.substr(done), parameters));
  return pattern;
}

bool Pattern::uses(std::size_t parameter) const {
  return std::any_of(pieces_.begin(), pieces_.end(), [&](const Piece& p) {
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
