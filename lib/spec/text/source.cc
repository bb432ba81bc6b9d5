#include "lib/spec/text/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "lib/base/text/utf8.h"

namespace torc::spec {
namespace {

std::size_t character_bytes(std::string_view text, std::size_t at) {
  return std::max<std::size_t>(decode_utf8(text, at).bytes, 1);
}

}  // namespace

Source::Source(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  starts_.push_back(0);
  for (std::size_t i = text.find('\n'); i != std::string_view::npos; i = text.find('\n', i + 1)) {
    starts_.push_back(i + 1);
  }
  constexpr std::size_t kApart = 4096;
  marks_.push_back({0, 0});
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++characters) {
    if (i >= marks_.back().offset + kApart) marks_.push_back({i, characters});
    i += character_bytes(text, i);
  }
}

// Lines are cut between characters, so those of a line are all within it.
std::size_t Source::characters_before(std::size_t offset) const {
  const auto after = std::ranges::upper_bound(marks_, offset, {}, &Mark::offset);
  const Mark& mark = *std::prev(after);
  return mark.characters + count_characters(text_.substr(mark.offset, offset - mark.offset));
}

std::size_t Source::line_start(std::size_t offset) const {
  const auto after = std::ranges::upper_bound(starts_, offset);
  return *std::prev(after);
}

std::string_view Source::line(std::size_t number) const {
  if (number == 0 || number > starts_.size()) return {};
  const std::size_t start = starts_[number - 1];
  const std::size_t end = number < starts_.size() ? starts_[number] - 1 : text_.size();
  std::string_view line = text_.substr(start, end - start);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Place Source::place(std::size_t offset, std::size_t bytes) const {
  offset = std::min(offset, text_.size());
  const auto after = std::ranges::upper_bound(starts_, offset);
  const auto number = static_cast<std::size_t>(after - starts_.begin());
  const std::size_t start = starts_[number - 1];
  const std::string_view whole = line(number);
  const std::size_t in_line = std::min(offset - start, whole.size());
  const std::size_t length = count_characters(whole.substr(in_line, bytes));
  const std::size_t before = characters_before(start + in_line) - characters_before(start);
  return {number, before + 1, std::max<std::size_t>(length, 1)};
}

std::size_t Source::offset_of(Place place) const {
  if (place.line == 0 || place.line > starts_.size()) return text_.size();
  const std::size_t start = starts_[place.line - 1];
  const std::size_t end = start + line(place.line).size();
  const std::size_t wanted = characters_before(start) + std::max<std::size_t>(place.column, 1) - 1;
  const auto after = std::ranges::upper_bound(marks_, wanted, {}, &Mark::characters);
  const Mark& mark = *std::prev(after);
  // The line may begin behind the mark.
  std::size_t at = std::max(start, mark.offset);
  std::size_t characters = at == start ? characters_before(start) : mark.characters;
  for (; characters < wanted && at < end; ++characters) at += character_bytes(text_, at);
  return std::min(at, end);
}

void show_line(const Source& source, Diagnostic& d) {
  constexpr std::size_t kShown = 4096;
  const std::string_view line = source.line(d.place.line);
  std::size_t begin = 0;
  if (line.size() > kShown) {
    const std::size_t at = source.offset_of(d.place) - source.offset_of({d.place.line, 1, 1});
    begin = at - std::min(at, kShown / 4);
    while (begin < line.size() && continues_character(line[begin])) ++begin;
  }
  if (begin > 0)
    d.skipped = source.place(source.offset_of({d.place.line, 1, 1}) + begin).column - 1;
  d.source_line = line.substr(begin, kShown);
}

// The parser keeps no map from a value to the file, and quotes, indentation and folding lie between
// the two; but words stay words, so the n-th time that they stand in the value is the n-th in the
// file.
Place place_within(const Source& source, Place value, std::string_view text, std::size_t begin,
                   std::size_t bytes) {
  const std::string_view words = text.substr(begin, bytes);
  constexpr std::size_t kLongText = 64U << 10U;  // each place in it costs as much as its length
  if (value.line == 0 || words.empty() || text.size() > kLongText) return value;
  std::size_t at = source.offset_of(value);
  std::size_t in_text = text.find(words);
  while (true) {
    at = source.text().find(words, at);
    if (at == std::string_view::npos) return value;
    if (in_text >= begin) return source.place(at, words.size());
    in_text = text.find(words, in_text + 1);
    ++at;
  }
}

void Report::add(Severity severity, Place place, std::string message, std::string remedy) {
  if (settled_.contains({place.line, place.column})) return;
  if (severity == Severity::error) ++errors_;
  // Warnings leave room for the errors that stop the user.
  if (all_.size() >= (severity == Severity::error ? kMaxDiagnostics : kMaxDiagnostics / 2)) {
    ++left_out_;
    if (severity == Severity::error) ++errors_left_out_;
    return;
  }
  all_.push_back({severity, source_->file(), place, std::move(message), std::move(remedy), {}});
  show_line(*source_, all_.back());
}

void Report::planned(Place place, std::string message, std::string remedy) {
  Use& use = planned_[message];
  const auto before = [](const Place& a, const Place& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  };
  if (use.count++ > 0 && !before(place, use.first.place)) return;
  use.first = {Severity::note, source_->file(), place, std::move(message), std::move(remedy), {}};
  use.first.blocks_run = true;
  show_line(*source_, use.first);
}

std::string Report::guess(std::string_view name,
                          const std::function<std::vector<std::string>()>& known) const {
  constexpr std::size_t kMostGuesses = 50;
  constexpr std::size_t kMostNames = 1'000'000;
  if (guesses_ >= kMostGuesses || looked_at_ >= kMostNames) return {};
  ++guesses_;
  const std::vector<std::string> names = known();
  looked_at_ += names.size();
  return nearest(name, names);
}

void Report::end_pass() {
  for (const Diagnostic& d : all_) {
    if (d.severity == Severity::error && d.place.line > 0)
      settled_.insert({d.place.line, d.place.column});
  }
}

std::vector<Diagnostic> Report::sorted() && {
  for (auto& [message, use] : planned_) {
    if (use.count > 1) use.first.message += fmt::format(" ({} uses)", use.count);
    all_.push_back(std::move(use.first));
  }
  const auto key = [](const Diagnostic& d) {
    return std::tie(d.place.line, d.place.column, d.severity, d.message);
  };
  std::stable_sort(all_.begin(), all_.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  all_.erase(std::unique(all_.begin(), all_.end(),
                         [&](const auto& a, const auto& b) { return key(a) == key(b); }),
             all_.end());
  if (left_out_ > 0) {
    all_.push_back({Severity::note,
                    source_->file(),
                    {},
                    fmt::format("{} more were left out", left_out_),
                    "correct these first",
                    {}});
    all_.back().more = errors_left_out_;
  }
  return std::move(all_);
}

}  // namespace torc::spec
