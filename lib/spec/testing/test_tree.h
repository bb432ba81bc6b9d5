// For tests: a tree as one line, plain scalars bare and texts in quotes.
#pragma once

#include <string>

#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

inline std::string one_line(const Node* node) {
  if (node == nullptr) return "nothing";
  const char* separator = "";
  std::string out;
  switch (node->kind) {
    case NodeKind::null:
      return "null";
    case NodeKind::scalar:
      return node->plain ? node->text : '"' + node->text + '"';
    case NodeKind::sequence:
      for (const Node* item : node->items) {
        out += separator + one_line(item);
        separator = ",";
      }
      return "[" + out + "]";
    case NodeKind::map:
      for (std::size_t i = 0; i + 1 < node->items.size(); i += 2) {
        out += separator + node->items[i]->text + ":" + one_line(node->items[i + 1]);
        separator = ",";
      }
      return "{" + out + "}";
  }
  return out;
}

}  // namespace torc::spec
