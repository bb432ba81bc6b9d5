// What a worker takes of its node, keeps, gives away and waits for, with a ledger made up here.
#include "lib/worker/machine/node_share.h"

#include <gtest/gtest.h>

#include "lib/exec/node/node_ledger.h"

namespace torc::worker {
namespace {

using namespace std::chrono_literals;

// Another worker holds `taken` CPUs of the four.
struct World {
  std::uint32_t taken = 0;
  bool waits = false;
  exec::NodeHolding holding;
};

// The ledger that a share's commands are for.
class MadeUpLedger {
 public:
  explicit MadeUpLedger(World& world) : world_(world) {}
  [[nodiscard]] exec::NodeHolding could_hold() const {
    exec::NodeHolding more = world_.holding;
    for (std::uint32_t cpu = 0; cpu < 4 && more.cpu_count() + world_.taken < 4; ++cpu)
      more.cpus.add(cpu);
    return more;
  }
  void carry_out(Commands& orders, NodeShare& share, BootTime now) {
    for (std::size_t i = 0; i < orders.size(); ++i) {
      if (const auto* take = std::get_if<command::TakeShare>(&orders[i])) {
        const std::uint32_t before = world_.holding.cpu_count();
        world_.holding = could_hold();
        world_.holding.memory = {1000};
        const bool complete = world_.holding.cpu_count() - before == take->want.cpus;
        share.grown({world_.holding, complete, {}}, now, orders);
      } else if (const auto* keep = std::get_if<command::KeepShare>(&orders[i])) {
        world_.holding = keep->rest;
      } else if (const auto* wait = std::get_if<command::WaitForShare>(&orders[i])) {
        world_.waits = wait->waits;
        share.held(world_.holding);
      }
    }
    orders.clear();
  }

 private:
  World& world_;
};

class NodeShareTest : public ::testing::Test {
 protected:
  static claim::Requirement need(std::uint32_t cpus) {
    claim::Requirement n;
    n.cpus = cpus;
    n.memory = {1};
    return n;
  }

  void grow() {
    mine.grow(orders_);
    carry_out();
  }
  void carry_out() { ledger_.carry_out(orders_, mine, now_); }
  bool look() { return mine.look(ledger_.could_hold(), now_); }

