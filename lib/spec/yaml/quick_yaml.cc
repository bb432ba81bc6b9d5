#include "lib/spec/yaml/yaml_tree.h"

#include <array>
#include <string_view>
#include <utility>

#include "lib/base/text/text.h"

namespace torc::spec {
namespace {

constexpr bool is_name_start(char c) {
  return is_letter(c) || c == '_';
}

enum Class : unsigned char {
  kText = 1,   // may stand in a plain text of a block
  kFlow = 2,   // may stand in a plain text between brackets
  kFirst = 4,  // may begin a plain text
  kQuoted = 8  // may stand in quotes of either kind
};

constexpr std::array<unsigned char, 256> classes() {
  std::array<unsigned char, 256> table{};
  for (int c = 0x20; c < 0x7F; ++c) {
    const char letter = static_cast<char>(c);
    unsigned char is = kText;
    if (letter != '"' && letter != '\'' && letter != '\\') is |= kQuoted;
    const bool word = is_name_start(letter) || is_digit(letter) || letter == '.' || letter == '/';
    if (word) is |= kFirst;
    if (word || std::string_view("-=+ $;|<>()").find(letter) != std::string_view::npos) is |= kFlow;
    table[static_cast<std::size_t>(c)] = is;
  }
  return table;
}
constexpr auto kClasses = classes();

constexpr bool is(char c, Class wanted) {
  return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

// What the general parser takes for no text at all.
bool means_null(std::string_view text) {
  return text == "null" || text == "Null" || text == "NULL";
}

class Quick {
 public:
  explicit Quick(std::string_view text) : text_(text) {}

  Tree run() {
    next_line();
    if (done_ || indent_ != 0 || text_.starts_with("---")) return {};
    Node* root = block(0);
    if (root == nullptr || root->kind != NodeKind::map || !done_ || failed_) return {};
    tree_.root = root;
    return std::move(tree_);
  }

 private:
  // Goes to the first thing of the next line that holds one.
  void next_line() {
    while (at_ < text_.size()) {
      const std::size_t begin = at_;
      skip_blanks();
      if (at_ == text_.size()) break;
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') {
          if (!is(text_[at_++], kText)) failed_ = true;
        }
        continue;
      }
      if (text_[at_] == '\n') {
        ++at_;
        continue;
      }
      indent_ = at_ - begin;
      return;
    }
    done_ = true;
  }

  Node* fail() {
    failed_ = true;
    return nullptr;
  }

  Node* make(NodeKind kind, std::size_t offset) {
    if (++count_ > kMaxNodes) return fail();
    Node& node = tree_.nodes.emplace_back();
    node.kind = kind;
    node.closed = true;
    node.offset = static_cast<std::uint32_t>(offset);
    return &node;
  }

  static void append(Node& parent, const Node& child) {
    parent.items.push_back(&child);
    parent.nodes += child.nodes;
  }

  [[nodiscard]] bool at_dash() const {
    return text_[at_] == '-' && at_ + 1 < text_.size() && text_[at_ + 1] == ' ';
  }

  // The map or list whose first thing stands at column `column`, which is where we are.
  Node* block(std::size_t column) {
    if (depth_ == kMaxDepth) return fail();
    ++depth_;
    Node* node = at_dash() ? list(column) : map(column);
    --depth_;
    return node;
  }

  Node* list(std::size_t column) {
    Node* node = make(NodeKind::sequence, at_);
    while (node != nullptr && !done_ && indent_ == column && at_dash()) {
      const std::size_t dash = at_;
      at_ += 2;
      skip_blanks();
      if (at_ == text_.size() || text_[at_] == '\n') return fail();
      const std::size_t inner = column + (at_ - dash);
      Node* item = nullptr;
      if (starts_key()) {
        indent_ = inner;
        item = block(inner);
      } else {
        item = text_or_flow(column);
      }
      if (item == nullptr) return nullptr;
      append(*node, *item);
    }
    return !done_ && indent_ > column ? fail() : node;
  }

  // A name, a colon, and a blank or the end of the line.
  [[nodiscard]] bool starts_key() const {
    std::size_t i = at_;
    if (!is_name_start(text_[i])) return false;
    while (i < text_.size() && (is_name_start(text_[i]) || is_digit(text_[i]))) ++i;
    return i < text_.size() && text_[i] == ':' &&
           (i + 1 == text_.size() || text_[i + 1] == ' ' || text_[i + 1] == '\n');
  }

  Node* map(std::size_t column) {
    Node* node = make(NodeKind::map, at_);
    while (node != nullptr && !done_ && indent_ == column) {
      if (!starts_key()) {
        // A list at the column of its key's map ends here; anything else is not for this reader.
        return at_dash() && !node->items.empty() ? node : fail();
      }
      const Node* key = take_key(*node);
      if (key == nullptr) return fail();
      Node* value = value_of(column);
      if (value == nullptr) return nullptr;
      append(*node, *key);
      append(*node, *value);
    }
    return !done_ && indent_ > column ? fail() : node;
  }

