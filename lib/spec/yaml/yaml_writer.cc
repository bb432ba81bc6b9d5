#include "lib/spec/yaml/yaml_writer.h"

#include <algorithm>
#include <array>

#include "lib/base/text/text.h"
#include "lib/spec/yaml/yaml_text.h"

namespace torc::spec {
namespace {

bool is_safe(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '+' ||
         c == '=';
}

bool is_word_of_yaml(std::string_view text) {
  constexpr std::array kWords = std::to_array<std::string_view>(
      {"null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"});
  std::string small(text);
  std::ranges::transform(small, small.begin(), lower);
  return std::ranges::find(kWords, small) != kWords.end();
}

// Whether no number of YAML, nor anything but a text, begins and ends so: 8g, 1h30m, /bin/sh, ./a.
bool looks_like_text(std::string_view text) {
  if (text.empty() || text.back() == ' ' || is_word_of_yaml(text)) return false;
  if (is_letter(text[0]) || text[0] == '/' || text[0] == '_') return true;
  if (text.size() < 2) return false;
  if (text[0] == '.') return is_letter(text[1]) || text[1] == '/';
  return is_digit(text[0]) && is_letter(text.back()) && !text.starts_with("0x");
}

std::string written(const Node& node) {
  if (node.kind == NodeKind::null) return "null";
  const std::string& text = node.text;
  if (node.plain && !text.empty() && std::ranges::all_of(text, is_safe) && text != "-") return text;
  const bool bare = looks_like_text(text) &&
                    std::ranges::all_of(text, [](char c) { return is_safe(c) || c == ' '; });
  return bare ? text : yaml_quoted(text);
}

class Writer {
 public:
  std::string run(const Node& root) {
    block(root, 0);
    return std::move(out_);
  }

 private:
  static bool is_flow(const Node& node) {
    return node.items.empty() || (node.kind == NodeKind::sequence &&
                                  std::ranges::all_of(node.items, [](const Node* item) {
                                    return item->kind == NodeKind::scalar ||
                                           item->kind == NodeKind::null;
                                  }));
  }
  void flow(const Node& node) {
    if (node.kind == NodeKind::scalar || node.kind == NodeKind::null) {
      out_ += written(node);
      return;
    }
    if (node.kind == NodeKind::map) {
      out_ += "{}";
      return;
    }
    out_ += '[';
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += written(*node.items[i]);
    }
    out_ += ']';
  }

  // Its first line begins where `out_` ends.
  void block(const Node& node, std::size_t indent) {
    if (node.kind == NodeKind::map) {
      for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
        if (i > 0) out_.append(indent, ' ');
        const std::string& key = node.items[i]->text;
        out_ += (is_word_of_yaml(key) ? yaml_quoted(key) : written(*node.items[i])) + ":";
        value(*node.items[i + 1], indent + 2);
      }
      return;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (i > 0) out_.append(indent, ' ');
      out_ += "- ";
      if (is_flow(*node.items[i])) {
        flow(*node.items[i]);
        out_ += '\n';
      } else {
        block(*node.items[i], indent + 2);
      }
    }
  }

  void value(const Node& node, std::size_t indent) {
    if (is_flow(node)) {
      out_ += ' ';
      flow(node);
      out_ += '\n';
      return;
    }
    out_ += '\n';
    out_.append(indent, ' ');
    block(node, indent);
  }

  std::string out_;
};

}  // namespace

std::string to_yaml(const Node& root) {
  return Writer().run(root);
}

}  // namespace torc::spec
