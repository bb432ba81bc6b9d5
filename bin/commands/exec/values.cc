#include "bin/commands/exec/values.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "lib/base/text/quote.h"

namespace torc::cli {
namespace {

Result<ExecLines> open_exec_source(const App& app, const ExecSource& source, char separator) {
  if (source.file.empty()) return ExecLines::of(source.words);
  return ExecLines::open(app, source.file, separator);
}

Result<std::unique_ptr<re2::RE2>> compile_separator(const std::string& text) {
  auto made = std::make_unique<re2::RE2>(text, re2::RE2::Quiet);
  if (!made->ok()) {
    return Error{ErrorKind::invalid,
                 fmt::format("--colsep {} is not a regular expression: {}", shell_word(text),
                             printable(made->error())),
                 "for example --colsep ',' or --colsep '\\t' or --colsep ' +'"};
  }
  if (re2::RE2::FullMatch("", *made)) {
    return Error{
        ErrorKind::invalid,
        fmt::format("--colsep {} separates nothing: it matches an empty text", shell_word(text)),
        "for example --colsep ' +' where you have ' *'"};
  }
  return made;
}

}  // namespace

std::size_t width_of(const ExecOptions& o) {
  if (!o.column_separator.empty() || o.arguments.value_or(1) != 1) return 0;
  return o.sources.size();
}

ExecValueReader::ExecValueReader() = default;
ExecValueReader::ExecValueReader(ExecValueReader&&) noexcept = default;
ExecValueReader& ExecValueReader::operator=(ExecValueReader&&) noexcept = default;
ExecValueReader::~ExecValueReader() = default;

Result<ExecValueReader> ExecValueReader::open(const App& app, const ExecOptions& o) {
  ExecValueReader reader;
  reader.separator_ = o.nul_separated ? '\0' : '\n';
  reader.at_once_ = o.arguments.value_or(1);
  if (!o.column_separator.empty()) {
    TORC_ASSIGN(reader.columns_, compile_separator(o.column_separator));
  }
  std::vector<Linked> all;
  for (const ExecSource& source : o.sources) {
    if (!source.linked || all.empty()) all.emplace_back();
    TORC_ASSIGN(ExecLines lines, open_exec_source(app, source, reader.separator_));
    all.back().push_back(std::move(lines));
  }
  for (std::size_t i = 1; i < all.size(); ++i) {
    std::vector<ExecValues>& held = reader.others_.emplace_back();
    for (ExecValues values;; values.clear()) {
      TORC_ASSIGN(const bool there, reader.read(all[i], values));
      if (!there) break;
      held.push_back(std::move(values));
    }
  }
  reader.at_.assign(reader.others_.size(), 0);
  if (!all.empty()) reader.first_ = std::move(all.front());
  return reader;
}

void ExecValueReader::split(std::string line, ExecValues& values) const {
  if (columns_ == nullptr) {
    values.push_back(std::move(line));
    return;
  }
  const re2::StringPiece text(line);
  std::size_t from = 0;
  re2::StringPiece found;
  while (from < line.size() &&
         columns_->Match(text, from, line.size(), re2::RE2::UNANCHORED, &found, 1)) {
    const auto at = static_cast<std::size_t>(found.data() - line.data());
    if (found.empty()) break;  // only at a place such as a line's end
    values.push_back(line.substr(from, at - from));
    from = at + found.size();
  }
  values.push_back(line.substr(from));
}

// The shortest of what is linked decides.
Result<bool> ExecValueReader::read(Linked& sources, ExecValues& values) {
  std::string line;
  for (ExecLines& source : sources) {
    TORC_ASSIGN(const bool there, source.next(line));
    if (!there) return false;
    split(std::move(line), values);
  }
  return !sources.empty();
}

// Appends the next combination.
Result<bool> ExecValueReader::combine(ExecValues& values) {
  if (std::any_of(others_.begin(), others_.end(), [](const auto& o) { return o.empty(); }))
    return false;
  if (first_is_used_up_) {
    of_first_.clear();
    TORC_ASSIGN(const bool there, read(first_, of_first_));
    if (!there) return false;
  }
  values.insert(values.end(), of_first_.begin(), of_first_.end());
  for (std::size_t i = 0; i < others_.size(); ++i) {
    const ExecValues& one = others_[i][at_[i]];
    values.insert(values.end(), one.begin(), one.end());
  }
  first_is_used_up_ = true;
  for (std::size_t i = others_.size(); i-- > 0;) {
    if (++at_[i] < others_[i].size()) {
      first_is_used_up_ = false;
      break;
    }
    at_[i] = 0;
  }
  return true;
}

Result<bool> ExecValueReader::next(ExecValues& values) {
  values.clear();
  for (std::uint64_t i = 0; i < at_once_; ++i) {
    TORC_ASSIGN(const bool there, combine(values));
    if (!there) return i > 0;
  }
  return true;
}

}  // namespace torc::cli
