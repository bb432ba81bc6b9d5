// `${files.input.NAME}` and its kin in a command, and slips of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torc::spec {

enum class FileSide : std::uint8_t { input, output };

struct ReferenceText {
  enum class Section : std::uint8_t { files, user_data, wrong };
  std::size_t begin = 0;  // bytes [begin, end) of the command, "${" and "}" included
  std::size_t end = 0;
  Section section = Section::wrong;
  FileSide side = FileSide::input;
  std::string_view name;  // may hold placeholders
  std::string message;    // of a wrong one: what it is
  std::string remedy;
};

// All of them in order. What no shell would take for its own and reads like one of them is a wrong
// one: `${files.inptu.x}`, `${file.input.x}`, `${files.x}`.
[[nodiscard]] std::vector<ReferenceText> reference_texts(std::string_view command);

}  // namespace torc::spec