  // The key that starts here, with its colon. Null: it means nothing, or stands there twice.
  Node* take_key(const Node& map) {
    Node* key = make(NodeKind::scalar, at_);
    if (key == nullptr) return nullptr;
    const std::size_t begin = std::exchange(at_, text_.find(':', at_));
    key->text = text_.substr(begin, at_++ - begin);
    return means_null(key->text) || has_key(map, key->text) ? nullptr : key;
  }

  static bool has_key(const Node& map, std::string_view key) {
    for (std::size_t i = 0; i < map.items.size(); i += 2) {
      if (map.items[i]->text == key) return true;
    }
    return false;
  }

  // What follows the colon of a key at `column`.
  Node* value_of(std::size_t column) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] != '\n') return text_or_flow(column);
    next_line();
    if (done_) return fail();  // nothing: where that stands the general parser knows
    if (indent_ > column) return starts_key() || at_dash() ? block(indent_) : fail();
    return indent_ == column && at_dash() ? block(column) : fail();
  }

  // A text, or a list or map in brackets, to the end of the line. `column` is that of what holds
  // it: a line that stands further in would go on with it.
  Node* text_or_flow(std::size_t column) {
    Node* node = text_[at_] == '[' || text_[at_] == '{' ? flow() : text();
    if (node == nullptr) return nullptr;
    skip_blanks();
    if (at_ < text_.size() && text_[at_] != '\n') return fail();
    next_line();
    return !done_ && indent_ > column ? fail() : node;
  }

  Node* text() {
    const char first = text_[at_];
    if (first == '"' || first == '\'') return quoted(first);
    if (!is(first, kFirst)) return fail();
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (!is(text_[at_], kText)) return fail();
      const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\n';
      if (text_[at_] == ':' && (next == ' ' || next == '\n')) return fail();
      if (text_[at_] == ' ' && next == '#') return fail();
    }
    return scalar(begin, at_);
  }

  Node* quoted(char quote) {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && is(text_[at_], kQuoted)) ++at_;
    if (at_ == text_.size() || text_[at_] != quote) return fail();
    Node* node = make(NodeKind::scalar, begin);
    if (node == nullptr) return nullptr;
    node->plain = false;
    node->text = text_.substr(begin + 1, at_ - begin - 1);
    if (node->text.size() > kMaxTextBytes) return fail();
    ++at_;
    // Two of one kind stand for one.
    return at_ < text_.size() && text_[at_] == quote ? fail() : node;
  }

  Node* scalar(std::size_t begin, std::size_t end) {
    while (text_[end - 1] == ' ') --end;
    const std::string_view value = text_.substr(begin, end - begin);
    if (means_null(value) || value.starts_with("...")) return fail();
    if (value.size() > kMaxTextBytes) return fail();
    Node* node = make(NodeKind::scalar, begin);
    if (node != nullptr) node->text = value;
    return node;
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  // A list or a map, whose bracket is here.
  Node* flow() {
    if (depth_ == kMaxDepth) return fail();
    ++depth_;
    const bool is_map = text_[at_] == '{';
    const char end = is_map ? '}' : ']';
    Node* node = make(is_map ? NodeKind::map : NodeKind::sequence, at_++);
    while (node != nullptr) {
      skip_blanks();
      if (at_ == text_.size()) return fail();
      if (text_[at_] == end && node->items.empty()) break;
      if (is_map && !flow_key(*node)) return fail();
      Node* item = text_[at_] == '[' || text_[at_] == '{' ? flow() : flow_text();
      if (item == nullptr) return nullptr;
      append(*node, *item);
      skip_blanks();
      if (at_ == text_.size() || (text_[at_] != ',' && text_[at_] != end)) return fail();
      if (text_[at_] == end) break;
      ++at_;
    }
    ++at_;
    --depth_;
    return node;
  }

  // A key with its colon, up to the value. False: something else.
  bool flow_key(Node& map) {
    if (!starts_key()) return false;
    const Node* key = take_key(map);
    if (key == nullptr) return false;
    append(map, *key);
    skip_blanks();
    return at_ < text_.size();
  }

  Node* flow_text() {
    const char first = text_[at_];
    if (first == '"' || first == '\'') return quoted(first);
    if (!is(first, kFirst)) return fail();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is(text_[at_], kFlow)) ++at_;
    return scalar(begin, at_);
  }

  std::string_view text_;
  Tree tree_;
  std::size_t at_ = 0;
  std::size_t indent_ = 0;  // of the line that we are on
  std::size_t depth_ = 0;
  std::uint64_t count_ = 0;
  bool done_ = false;
  bool failed_ = false;
};

}  // namespace

Tree read_quickly(std::string_view text) {
  if (text.size() > kMaxSpecBytes) return {};
  return Quick(text).run();
}

}  // namespace torc::spec
