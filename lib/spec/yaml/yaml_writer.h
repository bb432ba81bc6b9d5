// A tree as YAML, for people to read and for read_yaml() to read back.
#pragma once

#include <string>

#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Maps and lists of maps as blocks, lists of texts in brackets. Texts are in quotes unless they are
// surely taken for the same without.
[[nodiscard]] std::string to_yaml(const Node& root);

}  // namespace torc::spec
