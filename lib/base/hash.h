// Hashes of what the program only compares with itself. What finds damage, and what names a
// history, is in lib/store/disk/hash.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace torc {

// XXH3 of xxHash: within one process, for tables; never stored, so that it may change.
[[nodiscard]] std::uint64_t hash64(std::string_view bytes);
[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes);

// FNV-1a (Fowler, Noll, Vo), which keys of stores and of the node's ledger are made of: it stays as
// it is.
inline constexpr std::uint64_t kFnvBegin = 0xcbf29ce484222325U;
[[nodiscard]] std::uint64_t fnv1a(std::string_view bytes, std::uint64_t begin = kFnvBegin);

}  // namespace torc
