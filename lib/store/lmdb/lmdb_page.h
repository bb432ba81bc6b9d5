// One page of LMDB's data file, from bytes that nobody believes. See lmdb_file.h for the format's
// origin; the file around the page is not looked at here.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace torc::store {

enum class LmdbPageKind : std::uint16_t {
  branch = 0x01,
  leaf = 0x02,
  overflow = 0x04,
  head = 0x08
};

inline constexpr std::size_t kLmdbPageHeader = 16;  // bytes
inline constexpr std::size_t kLmdbLongestKey = 511;

// Precondition: the bytes are there.
template <class T>
[[nodiscard]] T lmdb_word(std::string_view bytes, std::size_t at) {
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}
[[nodiscard]] inline std::uint64_t lmdb_page_number(std::string_view bytes) {
  return lmdb_word<std::uint64_t>(bytes, 0);
}
[[nodiscard]] inline bool is_lmdb_page(std::string_view bytes, LmdbPageKind kind) {
  return lmdb_word<std::uint16_t>(bytes, 10) == static_cast<std::uint16_t>(kind);
}

// An entry of a leaf, or of a branch. The views are into the page.
struct LmdbNode {
  std::string_view key;
  std::uint64_t child = 0;     // of a branch: a page
  std::string_view value;      // of a leaf, when it is short
  std::uint64_t size = 0;      // of the value, bytes
  std::uint64_t overflow = 0;  // the page at which a long value begins; 0: it is short
};

// The entries of a branch or a leaf, all of them within its bytes. What is wrong with it, and then
// nothing can be said of `out`; nullptr: nothing.
[[nodiscard]] const char* read_lmdb_page(std::string_view bytes, std::uint64_t page,
                                         LmdbPageKind kind, std::vector<LmdbNode>& out);

// Whether the entries lie side by side from the beginning that the page tells to its end, as LMDB
// keeps them: if not, some bytes of its header are not those that LMDB wrote, or what is between
// them is what an older page had there. `nodes`: all of the page.
[[nodiscard]] bool is_packed_lmdb_page(std::string_view bytes, LmdbPageKind kind,
                                       const std::vector<LmdbNode>& nodes);

// How many pages an overflow run has that begins with these bytes and holds a value of `size`; 0:
// it is none.
[[nodiscard]] std::uint64_t lmdb_overflow_pages(std::string_view header, std::uint64_t page,
                                                std::uint64_t size, std::uint32_t page_size);

}  // namespace torc::store
