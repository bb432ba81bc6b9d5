// JSON5 1.0.0 (json5.org) as a tree that knows where everything stands.
#pragma once

#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Reports what makes the text no JSON5, and what a spec does not allow: duplicate keys, control
// characters, more than the limits of a tree. Linear in the length of the text. Never throws.
//
// Names without quotes may have any letter beyond ASCII, also where the standard asks for one of
// Unicode's tables. Numbers become decimal ones in JSON's words (0x1F: 31, .5: 0.5, +1: 1);
// Infinity and NaN stay plain scalars of that text, which no number of a spec may be.
[[nodiscard]] Tree read_json5(const Source& source, Report& report);

// The value of a JSON text that stands within another text, at the byte `offset` of the source and
// `bytes` long there: all of its nodes have that place. Null: it is no JSON5; `why` says what is
// wrong.
[[nodiscard]] const Node* read_json_within(std::string_view json, std::size_t offset,
                                           std::size_t bytes, Tree& tree, std::string& why);

}  // namespace torc::spec
