// A reader of the YAML that most specs are written in: block maps and lists with short plain or
// quoted texts, and lists and maps of such texts in brackets, each on one line. Many times faster
// than the general parser, and of the same result; whatever else a file holds, and every mistake,
// is left to that one.
#pragma once

#include <string_view>

#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// The tree that the general parser would make of `text`; an empty one (no root) when the text is
// anything but what this reader surely understands.
[[nodiscard]] Tree read_quickly(std::string_view text);

}  // namespace torc::spec
