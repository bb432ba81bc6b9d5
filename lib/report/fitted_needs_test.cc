#include "lib/report/fitted_needs.h"

#include <gtest/gtest.h>

namespace torc::report {
namespace {

using namespace std::chrono_literals;
using spec::Need;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr FitRules kRules;

// Three jobs that completed well within what they asked for.
NeedUse good() {
  NeedUse use;
  use.jobs = use.completed = use.weighed = 3;
  use.most_memory = {kGiB};
  use.longest = 600s;
  use.most_cpus = 1.9;
  return use;
}

TEST(FittedNeeds, are_less_where_all_completed_and_it_is_worth_while) {
  const Fit memory = fitted(Need::memory, 8 * kGiB, good(), kRules);
  EXPECT_EQ(memory.reason, FitReason::wasted);
  EXPECT_EQ(memory.amount, 1280U << 20U) << "1.2 GiB, up to 64 MiB";
  EXPECT_EQ(fitted(Need::runtime, 3600, good(), kRules).amount, 720U);
  EXPECT_EQ(fitted(Need::cpus, 8, good(), kRules).amount, 3U);
  EXPECT_EQ(fitted(Need::memory, 2 * kGiB, good(), kRules).reason, FitReason::none)
      << "less than 1 GiB is not worth while";
  EXPECT_EQ(fitted(Need::runtime, 2400, good(), kRules).reason, FitReason::none);
  EXPECT_EQ(fitted(Need::cpus, 3, good(), kRules).reason, FitReason::none);
}

TEST(FittedNeeds, of_a_time_limit_are_never_less) {
  EXPECT_EQ(fitted(Need::time_limit, 36000, good(), kRules).amount, 36000U);
}

TEST(FittedNeeds, are_not_less_where_a_job_failed_or_was_not_measured_or_a_person_says_so) {
  NeedUse use = good();
  use.completed = 2;
  EXPECT_EQ(fitted(Need::memory, 8 * kGiB, use, kRules).reason, FitReason::none);
  EXPECT_EQ(fitted(Need::runtime, 36000, use, kRules).reason, FitReason::none);
  EXPECT_EQ(fitted(Need::cpus, 8, use, kRules).reason, FitReason::none);
  use = good();
  use.weighed = 2;
  EXPECT_EQ(fitted(Need::memory, 8 * kGiB, use, kRules).reason, FitReason::none);
  EXPECT_EQ(fitted(Need::runtime, 36000, use, kRules).reason, FitReason::wasted);
  use = good();
  use.in_part = true;
  EXPECT_EQ(fitted(Need::memory, 8 * kGiB, use, kRules).reason, FitReason::none);
  FitRules up = kRules;
  up.lowers = false;
  EXPECT_EQ(fitted(Need::memory, 8 * kGiB, good(), up).reason, FitReason::none);
  EXPECT_EQ(fitted(Need::cpus, 8, good(), up).reason, FitReason::none);
}

TEST(FittedNeeds, are_more_where_jobs_were_ended_for_it) {
  NeedUse use = good();
  use.out_of_memory = 1;
  use.completed = 2;
  const Fit memory = fitted(Need::memory, 2 * kGiB, use, kRules);
  EXPECT_EQ(memory.reason, FitReason::out_of_memory);
  EXPECT_GE(memory.amount, 2 * kGiB * 12 / 10) << "its peak, at which it was ended, says less";
  use.timed_out = 1;
  const Fit time = fitted(Need::runtime, 3000, use, kRules);
  EXPECT_EQ(time.reason, FitReason::timed_out);
  EXPECT_EQ(time.amount, 3600U);
  EXPECT_EQ(fitted(Need::time_limit, 3000, use, kRules).amount, 3600U);
}

TEST(FittedNeeds, are_more_where_jobs_used_more_though_nothing_ended_them) {
  NeedUse use = good();
  const Fit fit = fitted(Need::memory, kGiB / 2, use, kRules);
  EXPECT_EQ(fit.reason, FitReason::above);
  EXPECT_EQ(fit.amount, 1280U << 20U);
  EXPECT_EQ(fitted(Need::memory, kGiB, use, kRules).reason, FitReason::none) << "all of it";
}

}  // namespace
}  // namespace torc::report
