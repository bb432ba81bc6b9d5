#include "lib/worker/lease/store_side.h"

#include "lib/claim/transactions/live.h"
#include "lib/worker/lease/lease_keeper_fixture.h"

namespace torc::worker {
namespace {

class StoreSideTest : public LeaseKeeperTest {
 protected:
  StoreSideTest() {
    store_here_.reset();
    std::filesystem::remove_all(store_);
    make(
        "resource_requirements: [{name: two, num_nodes: 2}]\n"
        "jobs: [{name: wide, command: x, resource_requirements: two}]\n");
    store_here_ = open();
  }
  claim::WorkerEpoch join_group(const std::string& host) {
    claim::WorkerInfo info = on(host, 1, 1);
    info.group = "g";
    info.cpus = 1;
    info.memory = mebibytes(1024);
    return join(info);
  }
  claim::Answer offer(claim::WorkerEpoch worker) {
    claim::Exchange exchange;
    exchange.worker = worker;
    claim::Offer& offer = exchange.offer.emplace();
    offer.cpus = offer.total_cpus = 1;
    offer.memory = offer.total_memory = mebibytes(1024);
    offer.max_jobs = 1;
    offer.busy_for = 0s;
    claim::Answer answer;
    const auto done = store_here_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
      TORC_ASSIGN(answer, claim::exchange(tx, exchange));
      return {};
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
    return answer;
  }
};

// The job was canceled, so that the gang is over.
TEST_F(StoreSideTest, a_member_whose_jobs_recipe_cannot_be_read_hears_of_its_gang) {
  const auto member = join_group("n1");
  const auto head = join_group("n2");
  (void)offer(member);
  ASSERT_EQ(offer(head).grants.size(), 1U);
  const auto canceled = store_here_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    const std::vector<claim::JobRange> all{{JobId{1}, 1}};
    TORC_TRY(claim::cancel_jobs(tx, all, clock_.wall_now()));
    return {};
  });
  ASSERT_TRUE(canceled.ok()) << canceled.error().text();
  exec::WatchedLease lease;
  StoreSide side(
      context_.world, std::move(store_here_), member, on("n1", 1, 1), clock_.boot_now(),
      [](const auto&, const auto&) { return std::nullopt; }, std::make_unique<SystemProcesses>(),
      nullptr, facts_, lease);
  const StoreSide::Orders orders = side.look_for_orders();
  ASSERT_TRUE(orders.gang.has_value());
  ASSERT_TRUE(orders.gang->part.has_value());
  EXPECT_EQ(orders.gang->part->gang.stage, claim::GangStage::over);
  EXPECT_FALSE(orders.gang->job.has_value());
  EXPECT_FALSE(side.look_for_orders().gang.has_value()) << "it was told";
  claim::Exchange look;
  look.worker = member;
  lease.hold(clock_.boot_now(), 10s);
  const CommitReply reply = side.exchange(look);
  ASSERT_TRUE(reply.error.has_value()) << "what cannot be read is not taken for nothing";
  EXPECT_EQ(reply.error->kind, ErrorKind::corrupt);
  store_here_ = side.give_back();
}

}  // namespace
}  // namespace torc::worker
