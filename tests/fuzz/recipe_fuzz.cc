// What the store keeps of an entry of the spec (names, commands, files of its jobs), and of the
// workflow's settings.
#include "lib/spec/expand/expand.h"
#include "lib/spec/sweep/recipe.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace torc::spec;

constexpr std::uint64_t kFew = 500;

// Numbers of three bytes and more: a job may well name a million files, but finding out takes a
// second each time.
bool has_large_numbers(std::string_view bytes) {
  int high = 0;
  for (const char c : bytes) {
    high = (static_cast<unsigned char>(c) & 0x80U) != 0 ? high + 1 : 0;
    if (high == 2) return true;
  }
  return false;
}

void check_recipe(std::string_view bytes) {
  const auto recipe = Recipe::decode(bytes);
  if (!recipe.ok()) {
    TORC_MUST(recipe.error().kind == torc::ErrorKind::corrupt);
    return;
  }
  const std::uint64_t count = recipe->count();
  TORC_MUST(count > 0 && count <= kMaxJobs);
  const bool renders = !has_large_numbers(bytes);
  for (const std::uint64_t k : {std::uint64_t{0}, count / 2, count - 1}) {
    const std::string name = recipe->name(k);
    if (renders) TORC_MUST(recipe->render(k).name == name);
    if (count > kFew) continue;
    // What no spec was written to may not find its own names (spec_fuzz.cc asks more of the
    // others).
    const auto found = recipe->find(name);
    TORC_MUST(!found || (*found < count && recipe->name(*found) == name));
  }
}

void check_settings(std::string_view bytes) {
  const auto settings = decode_settings(bytes);
  if (!settings.ok()) return;
  const std::string canonical = encode(*settings);
  const auto again = decode_settings(canonical);
  TORC_MUST(again.ok() && encode(*again) == canonical);
}

}  // namespace

TORC_FUZZ_TARGET(recipe) {
  check_recipe(input);
  check_settings(input);
}
