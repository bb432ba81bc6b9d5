#include "lib/spec/read/kdl_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/text/quote.h"
#include "lib/spec/forms/form_text.h"
#include "lib/spec/forms/json5_tree.h"

namespace torc::spec {
namespace {

using Kind = KdlValue::Kind;

// Of which several nodes are one list.
bool gathers(Type type) {
  return type == Type::maps || type == Type::names || type == Type::integers ||
         type == Type::selection;
}

class Mapper {
 public:
  Mapper(const Source& source, Report& report, Tree& tree)
      : source_(source), report_(report), tree_(tree), writer_(tree) {}

  // The map of kind `where` that a block and properties are. `name`: null, or its name.
  Node& map(const std::vector<KdlNode>& nodes, const std::vector<KdlProperty>& properties,
            Where where, std::size_t begin, std::size_t bytes, const KdlValue* name) {
    Map map{writer_.make(NodeKind::map, begin, bytes), {}};
    if (name != nullptr) add(map, nullptr, {"name", name->begin, name->bytes}, scalar(*name));
    for (const KdlProperty& p : properties) {
      const Key* meant = kdl_key(where, p.name);
      add(map, meant, at(meant, p), scalar(p.value));
    }
    for (const KdlNode& node : nodes) {
      const Key* meant = kdl_key(where, node.name);
      const Name key = at(meant, node);
      if (meant == nullptr) {
        add(map, nullptr, key, value(node));
      } else if (meant->type == Type::maps) {
        add(map, meant, key, element(node, meant->child));
      } else if (gathers(meant->type)) {
        add_all(map, *meant, key, node);
      } else {
        add(map, meant, key, value_of(node, *meant));
      }
    }
    return map.node;
  }

 private:
  // A map that is being made, with the values that it has by their keys.
  struct Map {
    Node& node;
    std::unordered_map<std::string_view, Node*> values;
  };
  // What a key is called, and where it stands.
  struct Name {
    std::string_view text;
    std::size_t begin;
    std::size_t bytes;
  };
  template <class T>
  static Name at(const Key* meant, const T& written) {
    return {meant == nullptr ? std::string_view(written.name) : meant->name, written.begin,
            written.bytes};
  }

  void error(std::size_t begin, std::size_t bytes, std::string message, std::string remedy) {
    report_.error(source_.place(begin, bytes), std::move(message), std::move(remedy));
  }

  void put(Map& map, const Name& name, Node& value) {
    const Node& key = writer_.scalar(name.begin, name.bytes, std::string(name.text), true);
    writer_.append(map.node, key);
    writer_.append(map.node, value);
    map.values.emplace(key.text, &value);
  }

  // A further value of a key: an element where the key gathers, a mistake elsewhere.
  void add(Map& map, const Key* meant, const Name& name, Node& value) {
    const auto there = map.values.find(name.text);
    if (meant == nullptr || !gathers(meant->type)) {
      if (there == map.values.end()) return put(map, name, value);
      return error(name.begin, name.bytes, fmt::format("duplicate key {}", torc::quoted(name.text)),
                   "keep one of the two");
    }
    if (there != map.values.end()) {
      writer_.append(*there->second, value);
      map.node.nodes += value.nodes;
      return;
    }
    Node& list = writer_.make(NodeKind::sequence, name.begin, name.bytes);
    writer_.append(list, value);
    put(map, name, list);
  }

  void add_all(Map& map, const Key& meant, const Name& name, const KdlNode& node) {
    if (node.has_block || !node.properties.empty())
      error(node.begin, node.bytes,
            fmt::format("{} takes values, no block", torc::quoted(node.name)),
            fmt::format("write {} \"…\"", node.name));
    else if (node.arguments.empty())
      error(node.begin, node.bytes, fmt::format("{} has no value", torc::quoted(node.name)),
            fmt::format("write {} \"…\", or remove it", node.name));
    for (const KdlValue& v : node.arguments) add(map, &meant, name, scalar(v));
  }

  // One of a list of maps: its name, if such have one, and its keys.
  Node& element(const KdlNode& node, Where where) {
    const bool named = find_key(where, "name") != nullptr;
    const std::size_t most = named ? 1 : 0;
    if (node.arguments.size() > most) {
      const KdlValue& extra = node.arguments[most];
      error(extra.begin, extra.bytes,
            named ? fmt::format("{} has one name", with_article(where))
                  : fmt::format("{} has no name", with_article(where)),
            "its keys stand in a block: { key value }, or as key=value");
    }
    return map(node.children, node.properties, where, node.begin, node.bytes,
               named && !node.arguments.empty() ? node.arguments.data() : nullptr);
  }

