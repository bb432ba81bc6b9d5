// The tree that a text becomes, whatever its form, and how large a text may be.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "lib/spec/text/source.h"

namespace torc::spec {

// Beyond these there is an error that names the limit.
constexpr std::size_t kMaxSpecBytes = 64U << 20U;
constexpr std::size_t kMaxDepth = 64;  // sequences and maps within each other
// With every alias counted as what it repeats, and a long text as one for each kBytesOfOne.
constexpr std::uint64_t kMaxNodes = 5'000'000;
constexpr std::size_t kBytesOfOne = 64;
constexpr std::size_t kMaxTextBytes = 1U << 20U;  // of one value, variables put in

enum class NodeKind : std::uint8_t { null, scalar, sequence, map };

struct Node {
  NodeKind kind = NodeKind::null;
  bool plain = true;         // a scalar without quotes, which may mean a number or true
  bool closed = false;       // all of it has been read; an alias to an open node would be a circle
  bool alias = false;        // a copy of what an alias names, with the alias' place
  std::uint32_t offset = 0;  // of its first byte in the text
  std::uint32_t length = 0;  // bytes to underline there; 0: to be found by what stands there
  std::uint32_t nodes = 1;   // in its subtree, counted as for kMaxNodes
  std::string text;          // of a scalar; of a null what stands in the file: "", "~", "null"
  std::vector<const Node*>
      items;  // of a sequence; of a map key and value by turns, merges ('<<') done
};

// Owns the nodes. `root` is null when there is no tree; why is in the report then.
struct Tree {
  std::deque<Node> nodes;
  const Node* root = nullptr;
};

// Where a node stands, as long as its first token on that line.
[[nodiscard]] Place place_of(const Source& source, const Node& node);

}  // namespace torc::spec
