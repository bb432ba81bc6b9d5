#include "lib/spec/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "lib/spec/utf8.h"

namespace torc::spec {

Source::Source(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  starts_.push_back(0);
  for (std::size_t i = text.find('\n'); i != std::string_view::npos; i = text.find('\n', i + 1)) {
    starts_.push_back(i + 1);
  }
}

std::size_t Source::line_start(std::size_t offset) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
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
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const auto number = static_cast<std::size_t>(after - starts_.begin());
  const std::size_t start = starts_[number - 1];
  const std::string_view whole = line(number);
  const std::size_t in_line = std::min(offset - start, whole.size());
  const std::size_t length = count_characters(whole.substr(in_line, bytes));
  return {number, count_characters(whole.substr(0, in_line)) + 1, std::max<std::size_t>(length, 1)};
}

void Report::add(Severity severity, Place place, std::string message, std::string remedy) {
  if (severity == Severity::error) ++errors_;
  // Warnings leave room for the errors that stop the user.
  if (all_.size() >= (severity == Severity::error ? kMaxDiagnostics : kMaxDiagnostics / 2)) {
    ++left_out_;
    return;
  }
  all_.push_back({severity, source_->file(), place, std::move(message), std::move(remedy),
                  std::string(source_->line(place.line))});
}

std::vector<Diagnostic> Report::sorted() && {
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
  }
  return std::move(all_);
}

}  // namespace torc::spec
