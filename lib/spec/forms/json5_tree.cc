#include "lib/spec/forms/json5_tree.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lib/base/text/quote.h"
#include "lib/base/text/text.h"
#include "lib/spec/forms/form_text.h"
#include "lib/spec/forms/json5_text.h"
#include "lib/spec/yaml/yaml_text.h"

namespace torc::spec {
namespace {

class Json5 {
 public:
  Json5(std::string_view text, Tree& tree) : in_(text), tree_(tree) {}

  // Null: there is nothing but blanks and comments.
  const Node* run() {
    skip_json5_blanks(in_);
    if (in_.at_end()) return nullptr;
    const Node& root = value();
    skip_json5_blanks(in_);
    if (!in_.at_end()) {
      throw FormMistake{in_.at(), in_.word().size(), "something follows the end of the first value",
                        "a spec is one value: check the brackets, or remove it"};
    }
    return &root;
  }
  // Keys that a map has already.
  [[nodiscard]] const std::vector<FormMistake>& duplicates() const { return duplicates_; }

 private:
  Node& value() {
    const char c = in_.peek();
    if (c == '{') return map();
    if (c == '[') return list();
    const std::size_t begin = in_.at();
    if (c == '"' || c == '\'') {
      std::string text = take_json5_string(in_);
      return tree_.scalar(begin, in_.at() - begin, std::move(text), false);
    }
    if (std::optional<std::string> number = take_json5_number(in_))
      return tree_.scalar(begin, in_.at() - begin, *std::move(number), true);
    return word();
  }

  // null, true, false.
  Node& word() {
    const std::size_t begin = in_.at();
    const std::string_view word = in_.word();
    if (in_.at_end())
      throw FormMistake{begin, 1, "the file ends where a value is missing", "write it"};
    const bool known = word == "null" || word == "true" || word == "false";
    if (!known) {
      const bool is_name = is_letter(word[0]) || word[0] == '_' || word[0] == '$' ||
                           static_cast<unsigned char>(word[0]) >= 0x80;
      if (word == "#")
        throw FormMistake{begin, 1, "'#' begins no comment", "write // in front of a comment"};
      throw FormMistake{begin, word.size(),
                        is_name ? fmt::format("{} is not a value", torc::quoted(word))
                                : fmt::format("a value is missing before '{}'", word),
                        is_name ? "put quotes around a text" : "write it, or remove the comma"};
    }
    in_.go(word.size());
    if (word != "null") return tree_.scalar(begin, word.size(), std::string(word), true);
    Node& null = tree_.make(NodeKind::null, begin, word.size());
    null.text = word;
    return null;
  }

  // Behind an element: whether another may follow. Throws where neither a comma nor the end is.
  bool goes_on(char end, std::size_t open, std::string_view what) {
    skip_json5_blanks(in_);
    if (in_.take(end)) return false;
    if (in_.take(',')) {
      skip_json5_blanks(in_);
      return !in_.take(end);
    }
    if (in_.at_end()) not_closed(open);
    if (in_.peek() == ':' || in_.peek() == '=')
      throw FormMistake{in_.at(), 1, fmt::format("a '{}' that follows no key", in_.peek()),
                        "keys and values stand between '{' and '}', as key: value"};
    throw FormMistake{in_.at(), in_.word().size(),
                      fmt::format("a comma is missing before this {}", what),
                      fmt::format("separate them with ',', and end with '{}'", end)};
  }

  [[noreturn]] void not_closed(std::size_t open) const {
    throw FormMistake{open, 1, fmt::format("this '{}' is not closed", in_.text()[open]),
                      fmt::format("close it with '{}'", in_.text()[open] == '{' ? '}' : ']')};
  }

  Node& list() {
    const std::size_t open = in_.at();
    const DepthGuard guard(depth_, open);
    Node& node = tree_.make(NodeKind::sequence, open, 1);
    in_.go(1);
    skip_json5_blanks(in_);
    if (in_.take(']')) return node;
    do {
      if (in_.at_end()) not_closed(open);
      tree_.append(node, value());
    } while (goes_on(']', open, "element"));
    return node;
  }

  Node& map() {
    const std::size_t open = in_.at();
    const DepthGuard guard(depth_, open);
    Node& node = tree_.make(NodeKind::map, open, 1);
    in_.go(1);
    skip_json5_blanks(in_);
    if (in_.take('}')) return node;
    std::unordered_set<std::string_view> seen;
    do {
      if (in_.at_end()) not_closed(open);
      const Node& name = key();
      if (!seen.insert(name.text).second) {
        duplicates_.push_back({name.offset, name.length,
                               fmt::format("duplicate key {}", torc::quoted(name.text)),
                               "keep one of the two"});
      }
      skip_json5_blanks(in_);
      if (!in_.take(':')) {
        throw FormMistake{name.offset, name.length,
                          fmt::format("no ':' follows the key {}", torc::quoted(name.text)),
                          "write key: value"};
      }
      skip_json5_blanks(in_);
      tree_.append(node, name);
      tree_.append(node, value());
    } while (goes_on('}', open, "key"));
    return node;
  }

  Node& key() {
    const std::size_t begin = in_.at();
    const bool quoted = in_.peek() == '"' || in_.peek() == '\'';
    std::string name = quoted ? take_json5_string(in_) : take_json5_name(in_);
    if (name.empty() && !quoted) {
      if (in_.peek() == '#')
        throw FormMistake{begin, 1, "'#' begins no comment", "write // in front of a comment"};
      throw FormMistake{begin, in_.word().size(),
                        fmt::format("{} is not a key", torc::quoted(in_.word())),
                        "a key is a name, or a text in quotes"};
    }
    return tree_.scalar(begin, in_.at() - begin, std::move(name), !quoted);
  }

  FormCursor in_;
  TreeWriter tree_;
  std::vector<FormMistake> duplicates_;
  std::size_t depth_ = 0;
};

}  // namespace

Tree read_json5(const Source& source, Report& report) {
  Tree tree;
  try {
    if (!check_bytes(source, report, "\v\f")) return tree;
    Json5 json(source.text(), tree);
    tree.root = json.run();
    for (const FormMistake& m : json.duplicates())
      report.error(source.place(m.begin, m.bytes), m.message, m.remedy);
  } catch (const FormMistake& mistake) {
    report_mistake(source, report, "JSON5", mistake);
  } catch (const std::exception& e) {
    report_failure(report, "JSON5", e);
  }
  return tree;
}

const Node* read_json_within(std::string_view json, std::size_t offset, std::size_t bytes,
                             Tree& tree, std::string& why) {
  const std::size_t first = tree.nodes.size();
  try {
    Json5 reader(json, tree);
    const Node* root = reader.run();
    if (root == nullptr) {
      why = "it is empty";
    } else if (!reader.duplicates().empty()) {
      why = reader.duplicates().front().message;
      root = nullptr;
    }
    for (std::size_t i = first; i < tree.nodes.size(); ++i) {
      tree.nodes[i].offset = static_cast<std::uint32_t>(offset);
      tree.nodes[i].length = static_cast<std::uint32_t>(bytes);
    }
    return root;
  } catch (const FormMistake& mistake) {
    why = mistake.message;
    return nullptr;
  }
}

}  // namespace torc::spec
