#include "lib/spec/yaml/yaml_node.h"

#include <algorithm>
#include <string_view>

#include "lib/spec/yaml/yaml_text.h"

namespace torc::spec {

Place place_of(const Source& source, const Node& node) {
  if (node.length > 0) return source.place(node.offset, node.length);
  const std::string_view text = source.text();
  if (node.kind == NodeKind::null && node.text.empty() && node.offset > 0) {
    // The parser says where the next thing stands: show the '-' or ':' that nothing follows.
    const std::size_t before = text.find_last_not_of(" \t\r\n", node.offset - 1);
    if (before != std::string_view::npos && (text[before] == '-' || text[before] == ':'))
      return source.place(before);
  }
  if (node.alias) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n,]}", node.offset), text.size());
    return source.place(node.offset, end - node.offset);
  }
  const std::size_t at = skip_properties(text, node.offset);
  if (at >= text.size() || node.kind == NodeKind::sequence || node.kind == NodeKind::map) {
    return source.place(at);
  }
  if (node.kind == NodeKind::null)
    return source.place(at, std::max<std::size_t>(node.text.size(), 1));
  if (text[at] == '"' || text[at] == '\'') {
    return source.place(at, quoted_length(text, at).value_or(1));
  }
  if (text[at] == '|' || text[at] == '>') return source.place(at);
  if (text.substr(at).starts_with(node.text)) return source.place(at, node.text.size());
  const std::size_t end =
      std::min(text.find_first_of("\r\n", at), text.size());  // goes on in the next line
  return source.place(at, end - at);
}

}  // namespace torc::spec
