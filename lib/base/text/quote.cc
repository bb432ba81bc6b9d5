#include "lib/base/text/quote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "lib/base/text/utf8.h"

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

// Embeddings, overrides and isolates of Unicode: a line that holds one is shown in another order.
bool turns_text(char32_t value) {
  return (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
}

// Bytes of the UTF-8 character that begins at `at`; controls and what is no character: 0.
std::size_t shown_bytes(std::string_view text, std::size_t at) {
  const CodePoint c = decode_utf8(text, at);
  const bool controls = c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0);
  return controls || turns_text(c.value) ? 0 : c.bytes;
}

bool needs_no_quotes(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
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
  if (std::ranges::none_of(text, is_control)) return shell_quote(text);
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
  const std::size_t size = shown_bytes(text, at);
  if (size == 0) {
    out += escaped(static_cast<unsigned char>(text[at]));
    return at + 1;
  }
  out += text.substr(at, size);
  return at + size;
}

bool is_layout(char c) {
  return c == '\n' || c == '\t';
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;  // characters
  std::string out = "'";
  std::size_t shown = 0;
  for (std::size_t at = 0; at < text.size(); ++shown) {
    if (shown == kShown) {
      out += "…";
      break;
    }
    const CodePoint c = decode_utf8(text, at);
    if (c.bytes == 0) {
      out += "\uFFFD";
    } else if (shown_bytes(text, at) > 0) {
      out += text.substr(at, c.bytes);
    } else {
      out += c.value < 0x20 ? escaped(static_cast<unsigned char>(c.value))
                            : fmt::format("\\x{:02x}", static_cast<unsigned>(c.value));
    }
    at += std::max<std::size_t>(c.bytes, 1);
  }
  return out + "'";
}

std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) at = append_shown(out, text, at);
  return out;
}

std::string terminal_text(std::string text) {
  const bool plain =
      std::ranges::all_of(text, [](char c) { return is_layout(c) || (c >= 0x20 && c < 0x7f); });
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
