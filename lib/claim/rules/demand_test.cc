#include "lib/claim/rules/demand.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace torc::claim {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

class Needs : public ::testing::Test {
 protected:
  Needs() { in.schedulers = {scheduler("s1", 4h)}; }

  static Scheduler scheduler(const char* name, seconds walltime, std::uint32_t cpus = 4) {
    Scheduler s;
    s.name = name;
    s.walltime = walltime;
    s.node = no_resources();
    s.node.cpus = cpus;
    s.node.memory = mebibytes(1 << 20);
    s.is_managed = true;
    return s;
  }
  WorkLeft& work(std::uint64_t ready, seconds runtime, std::uint32_t cpus = 1) {
    WorkLeft work;
    work.job_class.need.cpus = cpus;
    work.job_class.need.memory = mebibytes(1);
    work.job_class.need.runtime = runtime;
    work.ready = ready;
    in.work.push_back(work);
    return in.work.back();
  }
  Place& place(bool waits, seconds left = 4h, std::uint32_t of = 1) {
    Place place;
    place.allocation = static_cast<std::uint32_t>(in.places.size() + 1);
    place.scheduler = of;
    place.scheduler_name = in.schedulers[of - 1].name;
    place.waits = waits;
    place.has_limit = true;
    place.left = left;
    place.node = in.schedulers[of - 1].node;
    in.places.push_back(place);
    return in.places.back();
  }
  [[nodiscard]] std::uint32_t asked(std::uint32_t of = 1) const {
    std::uint32_t count = 0;
    for (const Ask& ask : demand_of(in).ask)
      if (ask.scheduler == of) count += ask.allocations;
    return count;
  }

  DemandInput in;
};

TEST_F(Needs, the_first_allocation_however_little_fills_it) {
  work(1, 1min);
  const Demand demand = demand_of(in);
  EXPECT_EQ(demand.ask, (std::vector<Ask>{{1, 1, "1 job waits for it"}}));
  EXPECT_TRUE(demand.surplus.empty());
}

TEST_F(Needs, further_ones_only_as_far_as_they_are_filled) {
  WorkLeft& jobs = work(16, 1h);  // 4 beside each other, 4 in a row
  EXPECT_EQ(asked(), 1U);
  jobs.ready = 16 + 7;
  EXPECT_EQ(asked(), 1U);
  jobs.ready = 16 + 8;
  EXPECT_EQ(asked(), 2U);
  in.schedulers[0].terms.min_utilization = 1000;
  EXPECT_EQ(asked(), 1U);
  in.schedulers[0].terms.min_utilization = 0;
  jobs.ready = 17;
  EXPECT_EQ(asked(), 2U);
}

TEST_F(Needs, nothing_where_what_runs_or_waits_has_room) {
  work(16, 1h);
  place(true);
  EXPECT_EQ(asked(), 0U);
  in.places[0].waits = false;
  EXPECT_EQ(asked(), 0U);
}

TEST_F(Needs, more_where_what_workers_hold_takes_the_room) {
  work(16, 1h).held = 0;
  place(false);
  EXPECT_EQ(asked(), 0U);
  work(0, 4h).held = 4;
  EXPECT_EQ(asked(), 1U);
}

TEST_F(Needs, one_for_what_no_present_allocation_has_time_for) {
  work(1, 2h);
  place(false, 1h);
  EXPECT_EQ(asked(), 1U);
  in.work[0].job_class.need.min_time = 10min;
  EXPECT_EQ(asked(), 0U) << "it begins there and goes on in another one";
}

TEST_F(Needs, one_for_jobs_that_outlast_every_allocation_and_may_be_begun) {
  work(1, 20h).job_class.need.min_time = 10min;
  EXPECT_EQ(asked(), 1U);
  in.work[0].job_class.need.min_time = 0s;
  const Demand demand = demand_of(in);
  EXPECT_TRUE(demand.ask.empty());
  EXPECT_EQ(demand.stranded, std::vector<Stranded>{{0}});
}

