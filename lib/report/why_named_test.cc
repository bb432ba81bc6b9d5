// What is said of resources with a name that workers lack, and of pieces that lie apart.
#include "lib/report/why_named.h"

#include <gtest/gtest.h>

#include "lib/claim/queries/workers.h"
#include "lib/claim/testing/test_workflow.h"
#include "lib/report/why_locality.h"

namespace torc::report {
namespace {

claim::Worker with(const Amounts& named, std::uint32_t gpus = 0) {
  claim::Worker w;
  w.info.gpus = gpus;
  w.info.more.named = named;
  return w;
}

NamedLack lack(const Amount& need, const std::vector<claim::Worker>& workers) {
  return lack_of(need, workers, "s.torc", "a");
}

TEST(WhyNamed, what_nobody_has_is_had_by_a_worker_that_is_told_of_it) {
  const NamedLack none = lack({"fpga", 2000}, {with({}), with({{"port", 2000, true}})});
  EXPECT_EQ(none.workers, 2U);
  EXPECT_EQ(none.text, "it needs 2 'fpga', and no worker that is there has any");
  EXPECT_EQ(none.remedy, "start a worker that has it: torc worker s.torc --resource fpga=2");
}

TEST(WhyNamed, a_name_that_workers_have_and_may_be_meant_is_told) {
  const NamedLack near = lack({"scrach_gb", 20'000}, {with({{"scratch_gb", 500'000}})});
  EXPECT_TRUE(near.remedy.starts_with(
      "did you mean 'scratch_gb', which there is? torc set s.torc a resources.scrach_gb=none "
      "resources.scratch_gb=20; or start a worker"))
      << near.remedy;
  EXPECT_FALSE(lack({"fpga/x", 1000}, {with({{"fpga/y", 1000, true}})}).remedy.starts_with("did"));
}

TEST(WhyNamed, more_than_a_whole_piece_and_no_whole_number_is_helped_by_a_whole_number) {
  const NamedLack two = lack({"fpga", 1500}, {with({{"fpga", 2000, true}})});
  EXPECT_EQ(two.text, "it needs 1.5 'fpga', which is given as whole pieces or as a part of one");
  EXPECT_EQ(two.remedy,
            "let it need whole ones: torc set s.torc a resources.fpga=2; or a part of "
            "one, below 1");
  const NamedLack one = lack({"fpga", 1500}, {with({{"fpga", 1000, true}})});
  EXPECT_NE(one.remedy.find("resources.fpga=1;"), std::string::npos) << one.remedy;
  const NamedLack gpus = lack({"gpus", 1500}, {with({}, 4)});
  EXPECT_NE(gpus.remedy.find("torc set s.torc a gpus=2;"), std::string::npos) << gpus.remedy;
  EXPECT_EQ(lack({"fpga", 1500}, {with({{"fpga", 2000, false}})}).workers, 0U)
      << "of an amount there is as much";
}

TEST(WhyNamed, too_much_is_helped_by_less) {
  const NamedLack three = lack({"fpga", 3000}, {with({{"fpga", 2000, true}}), with({})});
  EXPECT_EQ(three.workers, 2U);
  EXPECT_EQ(three.text, "it needs 3 'fpga', and they have at most 2");
  EXPECT_TRUE(three.remedy.ends_with("or let it need less: torc set s.torc a resources.fpga=2"))
      << three.remedy;
}

// A worker of four GPUs that holds jobs with one each.
class PiecesApart : public ::testing::Test {
 protected:
  static claim::Plan plan() {
    claim::Plan plan = claim::plan_of({{4, 0}});
    plan.classes[0].need.gpus = 1;
    return plan;
  }
  PiecesApart() : worker_(wf_.join()) {}
  void hold(std::uint64_t jobs) {
    claim::Offer o = claim::TestWorkflow::offer(jobs);
    o.gpus = o.total_gpus = 4;
    ASSERT_EQ(wf_.claim(worker_, o).size(), jobs);
  }
  std::optional<Reason> why(const claim::JobClass& c) {
    claim::Worker w = *claim::read_worker(wf_.tx, worker_);
    w.info.gpus = 4;
    w.info.memory = mebibytes(1024);
    return why_pieces_lie_apart(wf_.tx, c, {w}, "s.torc", "a");
  }
  static claim::JobClass strict(std::uint32_t gpus) {
    claim::JobClass c;
    c.need.gpus = gpus;
    c.need.locality = Locality::strict;
    return c;
  }
  claim::TestWorkflow wf_{plan()};
  claim::WorkerEpoch worker_;
};

TEST_F(PiecesApart, are_why_a_strict_job_waits_where_by_number_there_are_enough) {
  EXPECT_FALSE(why(strict(2))) << "all are free: it is claimed soon";
  hold(2);
  const auto found = why(strict(2));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, "locality");
  EXPECT_NE(found->text.find("has 2 of 4 GPUs free"), std::string::npos) << found->text;
  EXPECT_NE(found->remedy.find("torc set s.torc a locality=preferred"), std::string::npos);
}

TEST_F(PiecesApart, are_no_reason_where_there_are_too_few_or_something_else_fits) {
  hold(3);
  EXPECT_FALSE(why(strict(2)));
  claim::JobClass c = strict(1);
  EXPECT_FALSE(why(c)) << "one is near itself";
  c = strict(2);
  c.need.locality = Locality::preferred;
  EXPECT_FALSE(why(c));
}

TEST_F(PiecesApart, are_no_reason_where_another_alternative_has_room) {
  hold(2);
  claim::JobClass c = strict(2);
  c.others.emplace_back().need.cpus = 1;
  EXPECT_FALSE(why(c));
  c.others[0].need.cpus = 1000;
  EXPECT_TRUE(why(c));
}

}  // namespace
}  // namespace torc::report
