#include "lib/claim/rules/plan.h"

#include "lib/base/hash.h"

namespace torc::claim {

std::uint64_t name_hash(std::string_view name) {
  std::uint64_t h = fnv1a(name);
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
  h ^= h >> 33;
  return h == 0 ? 1 : h;
}

}  // namespace torc::claim
