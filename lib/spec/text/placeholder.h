// `{name}` and `{name:format}` in the texts of a spec: the one rule of what is a placeholder and
// what belongs to the shell, shared by all who check or fill them in.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace torc::spec {

struct Placeholder {
  std::size_t begin = 0;  // bytes [begin, end) of the text, the braces included
  std::size_t end = 0;
  std::string_view name;    // an identifier: a letter or '_', then letters, digits, '_'
  std::string_view format;  // what stands after ':', as in 03d or .4f; empty: none
};

// Everything in `text` that has the shape of a placeholder, in order; the views are into `text`.
// Who fills them in leaves those alone whose name is no parameter. Never of that shape: `${x}` and
// `{{x}}` (a brace right after '$' or another '{' belongs to the shell or to a template language),
// `{print $1}`, `{}`, `{a,b}`, `{1..9}`.
[[nodiscard]] std::vector<Placeholder> placeholders(std::string_view text);

// What only a wrong format keeps from being a placeholder, `{i:zz}`: never `{i: 1}` or `{i:"a"}`,
// which are values of other languages.
[[nodiscard]] std::vector<Placeholder> misformatted(std::string_view text);

[[nodiscard]] bool is_identifier(std::string_view text);

}  // namespace torc::spec
