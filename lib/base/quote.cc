#include "lib/base/quote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace torc {
namespace {

bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7f;
}

std::string escaped(unsigned char c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      return fmt::format("\\x{:02x}", c);
  }
}

// Bytes of the UTF-8 character that begins at `at`, C1 controls and what is no character: 0.
std::size_t character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(at);
  const std::size_t size = lead < 0x80                   ? 1
                           : lead >= 0xc2 && lead < 0xe0 ? 2
                           : lead >= 0xe0 && lead < 0xf0 ? 3
                           : lead >= 0xf0 && lead < 0xf5 ? 4
                                                         : 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80U) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool no_scalar = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  const bool c1_control = lead == 0xc2 && second < 0xa0;
  return overlong || no_scalar || c1_control ? 0 : size;
}

bool needs_no_quotes(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_./:=@%+,-").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace

std::string shell_quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += R"('\'')";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_word(std::string_view text) {
  if (needs_no_quotes(text)) return std::string(text);
  if (std::none_of(text.begin(), text.end(), is_control)) return shell_quote(text);
  std::string word = "$'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      word += '\\';
      word += c;
    } else if (is_control(static_cast<unsigned char>(c))) {
      word += escaped(static_cast<unsigned char>(c));
    } else {
      word += c;
    }
  }
  return word + "'";
}

namespace {

// Appends what begins at `at` as it can be shown; where the next begins.
std::size_t append_shown(std::string& out, std::string_view text, std::size_t at) {
  const auto c = static_cast<unsigned char>(text[at]);
  const std::size_t size = is_control(c) ? 0 : character_at(text, at);
  if (size == 0) {
    out += escaped(c);
    return at + 1;
  }
  out += text.substr(at, size);
  return at + size;
}

bool is_layout(char c) {
  return c == '\n' || c == '\t';
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) at = append_shown(out, text, at);
  return out;
}

std::string terminal_text(std::string text) {
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return is_layout(c) || (c >= 0x20 && c < 0x7f); });
  if (plain) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (is_layout(text[at])) {
      out += text[at++];
    } else {
      at = append_shown(out, text, at);
    }
  }
  return out;
}

std::string printable_lines(std::string_view text, std::size_t indent) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (at > 0) out += '\n' + std::string(indent, ' ');
    out += printable(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace torc
