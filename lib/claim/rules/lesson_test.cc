#include "lib/claim/rules/lesson.h"

#include <gtest/gtest.h>

namespace torc::claim {
namespace {

using std::chrono::seconds;

JobClass with_needs(std::uint64_t mib, seconds runtime = seconds(0)) {
  JobClass c;
  c.need.memory = mebibytes(mib);
  c.need.runtime = runtime;
  return c;
}

TEST(Lesson, gives_what_another_job_was_given) {
  EXPECT_EQ(taught(with_needs(4, seconds(10)), with_needs(8, seconds(10)), 0),
            with_needs(8, seconds(10)));
  JobClass learns = with_needs(4, seconds(10));
  learns.learns_from = 7;
  EXPECT_EQ(taught(learns, with_needs(4, seconds(20)), 0), with_needs(4, seconds(20)))
      << "measured times no longer count";
  JobClass more = learns;
  more.need.memory = mebibytes(8);
  EXPECT_EQ(taught(learns, with_needs(8, seconds(10)), 0), more) << "and go on counting";
}

TEST(Lesson, takes_nothing_away) {
  EXPECT_EQ(taught(with_needs(16), with_needs(8), 0), with_needs(16));
  EXPECT_EQ(taught(with_needs(4, seconds(60)), with_needs(8, seconds(20)), 0),
            with_needs(4, seconds(60)));
}

TEST(Lesson, makes_no_limit_where_none_is_declared) {
  EXPECT_EQ(taught(with_needs(1), with_needs(8), 0), with_needs(1));
  EXPECT_EQ(taught(with_needs(4), with_needs(4, seconds(20)), 0), with_needs(4));
}

TEST(Lesson, is_not_for_jobs_of_other_terms) {
  JobClass other = with_needs(4);
  other.need.cpus = 2;
  EXPECT_EQ(taught(other, with_needs(8), 0), other);
  other = with_needs(4);
  other.scheduler = "big";
  EXPECT_EQ(taught(other, with_needs(8), 0), other);
}

TEST(Lesson, keeps_that_a_job_is_to_be_alone_to_that_job) {
  JobClass grown = with_needs(8);
  grown.alone = Alone::entirely;
  EXPECT_EQ(taught(with_needs(4), grown, 0), with_needs(8));
}

TEST(Lesson, of_an_alternative_is_for_that_one) {
  JobClass now = with_needs(4);
  now.others = {{with_needs(2).need, 1}};
  JobClass grown = now;
  grown.others[0].need.memory = mebibytes(6);
  EXPECT_EQ(taught(now, grown, 1), grown);
  EXPECT_EQ(taught(now, grown, 0), now);
  EXPECT_EQ(taught(with_needs(4), grown, 1), with_needs(4));
}

}  // namespace
}  // namespace torc::claim
