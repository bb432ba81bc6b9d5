// META: what a store is, in lines that a person can read. Written by create(); replaced, by rename,
// when a copy of the store gets an instance of its own, and by adopt(). Two who replace it at the
// same time write the same bytes: what hosts may want to change differently is not in it, see
// agreed_retention().
// What depends on the mount of a process (how names are given and made durable, how new commits are
// learnt) is not in it: each process asks its own.
//
//   torc store
//   format: 5
//   id: 0123456789abcdef0123456789abcdef
//   engine: journal
//   names: link            the class of primitives that may be mixed, see publisher.h
//   retention: 10 s        the least; a host that needs more adds a file
//   instance: 0123456789abcdef0123456789abcdef
//   place: 1835021 1700000000123456789    inode and birth of the state directory; 0: not known
//   host: node17           on which it was made or adopted, for people
//   machine: 0123456789abcdef0123456789abcdef    engine lmdb: whose it is, see home.h; or unknown
//   filesystem: ext4
//   check: e3069283        CRC-32C of all lines before
#pragma once

#include <chrono>
#include <string>

#include "lib/base/result.h"
#include "lib/store/disk/publisher.h"
#include "lib/store/engine/place.h"
#include "lib/store/engine/store.h"
#include "lib/store/mount/home.h"

namespace torc::store {

inline constexpr unsigned kFormat = 5;

inline constexpr std::chrono::seconds kRetention{10};  // where nothing needs more
inline constexpr std::chrono::seconds kMostRetention = std::chrono::hours(24 * 365);

struct Meta {
  Identity identity;
  Names names = Names::linked;  // engine journal
  std::chrono::seconds retention = kRetention;
  std::string filesystem;  // on which it was made
  // The state directory when this was written, which a copy does not have; 0: not known.
  std::uint64_t inode = 0;
  std::int64_t born = 0;  // ns since 1970

  // Not of the file: read_meta() fills it in for the mount of this process.
  Place place;
  PublishMethod publish;  // engine journal
  [[nodiscard]] Whereabouts made() const;
  [[nodiscard]] Whereabouts now(const World& world) const;
  // It lies elsewhere than where it was written: a copy that nobody has adopted yet.
  [[nodiscard]] bool is_copy() const;
};

[[nodiscard]] std::string encode_meta(const Meta& meta);
// Errors: not_found (it does not begin like a META), unsupported (format), corrupt.
Result<Meta> decode_meta(std::string_view text, const Path& file);

}  // namespace torc::store
