#include "lib/spec/sweep/name_search.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "lib/base/text/text.h"

namespace torc::spec {
namespace {

constexpr std::size_t kMaxPieces = 64;  // bounds the recursion
constexpr int kMaxSteps = 100'000;      // bounds the backtracking
constexpr std::size_t kMaxDigits = 32;  // of a number in a name, besides its width

template <class Number, class... How>
std::optional<Number> read(std::string_view text, How... how) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, how...);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

class ProductSearch {
 public:
  ProductSearch(const Pattern& pattern, std::span<const Parameter> parameters, const Sweep& sweep,
                Range window, std::string_view name)
      : pieces_(pattern.pieces()),
        parameters_(parameters),
        sweep_(sweep),
        window_(window),
        name_(name),
        chosen_(parameters.size()) {}

  std::optional<std::uint64_t> run() {
    step(0, 0);
    return found_;
  }
  [[nodiscard]] bool gave_up() const { return steps_ > kMaxSteps; }

 private:
  // True: the search is over.
  bool step(std::size_t piece, std::size_t at) {
    if (++steps_ > kMaxSteps) return true;
    if (piece == pieces_.size()) return at == name_.size() && accept();
    const Piece& p = pieces_[piece];
    const std::string_view rest = name_.substr(at);
    if (p.kind == Piece::Kind::literal) {
      return rest.starts_with(p.text) && step(piece + 1, at + p.text.size());
    }
    if (const auto& chosen = chosen_[sweep_.leader(p.index)]) return try_value(piece, at, *chosen);
    const ParameterValues& values = parameters_[p.index].values;
    if (const auto* list = std::get_if<std::vector<ParameterValue>>(&values)) {
      for (std::uint64_t i = 0; i < list->size(); ++i) {
        if (choose(piece, at, i)) return true;
      }
      return false;
    }
    return step_number(piece, at, values);
  }

  bool step_number(std::size_t piece, std::size_t at, const ParameterValues& values) {
    const Format& format = pieces_[piece].format;
    const std::size_t longest = std::min(
        name_.size() - at,
        kMaxDigits + format.width + static_cast<std::size_t>(std::max<int>(format.precision, 0)));
    for (std::size_t length = longest; length > 0; --length) {
      const std::string_view segment = trimmed(name_.substr(at, length), " ");
      const auto index = std::holds_alternative<IntegerRange>(values)
                             ? index_of(std::get<IntegerRange>(values), format, segment)
                             : index_of(std::get<FloatRange>(values), segment);
      if (!index) continue;
      // A rounded text may belong to a neighbour.
      const std::uint64_t low = *index == 0 ? 0 : *index - 1;
      const std::uint64_t high = std::min(*index + 1, count(values) - 1);
      for (std::uint64_t i = low; i <= high; ++i) {
        text_.clear();
        append_value(text_, values, i, format);
        if (text_ == name_.substr(at, length) && choose(piece, at, i)) return true;
      }
    }
    return false;
  }

  static std::optional<std::uint64_t> index_of(const IntegerRange& range, const Format& format,
                                               std::string_view segment) {
    std::optional<std::int64_t> value;
    if (format.kind == 0 || format.kind == 'd') {
      value = read<std::int64_t>(segment);
    } else if (format.kind == 'x' || format.kind == 'X') {
      value = read<std::int64_t>(segment, 16);
    } else if (const auto real = read<double>(segment); real && std::fabs(*real) < 9e18) {
      value = std::llround(*real);
    }
    if (!value || *value < range.first || *value > range.last) return {};
    return (static_cast<std::uint64_t>(*value) - static_cast<std::uint64_t>(range.first)) /
           static_cast<std::uint64_t>(range.step);
  }

  static std::optional<std::uint64_t> index_of(const FloatRange& range, std::string_view segment) {
    const auto value = read<double>(segment);
    if (!value || range.count == 0) return {};
    const double guess = range.step == 0 ? 0 : std::round((*value - range.first) / range.step);
    if (!(guess >= -1) || guess > static_cast<double>(range.count)) return {};
    return std::min(static_cast<std::uint64_t>(std::max(guess, 0.0)), range.count - 1);
  }

  bool choose(std::size_t piece, std::size_t at, std::uint64_t index) {
    auto& chosen = chosen_[sweep_.leader(pieces_[piece].index)];
    chosen = index;
    if (try_value(piece, at, index)) return true;
    chosen.reset();
    return false;
  }

  bool try_value(std::size_t piece, std::size_t at, std::uint64_t index) {
    const Piece& p = pieces_[piece];
    text_.clear();
    append_value(text_, parameters_[p.index].values, index, p.format);
    return name_.substr(at).starts_with(text_) && step(piece + 1, at + text_.size());
  }

  bool accept() {
    std::uint64_t k = 0;
    for (std::size_t p = 0; p < chosen_.size(); ++p) {
      k += chosen_[p].value_or(0) * sweep_.cycle(p, p).period;
    }
    if (k < window_.first || k >= window_.end()) return false;
    found_ = k;
    return true;
  }

  const std::vector<Piece>& pieces_;
  std::span<const Parameter> parameters_;
  const Sweep& sweep_;
  Range window_;
  std::string_view name_;
  std::vector<std::optional<std::uint64_t>> chosen_;  // of the first of those that go together
  std::optional<std::uint64_t> found_;
  std::string text_;
  int steps_ = 0;
};

}  // namespace

std::optional<std::uint64_t> find_combination(const Pattern& pattern,
                                              std::span<const Parameter> parameters,
                                              ParameterMode mode, const Sweep& sweep, Range window,
                                              std::string_view name) {
  if (!name.starts_with(pattern.prefix())) return {};
  if (mode == ParameterMode::product && pattern.pieces().size() <= kMaxPieces) {
    ProductSearch search(pattern, parameters, sweep, window, name);
    const auto found = search.run();
    if (!search.gave_up()) return found;
  }
  std::string text;
  for (std::uint64_t k = window.first; k < window.end(); ++k) {
    text.clear();
    pattern.append_to(text, parameters, sweep, k);
    if (text == name) return k;
  }
  return {};
}

}  // namespace torc::spec
