#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/base/quantities.h"
#include "lib/base/text/quote.h"
#include "lib/spec/read/readers.h"
#include "lib/spec/read/value_check.h"

namespace torc::spec {
namespace {

constexpr std::size_t kMaxJson = 1U << 20U;  // aliases can make a small file large

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

// A plain scalar is what JSON would take it for, in the words of the file.
void append_scalar(std::string& out, const Node& node, const std::string& text) {
  if (const auto boolean = as_boolean(node)) {
    out += *boolean ? "true" : "false";
  } else if (node.plain && nlohmann::json::accept(text) && parse_decimal(text)) {
    out += text;
  } else {
    append_string(out, text);
  }
}

void append_json(std::string& out, const Session& session, const Node& node) {
  if (out.size() > kMaxJson) return;
  switch (node.kind) {
    case NodeKind::null:
      out += "null";
      return;
    case NodeKind::scalar:
      if (session.is_not_finite(node))
        session.error(node, fmt::format("{} is not a number of JSON", node.text),
                      "put quotes around it to keep it as a text");
      append_scalar(out, node, session.text(node));
      return;
    case NodeKind::sequence:
      out += '[';
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (i > 0) out += ',';
        append_json(out, session, *node.items[i]);
      }
      out += ']';
      return;
    case NodeKind::map:
      out += '{';
      for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
        if (i > 0) out += ',';
        append_string(out, node.items[i]->text);
        out += ':';
        append_json(out, session, *node.items[i + 1]);
      }
      out += '}';
      return;
  }
}

}  // namespace

void check_metadata(const Session& session, const Node& node) {
  if (node.kind != NodeKind::scalar) {
    (void)read_json_value(session, "metadata", node, kMaxJson);
  } else if (!nlohmann::json::accept(session.text(node))) {
    session.error(node, "'metadata' is a text that is not valid JSON",
                  "write a map, or JSON in single quotes: '{\"key\": 1}'");
  }
}

std::string read_json_value(const Session& session, std::string_view key, const Node& node,
                            std::size_t most) {
  std::string json;
  append_json(json, session, node);
  if (json.size() <= most) return json;
  session.error(node, fmt::format("{} is more than {} KiB as JSON", torc::quoted(key), most >> 10U),
                "keep it in a file");
  return {};
}

}  // namespace torc::spec
