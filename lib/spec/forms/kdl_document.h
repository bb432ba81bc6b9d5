// KDL (kdl.dev) as nodes with their places. What they mean in a workflow is for others.
//
// Read is version 2, and of version 1 what means something else nowhere: true, false and null
// without '#', r"raw" and r#"raw"# texts, texts that go on in the next line, the escape \/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/spec/text/source.h"

namespace torc::spec {

struct KdlValue {
  enum class Kind : std::uint8_t { text, number, boolean, null };
  Kind kind = Kind::null;
  // Of a number in decimal, without '_' and leading zeros, or Infinity, -Infinity, NaN.
  std::string text;
  std::size_t begin = 0;  // bytes of the source
  std::size_t bytes = 0;
};

struct KdlProperty {
  std::string name;
  std::size_t begin = 0;  // of the name
  std::size_t bytes = 0;
  KdlValue value;
};

struct KdlNode {
  std::string name;
  std::size_t begin = 0;  // of the name
  std::size_t bytes = 0;
  std::vector<KdlValue> arguments;
  std::vector<KdlProperty> properties;  // in the order of the file, equal names, too
  bool has_block = false;
  std::vector<KdlNode> children;
};

struct KdlDocument {
  std::vector<KdlNode> nodes;
  std::optional<std::size_t> annotation;  // where the first (type) stands: no spec needs one
};

// None: reported. Linear in the length of the text. Never throws.
[[nodiscard]] std::optional<KdlDocument> read_kdl(const Source& source, Report& report);

}  // namespace torc::spec
