#include "lib/store/lmdb/lmdb_page.h"

#include <algorithm>
#include <utility>

namespace torc::store {
namespace {

constexpr std::size_t kNode = 8;  // of an entry, before its key
constexpr std::uint16_t kBigData = 0x01;

const char* read_node(std::string_view bytes, std::size_t at, LmdbPageKind kind, LmdbNode& out) {
  const std::size_t key_size = lmdb_word<std::uint16_t>(bytes, at + 6);
  if (key_size > kLmdbLongestKey || at + kNode + key_size > bytes.size())
    return "has a key out of bounds";
  out.key = bytes.substr(at + kNode, key_size);
  const auto low = lmdb_word<std::uint16_t>(bytes, at);
  const auto high = lmdb_word<std::uint16_t>(bytes, at + 2);
  const auto flags = lmdb_word<std::uint16_t>(bytes, at + 4);
  out.size = low | std::uint64_t{high} << 16U;
  if (kind == LmdbPageKind::branch) {
    out.child = out.size | std::uint64_t{flags} << 32U;
    return nullptr;
  }
  const std::size_t data = at + kNode + key_size;
  if (flags == 0) {
    if (data + out.size > bytes.size()) return "has a value out of bounds";
    out.value = bytes.substr(data, out.size);
    return nullptr;
  }
  if (flags != kBigData || data + sizeof(std::uint64_t) > bytes.size())
    return "has an entry of another kind";
  out.overflow = lmdb_word<std::uint64_t>(bytes, data);
  // The heads are pages 0 and 1.
  return out.overflow < 2 ? "names an impossible page" : nullptr;
}

}  // namespace

const char* read_lmdb_page(std::string_view bytes, std::uint64_t page, LmdbPageKind kind,
                           std::vector<LmdbNode>& out) {
  out.clear();
  if (lmdb_page_number(bytes) != page) return "has the number of another";
  if (!is_lmdb_page(bytes, kind)) return "is of another kind";
  const std::size_t lower = lmdb_word<std::uint16_t>(bytes, 12);
  const std::size_t upper = lmdb_word<std::uint16_t>(bytes, 14);
  if (lower < kLmdbPageHeader || lower % 2 != 0 || upper < lower || upper > bytes.size())
    return "has impossible bounds";
  const std::size_t count = (lower - kLmdbPageHeader) / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = lmdb_word<std::uint16_t>(bytes, kLmdbPageHeader + (2 * i));
    if (at < upper || at % 2 != 0 || at + kNode > bytes.size()) return "has an entry out of bounds";
    LmdbNode node;
    if (const char* wrong = read_node(bytes, at, kind, node); wrong != nullptr) return wrong;
    out.push_back(node);
  }
  return nullptr;
}

bool is_packed_lmdb_page(std::string_view bytes, LmdbPageKind kind,
                         const std::vector<LmdbNode>& nodes) {
  std::vector<std::pair<std::size_t, std::size_t>> places;  // where one begins, and the next one
  for (const LmdbNode& node : nodes) {
    const std::size_t at = static_cast<std::size_t>(node.key.data() - bytes.data()) - kNode;
    const std::size_t data = kind == LmdbPageKind::branch ? 0
                             : node.overflow != 0         ? sizeof node.overflow
                                                          : node.value.size();
    const std::size_t size = kNode + node.key.size() + data;
    places.emplace_back(at, at + size + (size % 2));
  }
  std::sort(places.begin(), places.end());
  std::size_t next = lmdb_word<std::uint16_t>(bytes, 14);
  for (const auto& [begin, end] : places) {
    if (begin != next) return false;
    next = end;
  }
  return next == bytes.size();
}

std::uint64_t lmdb_overflow_pages(std::string_view header, std::uint64_t page, std::uint64_t size,
                                  std::uint32_t page_size) {
  if (lmdb_page_number(header) != page || !is_lmdb_page(header, LmdbPageKind::overflow)) return 0;
  // A shorter value may have been written over a longer one, which keeps its pages.
  const std::uint64_t pages = lmdb_word<std::uint32_t>(header, 12);
  const std::uint64_t needed = ((kLmdbPageHeader - 1 + size) / page_size) + 1;
  return pages < needed ? 0 : pages;
}

}  // namespace torc::store
