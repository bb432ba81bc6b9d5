// A KDL document as the tree of a workflow: which nodes make a list together and which are one map
// is said by the table of keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/spec/forms/kdl_document.h"
#include "lib/spec/language/language.h"
#include "lib/spec/text/source.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// `where`: what the document is, the workflow or an addition to one.
//
//   name "w"                     a key and its value; several values are a list
//   job "a" { command "b" }      an element of `jobs`: its name, then its keys in a block
//   file "f" path="x"            or as properties
//   input_file "f"               an element of `input_files`, one node for each, or all in one
//   parameters { i "1:3" }       a map
//   user_data "d" { data "[1]" } JSON in a text; or a block
//   - 1                          within a block of one's own: an element of a list
//
// Reports what fits none of these. What is no key keeps its name, for the checks that follow.
[[nodiscard]] Tree kdl_tree(const KdlDocument& document, Where where, const Source& source,
                            Report& report);

// The key that a node of KDL is for: that of its name, or of the plural of it where that is a list
// (job, input_file, depends_on_regex); null: none. depends_on_job and blocked_by_job are
// depends_on.
[[nodiscard]] const Key* kdl_key(Where where, std::string_view name);
// The names that nodes may have.
[[nodiscard]] std::vector<std::string> kdl_names(Where where);

}  // namespace torc::spec
