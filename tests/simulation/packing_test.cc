// How well jobs of several nodes and of one fill an allocation together, and how long the former
// wait.
#include "tests/simulation/packing.h"

#include <gtest/gtest.h>

#include "lib/base/sanitizer.h"

namespace torc::simulation {
namespace {

TEST(Packing, jobs_of_several_nodes_beside_others_fill_nodes_nearly_as_a_list_scheduler_does) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 1 : 3); ++seed) {
    PackingScenario s;
    s.seed = seed;
    s.nodes = 128;
    s.jobs = 4000;
    s.widest = 32;
    const auto f = pack(s);
    ASSERT_TRUE(f.ok()) << f.error().text();
    EXPECT_GE(f->list_makespan / f->makespan, 0.9) << "seed " << seed;
    EXPECT_GT(f->gangs, 700);
    // By then all that ran when it became the first has ended, and nothing that was let before it
    // ends later.
    EXPECT_LE(f->longest_at_head, static_cast<double>((s.longest + s.poll).count()))
        << "seed " << seed;
  }
}

TEST(Packing, where_runtimes_are_as_declared_the_first_that_waits_starts_all_the_same_in_time) {
  PackingScenario s;
  s.nodes = 32;
  s.jobs = 600;
  s.widest = 32;
  s.gangs = 0.5;
  s.shortest_part = 1;
  const auto f = pack(s);
  ASSERT_TRUE(f.ok()) << f.error().text();
  EXPECT_LE(f->longest_at_head, static_cast<double>((s.longest + s.poll).count()));
}

}  // namespace
}  // namespace torc::simulation
