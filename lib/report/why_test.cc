// What `torc why` says of jobs whose workers are not at work.
#include "lib/report/why.h"

#include "lib/claim/transactions/live.h"
#include "lib/report/why_worker.h"
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
          situation.slurm = slurm_;
          TORC_ASSIGN(situation.workers,
                      look_at_workers(context_, store_here_->state_directory(), reader));
          workflow::RecipeBook book;
          found = *explain(context_, reader, book, "wf.torc", situation, JobId{1});
          return {};
        });
    EXPECT_TRUE(seen.ok()) << seen.error().text();
    return found;
  }
  void show(const std::string& id, const std::string& state, const std::string& reason = {}) {
    if (!slurm_) slurm_ = SlurmAnswer{};
    slurm_->allocations.push_back({id, "alpha", "wf-one", state, reason, "one"});
  }

  std::optional<SlurmAnswer> slurm_;
};

TEST_F(Why, a_silent_worker_whose_allocation_is_suspended_goes_on_when_that_is_resumed) {
  auto info = on("n2", 1, 1);
  info.allocation = "5";
  info.cluster = "alpha";
  start_job(join(info));
  show("4", "PENDING");
  show("5", "SUSPENDED");
  EXPECT_EQ(why_now().reasons.at(0).remedy, "scontrol resume 5") << "not known to be silent yet";
  clock_.jump_to(clock_.boot_now() + 1h);
  const Reason reason = why_now().reasons.at(0);
  EXPECT_NE(reason.text.find("Slurm says its allocation is SUSPENDED"), std::string::npos)
      << reason.text;
  EXPECT_EQ(reason.remedy, "scontrol resume 5");
}

TEST_F(Why, what_waits_for_an_allocation_of_its_scheduler_needs_nothing_else) {
  claim::JobClass job;
  job.scheduler = "one";
  Situation situation;
  situation.workers.push_back({});
  situation.workers[0].worker.info = on("n2", 1, 1);
  const auto kinds = [&] {
    show("5", "PENDING");
    situation.slurm = slurm_;
    std::string all;
    const auto seen = store_here_->view(
        store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
          WorkerInquiry inquiry(context_, reader, situation, "wf.torc", "a", JobId{1});
          for (const Reason& r : inquiry.look(job, 0, false)) all += std::string(r.kind) + ' ';
          return {};
        });
    EXPECT_TRUE(seen.ok()) << seen.error().text();
    return all;
  };
  EXPECT_EQ(kinds(), "allocation ");
  slurm_ = {};
  show("4", "PENDING", "JobHeldUser");
  job.scheduler = "two";
  EXPECT_TRUE(kinds().starts_with("scheduler ")) << "those are of another one";
}

TEST_F(Why, of_a_job_of_several_nodes_says_what_the_nodes_lack_and_what_helps) {
  claim::JobClass job;
  job.need.nodes = 2;
  job.need.named = {{"fpga", 2000}};
  job.need.runtime = 2h;
  job.labels = "big";
  std::vector<claim::WorkerEpoch> nodes;
  for (int n = 1; n <= 2; ++n) {
    auto info = on("n" + std::to_string(n), 1, 1);
    info.cpus = 1;
    info.memory = mebibytes(1024);
    info.group = "g";
    info.node_name = info.host;
    info.labels = n == 1 ? "big" : "";
    info.ends_at = clock_.wall_now() + 1h;
    info.more.named = {{"fpgas", 2000, true}};
    nodes.push_back(join(info));
  }
  std::vector<Reason> reasons;
  const auto seen =
      store_here_->view(store::Freshness::latest, [&](const claim::Reader& reader) -> Result<void> {
        Situation situation;
        for (const claim::WorkerEpoch epoch : nodes)
          situation.workers.emplace_back().worker = *claim::read_worker(reader, epoch);
        WorkerInquiry inquiry(context_, reader, situation, "wf.torc", "a", JobId{1});
        reasons = inquiry.look(job, 0, false);
        return {};
      });
  ASSERT_TRUE(seen.ok()) << seen.error().text();
  std::string all;
  for (const Reason& r : reasons)
    all += std::string(r.kind) + ": " + r.text + " | " + r.remedy + "\n";
  EXPECT_NE(all.find("nodes: It needs 2 whole nodes"), std::string::npos) << all;
  EXPECT_NE(all.find("resource: None of the 2 workers could ever be one of its nodes: it needs 2 "
                     "'fpga', and no worker that is there has any. | did you mean 'fpgas'"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("label: 1 of 2 workers could never be one of its nodes: it asks for"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("time: None of the 2 workers could ever be one of its nodes: it declares 2 h"),
            std::string::npos)
      << all;
  EXPECT_EQ(all.find("it needs 2 nodes."), std::string::npos) << "each of them is one\n" << all;
}

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
