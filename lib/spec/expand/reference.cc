#include "lib/spec/expand/reference.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "lib/base/text/quote.h"
#include "lib/spec/sweep/pattern.h"
#include "lib/spec/text/diagnostic.h"

namespace torc::spec {
namespace {

// Looking for a near name costs time in proportion to the names.
constexpr std::size_t kMaxCandidates = 20'000;
constexpr std::size_t kMaxSuggestions = 50;

// `^name$` without anything special in it: a name.
std::optional<std::string_view> as_name(std::string_view expression) {
  if (expression.size() < 2 || expression.front() != '^' || expression.back() != '$') return {};
  expression = expression.substr(1, expression.size() - 2);
  if (expression.find_first_of("\\^$.|?*+()[]{}") != std::string_view::npos) return {};
  return expression;
}

// The text with the values of combination k as the expression that matches just them.
std::string fill_in_quoted(const Pattern& pattern, const Family& from, std::uint64_t k) {
  std::string out;
  std::string value;
  for (const Piece& piece : pattern.pieces()) {
    if (piece.kind == Piece::Kind::literal) {
      out.append(piece.text);
      continue;
    }
    value.clear();
    append_value(value, from.parameters[piece.index].values, from.sweep.position(piece.index, k),
                 piece.format);
    out.append(re2::RE2::QuoteMeta(value));
  }
  return out;
}

// Whether `name` is `written` with some text for each pair of braces.
bool may_be(std::string_view written, std::string_view name) {
  std::size_t open = written.find('{');
  if (open == std::string_view::npos) return name == written;
  if (!name.starts_with(written.substr(0, open))) return false;
  name.remove_prefix(open);
  while (true) {
    const std::size_t close = written.find('}', open);
    if (close == std::string_view::npos) return true;  // never closed: who knows
    const std::size_t next = written.find('{', close);
    if (next == std::string_view::npos) return name.ends_with(written.substr(close + 1));
    const std::size_t found = name.find(written.substr(close + 1, next - close - 1));
    if (found == std::string_view::npos) return false;
    name.remove_prefix(found + next - close - 1);
    open = next;
  }
}

}  // namespace

void report_bad_placeholders(Report& report, Place place, std::string_view text,
                             std::span<const Parameter> parameters) {
  for (BadPlaceholder& bad : find_bad_placeholders(text, parameters)) {
    report.error(place_within(report.source(), place, text, bad.begin, bad.end - bad.begin),
                 std::move(bad.error.what), std::move(bad.error.remedy));
  }
}

std::optional<RangeMap> Resolver::names(const Reference& reference) {
  Unknown unknown;
  std::vector<Range> found;
  const auto pattern = Pattern::compile(reference.text, reference.from->parameters);
  if (!pattern) {
    report_bad_placeholders(report_, reference.place, reference.text, reference.from->parameters);
    return {};
  }
  const Sweep::Cycle cycle = pattern->cycle(reference.from->sweep);
  RangeMap map(cycle.period, cycle.modulus);
  std::string name;
  for (std::uint64_t n = 0; n < cycle.modulus; ++n) {
    name.clear();
    found.clear();
    pattern->append_to(name, reference.from->parameters, reference.from->sweep, n * cycle.period);
    if (look_up(name, found, unknown)) map.push(found);
  }
  if (unknown.count == 0) return map;
  report_unknown(reference, unknown);
  return {};
}

bool Resolver::look_up(const std::string& name, std::vector<Range>& out, Unknown& unknown) {
  if (const auto id = targets_.find(name)) {
    out.push_back({*id, 1});
    return true;
  }
  if (elsewhere_ != nullptr) {
    if (const auto id = elsewhere_->find(name)) {
      out.push_back({*id, 1});
      return true;
    }
  }
  if (name.find('{') != std::string::npos) {
    const std::size_t before = out.size();
    (void)targets_.find_open(name, out);
    if (elsewhere_ != nullptr) elsewhere_->find_open(name, out);
    const bool found = out.size() > before;
    normalise(out);
    if (found) return true;
  }
  if (unknown.count++ == 0) unknown.first = name;
  return false;
}

void Resolver::report_unknown(const Reference& reference, const Unknown& unknown) {
  if (std::ranges::any_of(
          forgiven_, [&](const std::string& written) { return may_be(written, unknown.first); })) {
    return;
  }
  std::string message = fmt::format("no {} is named {}", kind_, torc::quoted(unknown.first));
  if (unknown.count > 1) {
    message += fmt::format(", nor {} more that {} stands for", unknown.count - 1,
                           torc::quoted(reference.text));
  }
  std::string near;
  if (suggestions_++ < kMaxSuggestions) near = nearest(unknown.first, candidates());
  const std::string_view article = kind_ == "user data" ? "" : "a ";
  report_.error(
      reference.place, std::move(message),
      near.empty() ? fmt::format("name {}{} of this file{}, as it reads when its "
                                 "parameters are filled in",
                                 article, kind_, elsewhere_ == nullptr ? "" : " or of the workflow")
                   : fmt::format("did you mean {}?", torc::quoted(near)));
}

const std::vector<std::string>& Resolver::candidates() {
  if (!candidates_.empty()) return candidates_;
  for (std::size_t f = 0; f < targets_.size() && candidates_.size() < kMaxCandidates; ++f) {
    const Family& family = targets_[f];
    if (family.name.has_parameters()) candidates_.emplace_back(family.text);
    for (std::uint64_t k = 0; k < family.count && candidates_.size() < kMaxCandidates; ++k) {
      candidates_.emplace_back();
      family.append_name(candidates_.back(), k);
    }
  }
  if (elsewhere_ != nullptr && candidates_.size() < kMaxCandidates)
    elsewhere_->add_names(candidates_, kMaxCandidates);
  return candidates_;
}

std::optional<RangeMap> Resolver::expression(const Reference& reference) {
  const Family& from = *reference.from;
  const auto pattern = Pattern::compile(reference.text, from.parameters);
  if (!pattern) {
    report_bad_placeholders(report_, reference.place, reference.text, from.parameters);
    return {};
  }
  const Sweep::Cycle cycle = pattern->cycle(from.sweep);
  RangeMap map(cycle.period, cycle.modulus);
  std::uint64_t empty = 0;
  std::string first_empty;
  for (std::uint64_t n = 0; n < cycle.modulus; ++n) {
    const std::string text = fill_in_quoted(*pattern, from, n * cycle.period);
    const std::vector<Range>* found = matches(text, reference.place);
    if (found == nullptr) return {};
    if (found->empty() && empty++ == 0) first_empty = text;
    map.push(*found);
  }
  if (empty > 0 && forgiven_.empty()) {
    report_.add(Severity::warning, reference.place,
                fmt::format("{} matches no {}", torc::quoted(first_empty), kind_),
                "an expression matches anywhere in a name; ^ and $ stand for its ends");
  }
  return map;
}

const std::vector<Range>* Resolver::matches(const std::string& expression, Place place) {
  const auto [it, fresh] = matches_.try_emplace(expression);
  std::vector<Range>& found = it->second;
  if (!fresh) return &found;
  if (const auto name = as_name(expression)) {
    auto id = targets_.find(*name);
    if (!id && elsewhere_ != nullptr) id = elsewhere_->find(*name);
    if (id) found.push_back({*id, 1});
    return &found;
  }
  const re2::RE2 compiled(expression, re2::RE2::Quiet);
  if (!compiled.ok()) {
    matches_.erase(it);
    report_.error(place,
                  fmt::format("{} is not a regular expression: {}", torc::quoted(expression),
                              compiled.error()),
                  "see https://github.com/google/re2/wiki/Syntax for what can be written");
    return nullptr;
  }
  targets_.match(compiled, found);
  if (elsewhere_ != nullptr) {
    elsewhere_->match(compiled, found);
    normalise(found);
  }
  return &found;
}

}  // namespace torc::spec
