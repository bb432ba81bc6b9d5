
#include <algorithm>

#include "lib/spec/yaml/yaml_text.h"

namespace torc::spec {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kWhite = " \t\r\n";

class Search {
 public:
  Search(std::string_view text, std::size_t from, std::size_t to) : text_(text), to_(to) {
    const std::size_t line = from == 0 ? std::string_view::npos : text.rfind('\n', from - 1);
    at_ = line == std::string_view::npos ? 0 : line + 1;
  }

  std::optional<BareText> run() {
    while (at_ < text_.size() && at_ <= to_ && !found_) line();
    return found_;
  }

 private:
  [[nodiscard]] std::size_t line_end(std::size_t from) const {
    return std::min(text_.find('\n', from), text_.size());
  }
  [[nodiscard]] std::size_t skip(std::size_t from, std::string_view what) const {
    return std::min(text_.find_first_not_of(what, from), text_.size());
  }
  [[nodiscard]] bool is_at(std::size_t i, std::string_view one_of) const {
    return i < text_.size() && one_of.find(text_[i]) != std::string_view::npos;
  }
  // A colon that ends a key.
  [[nodiscard]] bool is_colon(std::size_t i) const {
    return is_at(i, ":") && (i + 1 >= text_.size() || is_at(i + 1, " \t\r\n,{}[]"));
  }

  // What a line of a block holds behind its dashes and its key, if that is in brackets.
  void line() {
    const std::size_t indent = skip(at_, kBlanks) - at_;
    const std::size_t end = line_end(at_);
    std::size_t i = at_ + indent;
    while (is_at(i, "-") && is_at(i + 1, " ")) i = skip(i + 1, kBlanks);
    std::size_t colon = i;
    while (colon < end && !is_at(colon, "{}[]\"'#|>") && !is_colon(colon)) ++colon;
    if (colon < end && is_colon(colon)) i = skip(colon + 1, kBlanks);
    i = skip_properties(text_, i);
    at_ = end + 1;
    if (i >= end) return;
    if (is_at(i, "{[")) {
      brackets(i);
    } else if (is_at(i, "|>")) {
      while (at_ < text_.size() &&
             (skip(at_, kBlanks) - at_ > indent || skip(at_, kBlanks) >= line_end(at_)))
        at_ = line_end(at_) + 1;
    }
  }

  void brackets(std::size_t i) {
    int depth = 0;
    while ((i = skip_properties(text_, skip(i, kWhite))) < text_.size()) {
      if (is_at(i, "{[")) {
        ++depth;
        ++i;
      } else if (is_at(i, "}]")) {
        ++i;
        if (--depth == 0) break;
      } else if (is_at(i, "\"'")) {
        const auto length = quoted_length(text_, i);
        if (!length) return;
        i += *length;
      } else if (is_at(i, "#") && is_at(i - 1, kWhite)) {
        i = line_end(i);
      } else if (is_at(i, ",") || is_colon(i)) {
        ++i;
      } else if (const std::size_t end = plain_end(i); is_at(end, "{[")) {
        found_ = BareText{i, whole_end(i)};
        return;
      } else {
        i = end;
      }
    }
    at_ = std::max(at_, line_end(std::min(i, text_.size())) + 1);
  }

  [[nodiscard]] std::size_t plain_end(std::size_t i) const {
    ++i;
    while (i < text_.size() && !is_at(i, ",{}[]\r\n") && !is_colon(i)) ++i;
    return i;
  }

  // As far as it was probably meant to go.
  [[nodiscard]] std::size_t whole_end(std::size_t begin) const {
    int depth = 0;
    std::size_t i = begin;
    for (; i < text_.size() && !is_at(i, "\r\n"); ++i) {
      if (is_at(i, "{[")) ++depth;
      if (depth == 0 && is_at(i, ",}]")) break;
      if (is_at(i, "}]")) --depth;
    }
    while (i > begin + 1 && is_at(i - 1, kBlanks)) --i;
    return i;
  }

  std::string_view text_;
  std::size_t to_;
  std::size_t at_ = 0;
  std::optional<BareText> found_;
};

}  // namespace

std::optional<BareText> bare_text_with_bracket(std::string_view text, std::size_t from,
                                               std::size_t to) {
  return Search(text, from, to).run();
}

}  // namespace torc::spec
