// A spec in JSON5, from text to jobs; and JSON, in which another reader must find the same.
#include <nlohmann/json.hpp>

#include "lib/spec/forms/json5_tree.h"
#include "tests/fuzz/spec_checks.h"

namespace {

using torc::spec::Node;
using torc::spec::NodeKind;

bool is_same(const Node& node, const nlohmann::json& json) {
  if (node.kind == NodeKind::null) return json.is_null();
  if (node.kind == NodeKind::scalar && !node.plain)
    return json.is_string() && json.get_ref<const std::string&>() == node.text;
  if (node.kind == NodeKind::scalar) {
    const auto value = nlohmann::json::parse(node.text, nullptr, false);
    return !value.is_discarded() && value == json;
  }
  const bool is_map = node.kind == NodeKind::map;
  if (is_map ? !json.is_object() : !json.is_array()) return false;
  const std::size_t step = is_map ? 2 : 1;
  if (json.size() * step != node.items.size()) return false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (is_map && !json.contains(node.items[2 * i]->text)) return false;
    const auto& there = is_map ? json.at(node.items[2 * i]->text) : json.at(i);
    if (!is_same(*node.items[i * step + step - 1], there)) return false;
  }
  return true;
}

}  // namespace

TORC_FUZZ_TARGET(json5) {
  torc::fuzz::check_spec(input, "spec.json5");
  const auto json = nlohmann::json::parse(input, nullptr, false);
  if (json.is_discarded()) return;
  const torc::spec::Source source(torc::without_bom(input), "f");
  torc::spec::Report report(source);
  const torc::spec::Tree tree = torc::spec::read_json5(source, report);
  if (!report.has_error()) {
    TORC_MUST(tree.root != nullptr && is_same(*tree.root, json));
    return;
  }
  // What JSON allows and a spec does not.
  for (const torc::spec::Diagnostic& d : std::move(report).sorted()) {
    const auto says = [&](const char* what) { return d.message.find(what) != std::string::npos; };
    TORC_MUST(says("duplicate key") || says("nested more than") || says("NUL") ||
              says("control character") || says("more than"));
  }
}