TEST_F(Needs, the_time_that_is_kept_of_each_is_not_for_jobs) {
  work(1, 4h);
  EXPECT_EQ(asked(), 1U);
  in.usable = {4h - 1min};
  EXPECT_EQ(asked(), 0U);
}

TEST_F(Needs, no_more_ahead_than_the_backlog_also_in_the_next_pass) {
  in.schedulers[0].terms.backlog = 2;
  in.schedulers[0].terms.max_queued = 9;
  work(0, 1h).soon = 160;
  EXPECT_EQ(asked(), 2U);
  place(true);
  EXPECT_EQ(asked(), 1U);
  place(true);
  EXPECT_EQ(asked(), 0U);
  EXPECT_TRUE(demand_of(in).surplus.empty());
  in.schedulers[0].terms.backlog = 0;
  in.places.clear();
  EXPECT_EQ(asked(), 0U);
}

TEST_F(Needs, nothing_of_a_scheduler_that_is_stopped_or_is_a_persons) {
  work(1, 1h);
  in.schedulers[0].stopped = "bad account";
  EXPECT_EQ(asked(), 0U);
  in.schedulers.push_back(scheduler("s2", 4h));
  EXPECT_EQ(asked(2), 1U);
  in.schedulers[1].is_managed = false;
  EXPECT_EQ(asked(2), 0U);
  EXPECT_TRUE(demand_of(in).stranded.empty()) << "a person may ask";
}

TEST_F(Needs, what_is_kept_as_long_as_there_is_anything_for_it) {
  in.schedulers[0].terms.min = 2;
  EXPECT_EQ(asked(), 0U);
  work(0, 1h).later = 1;
  EXPECT_EQ(asked(), 2U);
  for (int n = 0; n < 3; ++n) place(true);
  EXPECT_EQ(demand_of(in).surplus, std::vector<std::uint32_t>{3}) << "the newest";
  in.work.clear();
  EXPECT_EQ(demand_of(in).surplus.size(), 3U);
}

TEST_F(Needs, no_surplus_for_jobs_whose_turn_is_later) {
  place(true);
  EXPECT_EQ(demand_of(in).surplus, std::vector<std::uint32_t>{1});
  work(0, 1h).later = 1;
  EXPECT_TRUE(demand_of(in).surplus.empty());
  in.work[0].job_class.need.cpus = 5;
  EXPECT_EQ(demand_of(in).surplus, std::vector<std::uint32_t>{1}) << "it fits nothing";
}

TEST_F(Needs, where_nodes_are_not_known_one_job_each) {
  in.schedulers[0].node = no_resources();
  in.schedulers[0].nodes = 2;
  work(8, 1h, 64);
  EXPECT_EQ(asked(), 1U);
}

TEST_F(Needs, a_place_of_a_scheduler_that_is_none_is_nobodys) {
  place(true).scheduler = 7;
  EXPECT_TRUE(demand_of(in).surplus.empty());
}

TEST_F(Needs, are_reckoned_in_little_time_for_thousands_of_classes) {
  in.schedulers.clear();
  for (int n = 0; n < 5; ++n) in.schedulers.push_back(scheduler("s", 4h, 36));
  for (std::uint32_t n = 0; n < 2000; ++n) {
    WorkLeft& one = work(n % 40, seconds(60 + n), 1 + n % 36);
    one.held = n % 3;
    one.soon = n % 5;
    one.later = n % 7;
  }
  for (std::uint32_t n = 0; n < 50; ++n) place(n % 2 == 0, seconds(600 + 60 * n), 1 + n % 5);
  const std::clock_t begun = std::clock();
  const Demand demand = demand_of(in);
  const double ms = 1000.0 * static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  RecordProperty("milliseconds", std::to_string(ms));
  EXPECT_LT(ms, 500) << "ten times what it may take where nothing is checked";
  EXPECT_TRUE(demand.surplus.empty());
}

}  // namespace
}  // namespace torc::claim
