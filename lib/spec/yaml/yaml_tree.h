// YAML text as a tree that knows where everything stands. Built from the parser's events rather
// than from its nodes: those lose quoting and duplicate keys, and cost more.
#pragma once

#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_limits.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Reports whatever makes the text no YAML, or YAML that a spec does not allow: duplicate keys, keys
// that are no plain names, unknown tags, NUL, other encodings, a second document. Never throws.
[[nodiscard]] Tree read_yaml(const Source& source, Report& report);
// The same by the general parser alone; read_yaml() tries a faster one before (quick_yaml.h).
[[nodiscard]] Tree read_yaml_generally(const Source& source, Report& report);

}  // namespace torc::spec
