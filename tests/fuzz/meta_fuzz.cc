// META: as it is, and with the check line that fits.
#include <cstdio>
#include <string>

#include "lib/store/disk/hash.h"
#include "lib/store/engine/meta.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace torc::store;

void check(std::string_view text) {
  const auto meta = decode_meta(text, "META");
  if (!meta.ok()) {
    TORC_MUST(!meta.error().what.empty() && !meta.error().remedy.empty());
    return;
  }
  const std::string canonical = encode_meta(*meta);
  const auto again = decode_meta(canonical, "META");
  TORC_MUST(again.ok());
  TORC_MUST(again->identity.id == meta->identity.id &&
            again->identity.engine == meta->identity.engine);
  TORC_MUST(again->identity.host == meta->identity.host && again->filesystem == meta->filesystem);
  TORC_MUST(encode_meta(*again) == canonical);
}

}  // namespace

TORC_FUZZ_TARGET(meta) {
  check(input);
  std::string sealed(input.substr(0, input.rfind("check: ")));
  char line[24];
  std::snprintf(line, sizeof line, "check: %08x\n", crc32c(sealed));
  check(sealed + line);
}
