#include "bin/commands/change/json_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "lib/base/text/quote.h"
#include "lib/base/text/utf8.h"

namespace torc::cli {
namespace {

constexpr std::size_t kShownLine = 100;

// Remembers where the parser stopped, and why.
struct FirstMistake : nlohmann::json_sax<nlohmann::json> {
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& why) override {
    at = position == 0 ? 0 : position - 1;
    what = why.what();
    return false;
  }

  std::size_t at = 0;  // byte
  std::string what;
};

// It quotes what was read last, which may be all there is.
std::string shortened(std::string text) {
  constexpr std::size_t kMost = 200;
  if (text.size() <= kMost) return text;
  std::size_t end = kMost;
  while (end > 0 && continues_character(text[end])) --end;
  return text.substr(0, end) + "…";
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …; last
// read: …" becomes what is after the place.
std::string reason_of(const std::string& what) {
  const std::size_t column = what.find("column ");
  const std::size_t colon = what.find(": ", column == std::string::npos ? 0 : column);
  if (colon != std::string::npos) return shortened(what.substr(colon + 2));
  // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
  const std::size_t bracket = what.find("] ");
  return shortened(bracket == std::string::npos ? what : what.substr(bracket + 2));
}

Error mistake(std::string_view text, std::string_view from, std::size_t at,
              const std::string& reason) {
  at = std::min(at, text.size());
  const std::size_t line_begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const auto line =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  const std::size_t column = at - line_begin;
  const std::size_t shown_from = column > kShownLine / 2 ? column - kShownLine / 2 : 0;
  std::string_view shown = text.substr(line_begin + shown_from);
  shown = shown.substr(0, std::min(shown.find('\n'), kShownLine));
  return Error{ErrorKind::invalid,
               fmt::format("{} is not valid JSON, line {}, column {}: {}\n    {}\n    {:>{}}",
                           printable(from), line, column + 1, printable(reason), printable(shown),
                           '^', column - shown_from + 1),
               "a text needs quotes: '\"text\"', or --text"};
}

}  // namespace

Result<std::string> minified_json(std::string_view text, std::string_view from) {
  FirstMistake first;
  if (!nlohmann::json::sax_parse(text, &first))
    return mistake(text, from, first.at, reason_of(first.what));
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      out.append(text.substr(i++, 2));
      continue;
    }
    if (c == '"') quoted = !quoted;
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quoted || !blank) out += c;
  }
  return out;
}

Result<std::string> json_string(std::string_view text, std::string_view from) {
  std::string out =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore);
  if (nlohmann::json::parse(out, nullptr, false) != nlohmann::json(text)) {
    return Error{ErrorKind::invalid, fmt::format("{} is not text in UTF-8", printable(from)),
                 "keep other data in a file, and store its path here"};
  }
  return out;
}

Result<std::string> read_stream(std::FILE* stream, std::size_t most) {
  std::string all;
  std::array<char, 65536> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), stream)) {
    all.append(buffer.data(), n);
    if (all.size() > most)
      return Error{ErrorKind::invalid, "standard input is too long for user data",
                   "write it to a file, and keep its path in user data"};
  }
  if (std::ferror(stream) != 0) return os_error(errno, "cannot read standard input");
  return all;
}

}  // namespace torc::cli
