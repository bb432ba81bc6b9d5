// Files of LMDB with the smallest pages that it reads, so that a fuzzer has few bytes to try. LMDB
// itself makes none of these: it takes the page size of the machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torc::fuzz {

class LmdbPages {
 public:
  static constexpr std::size_t kPage = 512;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  enum Kind : std::uint16_t { branch = 1, leaf = 2, overflow = 4, meta = 8 };

  struct Tree {
    std::uint16_t flags = 0;
    std::uint16_t depth = 0;
    std::uint64_t entries = 0;
    std::uint64_t root = kNone;
    std::uint64_t branches = 0, leaves = 0, overflows = 0;
  };
  struct Node {
    std::string key;
    std::string value;             // on a branch: unused
    std::uint64_t page = 0;        // on a branch: the child; on a leaf: where a long value lies
    std::uint32_t long_bytes = 0;  // of that value
  };

  LmdbPages() { bytes_.resize(2 * kPage); }

  std::uint64_t add(Kind kind, const std::vector<Node>& nodes) {
    std::string page = head(kind);
    std::size_t upper = kPage;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string node = node_of(kind, nodes[i]);
      upper -= node.size();
      page.replace(upper, node.size(), node);
      put<std::uint16_t>(page, 16 + 2 * i, static_cast<std::uint16_t>(upper));
    }
    put<std::uint16_t>(page, 12, static_cast<std::uint16_t>(16 + 2 * nodes.size()));
    put<std::uint16_t>(page, 14, static_cast<std::uint16_t>(upper));
    return append(page);
  }
  // A long value on pages of its own.
  std::uint64_t add_long(std::string_view value) {
    const std::size_t pages = (15 + value.size()) / kPage + 1;
    std::string page = head(overflow);
    page.resize(pages * kPage);
    put<std::uint32_t>(page, 12, static_cast<std::uint32_t>(pages));
    page.replace(16, value.size(), value);
    return append(page);
  }
  // Of both heads the second is the newest.
  [[nodiscard]] std::string finish(const Tree& free, const Tree& main) const {
    std::string out = bytes_;
    for (std::uint64_t number = 0; number < 2; ++number) {
      std::string page(kPage, '\0');
      put<std::uint64_t>(page, 0, number);
      put<std::uint16_t>(page, 10, meta);
      put<std::uint32_t>(page, 16, 0xBEEFC0DE);
      put<std::uint32_t>(page, 20, 1);
      put<std::uint64_t>(page, 32, std::uint64_t{1} << 20);
      put_tree(page, 40, free);
      put_tree(page, 88, main);
      put<std::uint32_t>(page, 40, kPage);
      put<std::uint64_t>(page, 136, out.size() / kPage - 1);
      put<std::uint64_t>(page, 144, 2 + number);
      out.replace(number * kPage, kPage, page);
    }
    return out;
  }

  template <class T>
  static void put(std::string& bytes, std::size_t at, T value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      bytes[at + i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  }

 private:
  [[nodiscard]] std::string head(Kind kind) const {
    std::string page(kPage, '\0');
    put<std::uint64_t>(page, 0, bytes_.size() / kPage);
    put<std::uint16_t>(page, 10, kind);
    return page;
  }
  std::uint64_t append(const std::string& page) {
    bytes_ += page;
    return (bytes_.size() - page.size()) / kPage;
  }
  static std::string node_of(Kind kind, const Node& node) {
    std::string out(8, '\0');
    put<std::uint16_t>(out, 6, static_cast<std::uint16_t>(node.key.size()));
    out += node.key;
    if (kind == branch) {
      for (int i = 0; i < 3; ++i)
        put<std::uint16_t>(out, 2 * i, static_cast<std::uint16_t>(node.page >> (16 * i)));
    } else if (node.long_bytes > 0) {
      put<std::uint32_t>(out, 0, node.long_bytes);
      put<std::uint16_t>(out, 4, 1);
      out.resize(out.size() + 8);
      put<std::uint64_t>(out, out.size() - 8, node.page);
    } else {
      put<std::uint32_t>(out, 0, static_cast<std::uint32_t>(node.value.size()));
      out += node.value;
    }
    if (out.size() % 2 != 0) out += '\0';
    return out;
  }
  static void put_tree(std::string& page, std::size_t at, const Tree& tree) {
    put<std::uint16_t>(page, at + 4, tree.flags);
    put<std::uint16_t>(page, at + 6, tree.depth);
    put<std::uint64_t>(page, at + 8, tree.branches);
    put<std::uint64_t>(page, at + 16, tree.leaves);
    put<std::uint64_t>(page, at + 24, tree.overflows);
    put<std::uint64_t>(page, at + 32, tree.entries);
    put<std::uint64_t>(page, at + 40, tree.root);
  }

  std::string bytes_;
};

// Ordered entries on leaves of two, a branch above them where there is more than one leaf, values
// of more than 100 bytes on pages of their own, and the first pages of all free.
inline std::string lmdb_file_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  LmdbPages pages;
  LmdbPages::Tree main;
  LmdbPages::Tree free{8, 1, 1, 0, 0, 1, 0};
  const std::uint64_t unused = pages.add(LmdbPages::leaf, {});
  std::vector<LmdbPages::Node> leaves;
  for (std::size_t i = 0; i < entries.size(); i += 2) {
    std::vector<LmdbPages::Node> nodes;
    for (std::size_t k = i; k < std::min(i + 2, entries.size()); ++k) {
      const auto& [key, value] = entries[k];
      const bool is_long = value.size() > 100;
      if (is_long) {
        nodes.push_back({key, "", pages.add_long(value), static_cast<std::uint32_t>(value.size())});
        main.overflows += (15 + value.size()) / LmdbPages::kPage + 1;
      } else {
        nodes.push_back({key, value});
      }
    }
    leaves.push_back(
        {leaves.empty() ? "" : nodes.front().key, "", pages.add(LmdbPages::leaf, nodes)});
  }
  main.entries = entries.size();
  main.leaves = leaves.size();
  main.depth = leaves.empty() ? 0 : leaves.size() == 1 ? 1 : 2;
  main.branches = leaves.size() > 1 ? 1 : 0;
  if (!leaves.empty())
    main.root = leaves.size() == 1 ? leaves[0].page : pages.add(LmdbPages::branch, leaves);
  std::string key(8, '\0');
  std::string list(16, '\0');
  LmdbPages::put<std::uint64_t>(key, 0, 1);
  LmdbPages::put<std::uint64_t>(list, 0, 1);
  LmdbPages::put<std::uint64_t>(list, 8, unused);
  free.root = pages.add(LmdbPages::leaf, {{key, list}});
  return pages.finish(free, main);
}

}  // namespace torc::fuzz
