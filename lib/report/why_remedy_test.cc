#include "lib/report/why_remedy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/worker/loop/session_fixture.h"

namespace torc::report {
namespace {

using claim::EndCause;

claim::Outcome ended_by(EndCause cause) {
  claim::Outcome o;
  o.cause = cause;
  o.started_at = WallTime(std::chrono::hours(1));
  o.ended_at = o.started_at + std::chrono::seconds(90);
  return o;
}

TEST(WhyRemedy, what_ran_out_of_memory_needs_more_than_it_had_reached) {
  claim::Outcome o = ended_by(EndCause::out_of_memory);
  o.max_rss = mebibytes(100);
  claim::Requirement had;
  had.memory = mebibytes(96);
  EXPECT_EQ(more_of_it(o, had, "s.torc", "a"),
            "torc set s.torc a memory=192m (it had reached 100 MiB), then torc retry s.torc a");
}

TEST(WhyRemedy, what_ran_out_of_time_needs_more) {
  claim::Requirement had;
  had.runtime = std::chrono::seconds(90);
  EXPECT_EQ(more_of_it(ended_by(EndCause::timed_out), had, "s.torc", "a"),
            "torc set s.torc a runtime=3m (it might run 1 min 30 s), then torc retry s.torc a");
}

TEST(WhyRemedy, what_was_cut_off_with_its_worker_s_time_needs_a_worker_with_more) {
  EXPECT_EQ(more_of_it(ended_by(EndCause::allocation_ended), {}, "s.torc", "a"),
            "torc set s.torc a runtime=3m (no worker that has less time left takes it then), then "
            "torc retry s.torc a");
}

TEST(WhyRemedy, other_ends_are_no_lack) {
  EXPECT_EQ(more_of_it(ended_by(EndCause::exited), {}, "s.torc", "a"), std::nullopt);
  EXPECT_EQ(more_of_it(ended_by(EndCause::not_started), {}, "s.torc", "a"), std::nullopt);
}

class WhyHere : public worker::SessionTest {};

TEST_F(WhyHere, this_machine_is_recommended_only_for_what_it_can_run) {
  claim::JobClass job;
  EXPECT_EQ(remedy_without_worker(context_, {}, job, "s.torc", "a"), "torc run s.torc");
  job.need.cpus = 1'000'000;
  const std::string remedy = remedy_without_worker(context_, {}, job, "s.torc", "a");
  const std::string fact = "this machine could not take it: it needs 1000000 CPUs, and there are ";
  ASSERT_TRUE(remedy.starts_with(fact)) << remedy;
  const std::string here = remedy.substr(fact.size(), remedy.find('.') - fact.size());
  EXPECT_EQ(
      remedy.substr(remedy.find(". ") + 2),
      fmt::format("Let it need less: torc set s.torc a cpus={}, or start where there is more: "
                  "torc worker s.torc",
                  here));
}

TEST_F(WhyHere, the_command_has_what_a_worker_must_be_told_for_the_job) {
  claim::JobClass job;
  job.need.nodes = 2;
  job.need.named = {{"fpga", 2000}};
  job.labels = "ssd";
  EXPECT_EQ(remedy_without_worker(context_, {}, job, "s.torc", "a"),
            "torc worker s.torc --group nodes --label ssd --resource fpga=2 (on each of 2 nodes)");
  job.need.nodes = 1;
  EXPECT_EQ(remedy_without_worker(context_, {}, job, "s.torc", "a"),
            "torc run s.torc --resource fpga=2 (where there is that)");
  job.need.cpus = 1'000'000;
  const std::string remedy = remedy_without_worker(context_, {}, job, "s.torc", "a");
  EXPECT_TRUE(remedy.ends_with("torc worker s.torc --label ssd --resource fpga=2")) << remedy;
}

}  // namespace
}  // namespace torc::report
