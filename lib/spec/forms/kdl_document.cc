#include "lib/spec/forms/kdl_document.h"

#include <fmt/format.h>

#include <utility>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/base/text/utf8.h"
#include "lib/spec/forms/form_text.h"
#include "lib/spec/forms/kdl_text.h"
#include "lib/spec/yaml/yaml_text.h"

namespace torc::spec {
namespace {

using Kind = KdlValue::Kind;

class Kdl {
 public:
  explicit Kdl(std::string_view text) : in_(text) {}

  KdlDocument run() {
    KdlDocument document;
    document.nodes = nodes(nullptr);
    document.annotation = annotation_;
    return document;
  }

 private:
  // Up to the end of the file, or of the block that `open` opened.
  std::vector<KdlNode> nodes(const std::size_t* open) {
    const DepthGuard guard(depth_, open == nullptr ? 0 : *open);
    std::vector<KdlNode> all;
    while (true) {
      skip_lines();
      while (in_.take(';')) skip_lines();
      if (in_.at_end()) {
        if (open == nullptr) return all;
        throw FormMistake{*open, 1, "this '{' is not closed", "close it with '}'"};
      }
      if (in_.peek() == '}') {
        if (open != nullptr) return all;
        throw FormMistake{in_.at(), 1, "this '}' closes nothing", "remove it"};
      }
      const bool commented = in_.take("/-");
      if (commented) skip_lines();
      KdlNode one = node();
      if (!commented) all.push_back(std::move(one));
    }
  }

  // Blanks, comments and line ends.
  void skip_lines() {
    while (skip_kdl_space(in_) || skip_kdl_line_comment(in_) || take_kdl_line_end(in_)) {
    }
  }

  KdlNode node() {
    skip_annotation();
    KdlNode node;
    node.begin = in_.at();
    node.name = name("a node");
    node.bytes = in_.at() - node.begin;
    count(node.name.size(), node.begin);
    bool blocks = false;  // nothing but blocks may follow one
    while (true) {
      const bool apart = skip_kdl_space(in_);
      if (in_.at_end() || in_.peek() == ';' || in_.peek() == '}') break;
      if (skip_kdl_line_comment(in_) || take_kdl_line_end(in_)) break;
      const bool commented = in_.take("/-");
      if (commented) skip_lines();
      if (in_.peek() == '{') {
        block(node, commented);
        blocks = true;
        continue;
      }
      if (blocks)
        throw FormMistake{in_.at(), in_.word().size(), "something follows the block of this node",
                          "begin the next node on a line of its own, or behind a ';'"};
      if (!apart && !commented)
        throw FormMistake{in_.at(), in_.word().size(), "a blank is missing here",
                          "put one between values; quotes stand around a whole text"};
      entry(node, commented);
    }
    (void)in_.take(';');
    return node;
  }

  void block(KdlNode& node, bool commented) {
    const std::size_t open = in_.at();
    in_.go(1);
    std::vector<KdlNode> children = nodes(&open);
    in_.go(1);
    if (commented) return;
    if (node.has_block)
      throw FormMistake{open, 1, "a second block of one node", "keep one of the two"};
    node.has_block = true;
    node.children = std::move(children);
  }

  // An argument, or a property.
  void entry(KdlNode& node, bool commented) {
    const std::size_t type = in_.at();
    skip_annotation();
    const std::size_t begin = in_.at();
    KdlValue first = value();
    const std::size_t end = in_.at();
    (void)skip_kdl_space(in_);
    if (!in_.take('=')) {
      in_.go_to(end);
      if (!commented) node.arguments.push_back(std::move(first));
      return;
    }
    if (first.kind != Kind::text)
      throw FormMistake{begin, end - begin, "this cannot be the name of a property",
                        "put quotes around it"};
    if (type != begin)
      throw FormMistake{type, 1, "a type in front of the name of a property",
                        "a type stands in front of the value, and no spec needs one"};
    (void)skip_kdl_space(in_);
    skip_annotation();
    KdlProperty property{std::move(first.text), begin, end - begin, value()};
    if (!commented) node.properties.push_back(std::move(property));
  }

  KdlValue value() {
    KdlValue v;
    v.begin = in_.at();
    read(v);
    v.bytes = in_.at() - v.begin;
    count(v.text.size(), v.begin);
    return v;
  }

  void read(KdlValue& v) {
    if (is_at_kdl_text(in_)) {
      v.kind = Kind::text;
      v.text = take_kdl_text(in_);
    } else if (is_at_kdl_number(in_)) {
      v.kind = Kind::number;
      v.text = take_kdl_number(in_);
    } else if (in_.take('#')) {
      keyword(v, take_kdl_word(in_));
    } else {
      word(v, bare_word("a value"));
    }
  }

