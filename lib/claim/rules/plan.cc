#include "lib/claim/rules/plan.h"

namespace torc::claim {

std::string_view to_string(Condition condition) {
  switch (condition) {
    case Condition::afterok:
      return "afterok";
    case Condition::afternotok:
      return "afternotok";
    case Condition::afterany:
      return "afterany";
    case Condition::after:
      return "after";
  }
  return "?";
}

std::uint64_t name_hash(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (char c : name) h = (h ^ static_cast<std::uint8_t>(c)) * 0x100000001b3U;
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdU;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53U;
  h ^= h >> 33;
  return h == 0 ? 1 : h;
}

}  // namespace torc::claim