  World world_;
  MadeUpLedger ledger_{world_};
  Commands orders_;
  BootTime now_ = 1h;
  NodeShare mine{NodeShare::Most{4, {1000}, {}, 0}};
};

TEST_F(NodeShareTest, what_it_gave_others_and_nobody_took_is_its_own_again_after_their_head_start) {
  grow();
  ASSERT_EQ(mine.use().cpus(), 4U);
  ASSERT_TRUE(mine.let_others(2, now_, orders_));
  carry_out();
  EXPECT_EQ(mine.use().cpus(), 2U);
  EXPECT_FALSE(mine.may_grow()) << "it is their turn";
  ASSERT_TRUE(mine.wake_at());
  EXPECT_EQ(*mine.wake_at(), now_ + exec::NodeLedger::kHeadStart);
  now_ += exec::NodeLedger::kHeadStart;
  EXPECT_TRUE(look());
  grow();
  EXPECT_EQ(mine.use().cpus(), 4U);
}

TEST_F(NodeShareTest, it_waits_for_cpus_that_others_have) {
  world_.taken = 3;
  grow();
  EXPECT_EQ(mine.use().cpus(), 1U);
  EXPECT_FALSE(world_.waits) << "nothing says yet that it could use more";
  mine.wait_for_more(now_, orders_);
  carry_out();
  EXPECT_TRUE(world_.waits);
  world_.taken = 0;
  EXPECT_TRUE(look());
  grow();
  EXPECT_EQ(mine.use().cpus(), 4U);
  EXPECT_FALSE(world_.waits);
}

// Else the worker would go on taking it for an exchange that is not needed any more, and giving it
// back, as long as the job that it is for may not ask.
TEST_F(NodeShareTest, more_that_was_taken_for_an_exchange_ends_the_wait_of_a_job) {
  world_.taken = 3;
  grow();
  ASSERT_TRUE(mine.grow_for(need(3), orders_));
  carry_out();
  ASSERT_FALSE(mine.grow_for(need(3), orders_)) << "that was in vain";
  grow();
  ASSERT_FALSE(mine.grow_for(need(3), orders_)) << "there was no more";
  world_.taken = 1;
  grow();
  mine.give_back_free(NodeShare::Cpus::give, orders_);
  carry_out();
  EXPECT_TRUE(mine.grow_for(need(3), orders_));
  carry_out();
  EXPECT_TRUE(mine.use().fits(need(3)));
}

// A queued job waits for it: its worker would take it for each exchange, see that a job fits and
// that no exchange is needed, and give it back, without end (simulation, seed 40022031).
TEST_F(NodeShareTest, what_was_tried_in_vain_for_the_store_is_there_for_a_job_that_needs_no_more) {
  world_.taken = 3;
  grow();
  mine.wait_for_more(now_, orders_);  // no job of the store's was for one CPU and all the memory
  carry_out();
  mine.give_back_free(NodeShare::Cpus::keep, orders_);
  carry_out();
  ASSERT_FALSE(mine.use().fits(need(1))) << "without memory";
  EXPECT_FALSE(mine.grow_for(need(2), orders_)) << "so many CPUs there were not";
  ASSERT_TRUE(mine.grow_for(need(1), orders_));
  carry_out();
  EXPECT_TRUE(mine.use().fits(need(1)));
}

// A time in the past at which it is to look, and never does, would wake its worker without end.
TEST_F(NodeShareTest, who_has_found_more_or_lost_the_ledger_looks_no_more_until_it_waits_again) {
  for (const bool finds_more : {true, false}) {
    world_ = {};
    world_.taken = 3;
    mine = NodeShare(NodeShare::Most{4, {1000}, {}, 0});
    grow();
    mine.wait_for_more(now_, orders_);
    carry_out();
    ASSERT_TRUE(mine.wake_at());
    now_ = *mine.wake_at();
    if (finds_more) {
      world_.taken = 2;
      ASSERT_TRUE(look());
      grow();  // limited still, and nothing says yet that it could use more than that
    } else {
      EXPECT_FALSE(look());
      EXPECT_GT(*mine.wake_at(), now_);
      mine.lost({});
    }
    EXPECT_FALSE(mine.wake_at());
    mine.wait_for_more(now_, orders_);
    carry_out();
    EXPECT_TRUE(mine.wake_at());
  }
}

TEST_F(NodeShareTest, what_jobs_leave_that_ran_when_the_ledger_was_lost_is_not_kept_for_others) {
  grow();
  (void)mine.use().take(need(2));
  world_.holding = mine.use().in_use();
  mine.lost(world_.holding);
  EXPECT_TRUE(mine.is_doubtful());
  EXPECT_EQ(mine.use().cpus(), 2U);
  mine.use().put_back(need(1), {});
  mine.give_back_free(NodeShare::Cpus::keep, orders_);
  carry_out();
  EXPECT_EQ(world_.holding.cpu_count(), 1U);
  mine.use().put_back(need(1), {});
  mine.give_back_free(NodeShare::Cpus::keep, orders_);
  carry_out();
  EXPECT_EQ(world_.holding.cpu_count(), 0U);
  EXPECT_FALSE(mine.is_doubtful());
}

TEST_F(NodeShareTest, with_all_the_cpus_that_it_may_have_in_use_it_waits_for_nothing) {
  grow();
  (void)mine.use().take(need(4));
  world_.taken = 4;  // more than there are: the ledger says that it is limited
  grow();
  mine.wait_for_more(now_, orders_);
  carry_out();
  EXPECT_FALSE(world_.waits);
}

TEST_F(NodeShareTest, who_starts_nothing_more_waits_for_nothing) {
  world_.taken = 4;
  grow();
  mine.wait_for_more(now_, orders_);
  carry_out();
  ASSERT_TRUE(world_.waits);
  mine.stop_waiting(orders_);
  carry_out();
  EXPECT_FALSE(world_.waits);
  EXPECT_FALSE(mine.wake_at());
}

// Its worker would be woken for nothing, again and again, if it did not ask for more then.
TEST_F(NodeShareTest, who_has_seen_that_there_is_more_waits_for_nothing) {
  world_.taken = 3;
  grow();
  mine.wait_for_more(now_, orders_);
  carry_out();
  world_.taken = 2;
  ASSERT_TRUE(look());
  EXPECT_FALSE(mine.wake_at());
}

TEST_F(NodeShareTest, who_has_lost_the_ledger_waits_for_nothing_there) {
  world_.taken = 3;
  grow();
  mine.wait_for_more(now_, orders_);
  carry_out();
  mine.lost(mine.use().in_use());
  EXPECT_FALSE(mine.wake_at());
}

TEST_F(NodeShareTest, what_jobs_leave_over_is_given_back) {
  grow();
  (void)mine.use().take(need(1));
  mine.give_back_free(NodeShare::Cpus::keep, orders_);
  carry_out();
  EXPECT_EQ(world_.holding.cpu_count(), 4U);
  EXPECT_EQ(world_.holding.memory.value, 1U);
  mine.give_back_free(NodeShare::Cpus::give, orders_);
  carry_out();
  EXPECT_EQ(world_.holding.cpu_count(), 1U);
}

}  // namespace
}  // namespace torc::worker
