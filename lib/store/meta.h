// META: what a store is, in lines that a person can read. Written once by create(), never changed.
//
//   torc store
//   format: 3
//   id: 0123456789abcdef0123456789abcdef
//   engine: journal
//   publish: tmpfile-link
//   durable-name: file
//   host: node17
//   filesystem: ext4
//   check: e3069283        CRC-32C of all lines before
#pragma once

#include <string>

#include "lib/base/result.h"
#include "lib/store/publisher.h"
#include "lib/store/store.h"

namespace torc::store {

inline constexpr unsigned kFormat = 3;

struct Meta {
  Identity identity;
  PublishMethod publish;  // engine journal
  std::string filesystem;
};

[[nodiscard]] std::string encode_meta(const Meta& meta);
// Errors: not_found (it does not begin like a META), unsupported (format), corrupt.
Result<Meta> decode_meta(std::string_view text, const Path& file);

}  // namespace torc::store
