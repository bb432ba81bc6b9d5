// The forms in which a workflow can be written.
#pragma once

#include <cstdint>
#include <string_view>

namespace torc::spec {

enum class Form : std::uint8_t { yaml, json5, kdl };  // JSON is YAML here

// By the ending of the file's name: .json5, .kdl; anything else is YAML.
[[nodiscard]] constexpr Form form_of(std::string_view file) {
  if (file.ends_with(".json5")) return Form::json5;
  return file.ends_with(".kdl") ? Form::kdl : Form::yaml;
}
// Such an ending: ".yaml", ".json5", ".kdl".
[[nodiscard]] constexpr std::string_view ending_of(Form form) {
  constexpr std::string_view kEndings[] = {".yaml", ".json5", ".kdl"};
  return kEndings[static_cast<std::uint8_t>(form)];
}

}  // namespace torc::spec
