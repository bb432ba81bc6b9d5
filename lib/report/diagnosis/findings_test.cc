#include "lib/report/diagnosis/findings.h"

#include <gtest/gtest.h>

#include <csignal>

namespace torc::report {
namespace {

using claim::EndCause;
using claim::Trouble;

claim::Outcome exited(int code) {
  claim::Outcome o;
  o.cause = EndCause::exited;
  o.exit_code = code;
  return o;
}
Trouble said(const claim::Outcome& end, std::vector<Finding> found) {
  return said_by(weighed(std::move(found), &end));
}

TEST(Findings, say_what_helps_by_the_first_that_tells) {
  EXPECT_EQ(said(exited(1), {{Cause::out_of_memory}}), Trouble::memory);
  EXPECT_EQ(said(exited(1), {{Cause::stale_file}}), Trouble::transient);
  EXPECT_EQ(said(exited(1), {{Cause::disk_full}, {Cause::connection}}), Trouble::mend);
  EXPECT_EQ(said(exited(1), {{Cause::python_error}}), Trouble::unknown);
  EXPECT_EQ(said(exited(1), {{Cause::python_error}, {Cause::connection}}), Trouble::transient);
  EXPECT_EQ(said(exited(1), {}), Trouble::unknown);
}

TEST(Findings, of_an_end_that_says_enough_are_not_those_of_a_line) {
  claim::Outcome crashed;
  crashed.cause = EndCause::signaled;
  crashed.signal = SIGSEGV;
  EXPECT_EQ(said(crashed, {{Cause::connection}}), Trouble::mend);
  crashed.signal = SIGKILL;
  EXPECT_EQ(said(crashed, {}), Trouble::unknown) << "anything may have sent it";
  EXPECT_EQ(said(exited(127), {}), Trouble::mend) << "no such command";
  EXPECT_EQ(said(exited(127), {{Cause::connection}}), Trouble::transient);
}

}  // namespace
}  // namespace torc::report
