// Whether a value is of the type that the table asks for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/spec/language/language.h"
#include "lib/spec/read/session.h"
#include "lib/spec/yaml/yaml_node.h"

namespace torc::spec {

// Reports what is wrong. `name` is the key as the user wrote it. Maps and lists of maps are checked
// to be that; what they hold is for others.
[[nodiscard]] bool check_value(const Session& session, const Key& key, std::string_view name,
                               const Node& value);

// The scalar as its type has it; reports when it is none. For maps whose keys are the user's.
[[nodiscard]] bool check_line(const Session& session, const Node& node, std::string_view what);

[[nodiscard]] std::optional<bool> as_boolean(const Node& node);
// The control character that a text has besides blanks and line ends, or a sign that turns the
// direction of writing: "control character U+001B"; empty: none. Neither can be seen when it is
// printed, and both can make a terminal show something else.
[[nodiscard]] std::string invisible_in(std::string_view text);
// SIGTERM, TERM, term, 15; none: not a signal that ends a process.
[[nodiscard]] std::optional<int> as_signal(std::string_view text);

}  // namespace torc::spec
