// What a worker takes of its node, keeps, gives away and waits for, with a ledger made up here.
#include "lib/worker/node_share.h"

#include <gtest/gtest.h>

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

// Another worker holds `taken` CPUs of the four.
struct World {
  std::uint32_t taken = 0;
  std::uint32_t owed = 0;
  bool waits = false;
  exec::NodeHolding holding;
};

class MadeUpLedger final : public exec::NodeLedger {
 public:
  explicit MadeUpLedger(World& world) : world_(world) {
    member_.most_cpus = 4;
    member_.most_memory = {1000};
  }
  [[nodiscard]] const exec::NodeHolding& holding() const override { return world_.holding; }
  [[nodiscard]] const exec::NodeMember& member() const override { return member_; }
  Taken take(const exec::NodeAmount& want) override {
    const std::uint32_t before = world_.holding.cpu_count();
    world_.holding = could_hold();
    world_.holding.memory = {1000};
    return {world_.holding.cpu_count() - before == want.cpus, {}};
  }
  [[nodiscard]] exec::NodeHolding could_hold() const override {
    exec::NodeHolding more = world_.holding;
    for (std::uint32_t cpu = 0; cpu < 4 && more.cpu_count() + world_.taken < 4; ++cpu)
      more.cpus.add(cpu);
    return more;
  }
  void keep(const exec::NodeHolding& rest) override { world_.holding = rest; }
  void wait_for_more(bool waits) override { world_.waits = waits; }
  [[nodiscard]] int bell() override { return -1; }
  void silence_bell() override {}
  [[nodiscard]] std::uint32_t owed_to_others() const override { return world_.owed; }
  [[nodiscard]] bool is_there() const override { return true; }
  void reenter(const exec::NodeHolding& in_use) override { world_.holding = in_use; }

 private:
  World& world_;
  exec::NodeMember member_;
};

class NodeShareTest : public ::testing::Test {
 protected:
  NodeShareTest() {
    machine_.cpus = 4;
    machine_.memory = {1000};
  }
  NodeShare share() { return {machine_, std::make_unique<MadeUpLedger>(world_), clock_}; }
  static claim::Requirement need(std::uint32_t cpus) {
    claim::Requirement n;
    n.cpus = cpus;
    n.memory = {1};
    return n;
  }

  World world_;
  exec::Machine machine_;
  ManualClock clock_;
};

TEST_F(NodeShareTest, what_it_gave_others_and_nobody_took_is_its_own_again_after_their_head_start) {
  NodeShare mine = share();
  mine.grow();
  ASSERT_EQ(mine.cpus(), 4U);
  world_.owed = 2;
  ASSERT_TRUE(mine.let_others());
  EXPECT_EQ(mine.cpus(), 2U);
  EXPECT_FALSE(mine.may_grow()) << "it is their turn";
  ASSERT_TRUE(mine.wake_at());
  EXPECT_EQ(*mine.wake_at(), clock_.boot_now() + exec::NodeLedger::kHeadStart);
  clock_.advance(exec::NodeLedger::kHeadStart);
  EXPECT_TRUE(mine.look());
  mine.grow();
  EXPECT_EQ(mine.cpus(), 4U);
}

TEST_F(NodeShareTest, it_waits_for_cpus_that_others_have) {
  world_.taken = 3;
  NodeShare mine = share();
  mine.grow();
  EXPECT_EQ(mine.cpus(), 1U);
  EXPECT_FALSE(world_.waits) << "nothing says yet that it could use more";
  mine.wait_for_more();
  EXPECT_TRUE(world_.waits);
  world_.taken = 0;
  EXPECT_TRUE(mine.look());
  mine.grow();
  EXPECT_EQ(mine.cpus(), 4U);
  EXPECT_FALSE(world_.waits);
}

TEST_F(NodeShareTest, with_all_the_cpus_that_it_may_have_in_use_it_waits_for_nothing) {
  NodeShare mine = share();
  mine.grow();
  (void)mine.take(need(4));
  world_.taken = 4;  // more than there are: the ledger says that it is limited
  mine.grow();
  mine.wait_for_more();
  EXPECT_FALSE(world_.waits);
}

TEST_F(NodeShareTest, who_starts_nothing_more_waits_for_nothing) {
  world_.taken = 4;
  NodeShare mine = share();
  mine.grow();
  mine.wait_for_more();
  ASSERT_TRUE(world_.waits);
  mine.stop_waiting();
  EXPECT_FALSE(world_.waits);
  EXPECT_FALSE(mine.wake_at());
}

TEST_F(NodeShareTest, what_jobs_leave_over_is_given_back) {
  NodeShare mine = share();
  mine.grow();
  (void)mine.take(need(1));
  mine.give_back_free(NodeShare::Cpus::keep);
  EXPECT_EQ(world_.holding.cpu_count(), 4U);
  EXPECT_EQ(world_.holding.memory.value, 1U);
  mine.give_back_free(NodeShare::Cpus::give);
  EXPECT_EQ(world_.holding.cpu_count(), 1U);
}

}  // namespace
}  // namespace torc::worker
