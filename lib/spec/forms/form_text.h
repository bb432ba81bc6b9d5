// What the readers of JSON5 and KDL have in common: a place in a text, the end of a reading by a
// mistake, and nodes that are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Thrown within a reader, and reported by it: bytes [begin, begin + bytes) are wrong.
struct FormMistake {
  std::size_t begin;
  std::size_t bytes;
  std::string message;
  std::string remedy;
};
// As an error of the file, after which nothing else of it is looked at. `form`: "JSON5".
void report_mistake(const Source& source, Report& report, std::string_view form,
                    const FormMistake& mistake);
// The same of what else ends a reading: memory.
void report_failure(Report& report, std::string_view form, const std::exception& e);

// A place in a text that is UTF-8.
class FormCursor {
 public:
  explicit FormCursor(std::string_view text) : text_(text) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  // The byte `offset` bytes from here; NUL at the end, which no text has.
  [[nodiscard]] char peek(std::size_t offset = 0) const {
    return at_ + offset < text_.size() ? text_[at_ + offset] : '\0';
  }
  [[nodiscard]] bool is_at(std::string_view words) const {
    return text_.substr(at_).starts_with(words);
  }
  // The character here, and its length; 0 bytes at the end.
  [[nodiscard]] char32_t character(std::size_t& bytes) const;
  [[nodiscard]] std::string_view since(std::size_t begin) const {
    return text_.substr(begin, at_ - begin);
  }
  void go(std::size_t bytes) { at_ += bytes; }
  void go_to(std::size_t at) { at_ = at; }
  bool take(char c) {
    if (peek() != c || at_end()) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view words) {
    if (!is_at(words)) return false;
    at_ += words.size();
    return true;
  }
  // Hexadecimal digits from here on, at most `most`.
  [[nodiscard]] std::string_view hex_digits(std::size_t most) const;
  // The word or sign that stands here, for messages.
  [[nodiscard]] std::string_view word() const;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Of blanks that are no ASCII: those of Unicode's category Zs, and the byte order mark.
[[nodiscard]] bool is_unicode_blank(char32_t c);
// Beyond ASCII: what is neither a blank, nor the end of a line, nor a sign of punctuation or
// mathematics. Wider than the letters of Unicode, which are not listed here.
[[nodiscard]] bool is_unicode_letter(char32_t c);
void append_utf8(std::string& out, char32_t c);
// Digits of a base up to 16, '_' between them left out, as a decimal number; none: beyond 64 bits.
[[nodiscard]] std::optional<std::string> in_decimal(std::string_view digits, unsigned base);

// Makes the nodes of a tree. Throws FormMistake beyond the limits.
class TreeWriter {
 public:
  explicit TreeWriter(Tree& tree) : tree_(&tree) {}
  Node& make(NodeKind kind, std::size_t begin, std::size_t bytes);
  // A scalar. Throws for a NUL in it, too.
  Node& scalar(std::size_t begin, std::size_t bytes, std::string text, bool plain);
  void append(Node& parent, const Node& child);

 private:
  Tree* tree_;
};

// Throws where maps and lists within each other are more than kMaxDepth.
class DepthGuard {
 public:
  DepthGuard(std::size_t& depth, std::size_t at) : depth_(&depth) {
    if (++depth > kMaxDepth) {
      throw FormMistake{at, 1, "nested more than " + std::to_string(kMaxDepth) + " deep",
                        "no part of a spec needs that: check the brackets"};
    }
  }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { --*depth_; }

 private:
  std::size_t* depth_;
};

}  // namespace torc::spec
