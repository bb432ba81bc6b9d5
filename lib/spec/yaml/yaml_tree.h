// YAML text as a tree that knows where everything stands. Built from the parser's events rather
// than from its nodes: those lose quoting and duplicate keys, and cost more.
#pragma once

#include <string_view>

#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Reports whatever makes the text no YAML, or YAML that a spec does not allow: duplicate keys, keys
// that are no plain names, unknown tags, NUL, other encodings, a second document. Never throws.
[[nodiscard]] Tree read_yaml(const Source& source, Report& report);
// The same by the general parser alone; read_yaml() tries a faster one before.
[[nodiscard]] Tree read_yaml_generally(const Source& source, Report& report);

// The same of block maps and lists with short plain or quoted texts, and lists and maps of such
// texts in brackets, each on one line, as most specs have it: many times faster. A tree without a
// root: `text` is anything but what this reader surely understands, or has a mistake.
[[nodiscard]] Tree read_quickly(std::string_view text);

}  // namespace torc::spec
