// What `torc why` says of jobs whose workers are not at work.
#include "lib/report/why.h"

#include "lib/claim/transactions/live.h"
#include "lib/report/workers_now.h"
#include "lib/worker/lease/lease_keeper_fixture.h"

namespace torc::report {
namespace {

using namespace std::chrono_literals;

class Why : public worker::LeaseKeeperTest {
 protected:
  Explanation why_now() {
    Explanation found;
    const auto seen = store_here_->view(
        store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          Situation situation;
          TORC_ASSIGN(situation.workers,
                      look_at_workers(context_, store_here_->state_directory(), reader));
          workflow::RecipeBook book;
          found = *explain(context_, reader, book, "wf.torc", situation, JobId{1});
          return {};
        });
    EXPECT_TRUE(seen.ok()) << seen.error().text();
    return found;
  }
};

TEST_F(Why, a_canceled_job_is_being_ended_only_where_its_worker_is_at_work) {
  const auto worker = join(on("n2", 1, 1));
  start_job(worker);
  const auto canceled = store_here_->commit(0, [&](claim::Transaction& tx) -> Result<void> {
    const std::vector<claim::JobRange> jobs{{JobId{1}, 1}};
    claim::Exchange renewal;
    renewal.worker = worker;
    renewal.now = clock_.wall_now();
    TORC_TRY(claim::exchange(tx, renewal));
    TORC_TRY(claim::cancel_jobs(tx, jobs, clock_.wall_now()));
    return {};
  });
  ASSERT_TRUE(canceled.ok()) << canceled.error().text();
  EXPECT_EQ(why_now().reasons.at(0).text, "It was canceled; its worker is ending it.");
  clock_.jump_to(clock_.boot_now() + 1h);
  const std::string text = why_now().reasons.at(0).text;
  EXPECT_TRUE(
      text.starts_with("It was canceled while it ran, and is not known to have ended: "
                       "worker "))
      << text;
  EXPECT_NE(text.find("its canceled jobs count as ended"), std::string::npos) << text;
}

}  // namespace
}  // namespace torc::report
