// The store on a simulated network filesystem: see nfs_simulation.h for what happens there and
// nfs_history.h for what must hold whatever happens. TORC_NFS_SEEDS=N tries N histories,
// TORC_NFS_SEED=S one of them again.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "lib/base/sanitizer.h"
#include "tests/property/nfs_simulation.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;

// Histories of one rapidcheck case, of which there are 100.
constexpr int kBatch = kSanitized ? 2 : 20;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string failure_of(std::uint64_t seed, std::uint64_t* commits) {
  Simulation simulation(seed);
  const std::string violation = simulation.run();
  *commits += simulation.commits();
  if (violation.empty()) return {};
  return violation + "\n  with " + simulation.choices().text() +
         "\n  again: TORC_NFS_SEED=" + std::to_string(seed);
}

TEST(NfsStore, keeps_every_promise_on_a_network_filesystem_that_keeps_few) {
  std::uint64_t histories = 0;
  std::uint64_t commits = 0;
  if (const std::uint64_t seed = number_from("TORC_NFS_SEED", 0); seed != 0) {
    EXPECT_EQ(failure_of(seed, &commits), "");
    return;
  }
  const std::uint64_t batch = number_from("TORC_NFS_SEEDS", 100 * kBatch) / 100;
  const bool held = rc::check([&] {
    const auto first = *rc::gen::noShrink(rc::gen::inRange<std::uint64_t>(1, 1ULL << 62U));
    for (std::uint64_t i = 0; i < batch; ++i) {
      const std::string failure = failure_of(first + i, &commits);
      if (!failure.empty()) RC_FAIL(failure);
      ++histories;
    }
  });
  EXPECT_TRUE(held);
  std::printf("%llu histories with %llu commits\n", static_cast<unsigned long long>(histories),
              static_cast<unsigned long long>(commits));
  EXPECT_TRUE(!held || histories >= batch * 90);
}

}  // namespace
}  // namespace torc::store