  Node& value_of(const KdlNode& node, const Key& key) {
    if (key.type == Type::map) {
      if (!node.arguments.empty()) return value(node);
      return map(node.children, node.properties, key.child, node.begin, node.bytes, nullptr);
    }
    if (key.type == Type::named_maps) return named_maps(node, key.child);
    const bool one_text = node.arguments.size() == 1 && node.arguments[0].kind == Kind::text &&
                          !node.has_block && node.properties.empty();
    if (key.type == Type::value && one_text) return json(node, node.arguments[0]);
    return value(node);
  }

  // Names of one's own, each a map of kind `where`.
  Node& named_maps(const KdlNode& node, Where where) {
    if (!node.arguments.empty() || !node.properties.empty()) return value(node);
    Map all{writer_.make(NodeKind::map, node.begin, node.bytes), {}};
    for (const KdlNode& child : node.children) {
      Node& one = child.arguments.empty() ? map(child.children, child.properties, where,
                                                child.begin, child.bytes, nullptr)
                                          : value(child);
      add(all, nullptr, at(nullptr, child), one);
    }
    return all.node;
  }

  Node& json(const KdlNode& node, const KdlValue& v) {
    std::string why;
    const Node* root = read_json_within(v.text, v.begin, v.bytes, tree_, why);
    if (root != nullptr) return *const_cast<Node*>(root);  // NOLINT: the tree is being made
    error(v.begin, v.bytes, fmt::format("{} is not valid JSON: {}", torc::quoted(node.name), why),
          "write JSON in the quotes, a text as \"\\\"text\\\"\"; or a block of keys and values");
    return writer_.make(NodeKind::null, v.begin, v.bytes);
  }

  // Of a node whose name is not of the language.
  Node& value(const KdlNode& node) {
    const bool block = node.has_block || !node.properties.empty();
    if (block && !node.arguments.empty()) {
      const KdlValue& first = node.arguments[0];
      error(first.begin, first.bytes,
            fmt::format("{} has a value and a block", torc::quoted(node.name)),
            "keep one of the two");
    }
    if (block) return block_of(node);
    if (node.arguments.size() == 1) return scalar(node.arguments[0]);
    const bool none = node.arguments.empty();
    Node& list = writer_.make(none ? NodeKind::null : NodeKind::sequence, node.begin, node.bytes);
    for (const KdlValue& v : node.arguments) writer_.append(list, scalar(v));
    return list;
  }

  Node& block_of(const KdlNode& node) {
    const auto is_element = [](const KdlNode& child) { return child.name == "-"; };
    if (!node.children.empty() && node.properties.empty() &&
        std::ranges::all_of(node.children, is_element)) {
      Node& list = writer_.make(NodeKind::sequence, node.begin, node.bytes);
      for (const KdlNode& child : node.children) writer_.append(list, value(child));
      return list;
    }
    Map map{writer_.make(NodeKind::map, node.begin, node.bytes), {}};
    for (const KdlProperty& p : node.properties) add(map, nullptr, at(nullptr, p), scalar(p.value));
    for (const KdlNode& child : node.children) add(map, nullptr, at(nullptr, child), value(child));
    return map.node;
  }

  Node& scalar(const KdlValue& v) {
    if (v.kind != Kind::null) return writer_.scalar(v.begin, v.bytes, v.text, v.kind != Kind::text);
    Node& null = writer_.make(NodeKind::null, v.begin, v.bytes);
    null.text = "null";
    return null;
  }

  const Source& source_;
  Report& report_;
  Tree& tree_;
  TreeWriter writer_;
};

}  // namespace

const Key* kdl_key(Where where, std::string_view name) {
  if (const Key* key = find_key(where, name)) return key;
  if (where == Where::job && (name == "depends_on_job" || name == "blocked_by_job"))
    return find_key(where, "depends_on");
  for (const std::string_view ending : {"s", "es"}) {
    const Key* key = find_key(where, std::string(name).append(ending));
    if (key != nullptr && gathers(key->type)) return key;
  }
  return nullptr;
}

std::vector<std::string> kdl_names(Where where) {
  std::vector<std::string> names;
  for (const std::string& name : key_names(where)) {
    const bool many = gathers(find_key(where, name)->type) && name.ends_with('s');
    const std::size_t ending = name.ends_with("xes") ? 2 : 1;
    if (many) names.push_back(name.substr(0, name.size() - ending));
    names.push_back(name);
  }
  return names;
}

Tree kdl_tree(const KdlDocument& document, Where where, const Source& source, Report& report) {
  Tree tree;
  if (document.annotation) {
    report.add(Severity::note, source.place(*document.annotation),
               "types in '(' and ')' have no effect here", "remove them");
  }
  if (document.nodes.empty()) return tree;
  try {
    tree.root = &Mapper(source, report, tree)
                     .map(document.nodes, {}, where, document.nodes.front().begin, 1, nullptr);
  } catch (const FormMistake& mistake) {
    report_mistake(source, report, "KDL", mistake);
  }
  return tree;
}

}  // namespace torc::spec