  void keyword(KdlValue& v, const std::string& word) {
    constexpr std::pair<std::string_view, std::string_view> kNumbers[] = {
        {"inf", "Infinity"}, {"-inf", "-Infinity"}, {"nan", "NaN"}};
    if (word == "true" || word == "false" || word == "null") return this->word(v, word);
    for (const auto& [name, number] : kNumbers) {
      if (word != name) continue;
      v.kind = Kind::number;
      v.text = number;
      return;
    }
    throw FormMistake{v.begin, word.size() + 1, fmt::format("#{} is not a word of KDL", word),
                      "write #true, #false or #null; comments begin with //"};
  }

  // Without '#', as in version 1.
  static void word(KdlValue& v, const std::string& word) {
    v.kind = word == "null"                      ? Kind::null
             : word == "true" || word == "false" ? Kind::boolean
                                                 : Kind::text;
    v.text = word;
  }

  std::string bare_word(std::string_view what) {
    const std::size_t begin = in_.at();
    std::string word = take_kdl_word(in_);
    if (word.empty()) {
      throw FormMistake{begin, in_.word().size(),
                        in_.at_end() ? fmt::format("the file ends where {} is missing", what)
                                     : fmt::format("'{}' where {} is missing", in_.word(), what),
                        in_.peek() == '\'' ? "texts stand in double quotes"
                                           : "put quotes around a text with such a sign"};
    }
    const std::size_t sign = word[0] == '+' || word[0] == '-' ? 1 : 0;
    const bool point = word.size() > sign + 1 && word[sign] == '.' && is_digit(word[sign + 1]);
    if (point)
      throw FormMistake{begin, word.size(), fmt::format("{} is not a number", torc::quoted(word)),
                        "write a digit before the point, or quotes around a text"};
    if (word == "inf" || word == "-inf" || word == "nan")
      throw FormMistake{begin, word.size(), fmt::format("{} is not a value", torc::quoted(word)),
                        fmt::format("write #{}, or quotes around a text", word)};
    return word;
  }

  std::string name(std::string_view what) {
    if (is_at_kdl_text(in_)) return take_kdl_text(in_);
    const std::size_t begin = in_.at();
    if (is_at_kdl_number(in_) || in_.peek() == '#')
      throw FormMistake{
          begin, in_.word().size(), fmt::format("{} begins with its name", what),
          in_.peek() == '#' ? "comments begin with //" : "put quotes around the name"};
    std::string word = bare_word(fmt::format("the name of {}", what));
    if (word == "true" || word == "false" || word == "null")
      throw FormMistake{begin, word.size(), fmt::format("{} is not a name", torc::quoted(word)),
                        "put quotes around it"};
    return word;
  }

  // (type)
  void skip_annotation() {
    const std::size_t begin = in_.at();
    if (!in_.take('(')) return;
    if (!annotation_) annotation_ = begin;
    (void)skip_kdl_space(in_);
    (void)name("a type");
    (void)skip_kdl_space(in_);
    if (!in_.take(')')) throw FormMistake{begin, 1, "this '(' is not closed", "close it with ')'"};
    (void)skip_kdl_space(in_);
  }

  // As a tree counts.
  void count(std::size_t bytes, std::size_t at) {
    if (bytes > kMaxTextBytes)
      throw FormMistake{at, 1, fmt::format("a text of more than {} MiB", kMaxTextBytes >> 20U),
                        "keep it in a file of its own, and name that"};
    count_ += 1 + bytes / kBytesOfOne;
    if (count_ > kMaxNodes)
      throw FormMistake{at, 1, fmt::format("more than {} values", kMaxNodes),
                        "write many similar jobs as one with parameters"};
  }

  FormCursor in_;
  std::optional<std::size_t> annotation_;
  std::size_t depth_ = 0;
  std::uint64_t count_ = 0;
};

// Signs that turn the direction of writing: what is read would not be what is seen.
bool check_directions(const Source& source, Report& report) {
  const std::string_view text = source.text();
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0xE2) {
      ++i;
      continue;
    }
    const CodePoint c = decode_utf8(text, i);
    const bool turns = c.value == 0x200E || c.value == 0x200F ||
                       (c.value >= 0x202A && c.value <= 0x202E) ||
                       (c.value >= 0x2066 && c.value <= 0x2069);
    if (turns) {
      report.error(source.place(i),
                   fmt::format("direction character U+{:04X}", static_cast<unsigned>(c.value)),
                   "remove it, or write it as an escape in double quotes");
      return false;
    }
    i += std::max<std::size_t>(c.bytes, 1);
  }
  return true;
}

}  // namespace

std::optional<KdlDocument> read_kdl(const Source& source, Report& report) {
  try {
    if (!check_bytes(source, report, "\v\f") || !check_directions(source, report)) return {};
    return Kdl(source.text()).run();
  } catch (const FormMistake& mistake) {
    report_mistake(source, report, "KDL", mistake);
  } catch (const std::exception& e) {
    report_failure(report, "KDL", e);
  }
  return {};
}

}  // namespace torc::spec
