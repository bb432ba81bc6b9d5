#include "lib/claim/rules/handler.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

namespace torc::claim {
namespace {

using std::chrono::seconds;

Outcome exited(int code) {
  Outcome o;
  o.cause = EndCause::exited;
  o.exit_code = code;
  return o;
}
Outcome signaled(int signal) {
  Outcome o;
  o.cause = EndCause::signaled;
  o.signal = signal;
  return o;
}
Outcome ended(EndCause cause, int code = -1) {
  Outcome o;
  o.cause = cause;
  o.exit_code = code;
  return o;
}

RetryRule for_codes(std::vector<std::int32_t> codes) {
  RetryRule r;
  r.exit_codes = std::move(codes);
  return r;
}
RetryRule on(FailureCause cause) {
  RetryRule r;
  r.on = {cause};
  return r;
}

std::optional<std::size_t> first_of(std::vector<RetryRule> rules, const Outcome& o) {
  Handler handler;
  handler.rules = std::move(rules);
  return rule_for(handler, o);
}

TEST(Handler, the_first_rule_that_is_for_an_end_counts) {
  RetryRule every;
  every.all_exit_codes = true;
  const std::vector<RetryRule> rules = {for_codes({3, 4}), every, for_codes({5})};
  EXPECT_EQ(first_of(rules, exited(4)), 0U);
  EXPECT_EQ(first_of(rules, exited(5)), 1U);
  EXPECT_EQ(first_of({for_codes({3})}, exited(5)), std::nullopt);
}

TEST(Handler, an_output_file_that_was_not_made_has_a_rule_of_its_own_and_no_exit_code) {
  RetryRule every;
  every.all_exit_codes = true;
  const Outcome o = ended(EndCause::output_missing, 0);
  EXPECT_EQ(first_of({every, on(FailureCause::signal)}, o), std::nullopt);
  EXPECT_EQ(first_of({every, on(FailureCause::output_missing)}, o), 1U);
}

TEST(Handler, a_signal_has_the_exit_code_that_a_shell_gives_it) {
  EXPECT_EQ(first_of({for_codes({139})}, signaled(SIGSEGV)), 0U);
  EXPECT_EQ(first_of({on(FailureCause::signal)}, signaled(SIGSEGV)), 0U);
  EXPECT_EQ(first_of({on(FailureCause::signal)}, exited(139)), std::nullopt);
}

TEST(Handler, what_was_killed_and_not_by_torc_may_have_used_too_much_memory) {
  EXPECT_EQ(first_of({on(FailureCause::oom)}, signaled(SIGKILL)), 0U);
  EXPECT_EQ(first_of({on(FailureCause::oom)}, exited(137)), 0U);
  EXPECT_EQ(first_of({on(FailureCause::oom)}, ended(EndCause::out_of_memory, 137)), 0U);
  EXPECT_EQ(first_of({on(FailureCause::oom)}, signaled(SIGTERM)), std::nullopt);
}

TEST(Handler, a_time_limit_is_a_cause_and_an_exit_code) {
  EXPECT_EQ(first_of({on(FailureCause::timeout)}, ended(EndCause::timed_out, 152)), 0U);
  EXPECT_EQ(first_of({for_codes({152})}, ended(EndCause::timed_out, 152)), 0U);
}

TEST(Handler, a_lost_worker_has_no_exit_code) {
  RetryRule every;
  every.all_exit_codes = true;
  EXPECT_EQ(first_of({every}, ended(EndCause::worker_lost)), std::nullopt);
  EXPECT_EQ(first_of({on(FailureCause::node_death)}, ended(EndCause::worker_lost)), 0U);
  EXPECT_EQ(first_of({on(FailureCause::node_death)}, ended(EndCause::lease_lost)), 0U);
}

TEST(Handler, an_end_that_is_none_of_the_jobs_doing_has_no_rule) {
  RetryRule every;
  every.all_exit_codes = true;
  EXPECT_EQ(first_of({every}, ended(EndCause::stopped, 143)), std::nullopt);
  EXPECT_EQ(first_of({every}, ended(EndCause::allocation_ended, 143)), std::nullopt);
  EXPECT_EQ(first_of({every}, ended(EndCause::canceled, 143)), std::nullopt);
}

TEST(Handler, what_cannot_be_started_has_the_exit_code_of_a_shell) {
  Outcome o = ended(EndCause::not_started);
  o.os_errno = ENOENT;
  EXPECT_EQ(return_code(o), 127);
  o.os_errno = EACCES;
  EXPECT_EQ(return_code(o), 126);
}

TEST(Handler, back_off_doubles_up_to_an_hour) {
  RetryRule rule;
  EXPECT_EQ(backoff_of(rule, 5), seconds(0));
  rule.backoff = seconds(60);
  EXPECT_EQ(backoff_of(rule, 1), seconds(60));
  EXPECT_EQ(backoff_of(rule, 3), seconds(240));
  EXPECT_EQ(backoff_of(rule, 7), seconds(3600));
  EXPECT_EQ(backoff_of(rule, 4'000'000'000U), seconds(3600));
  rule.backoff = seconds(7200);  // who asks for more than an hour gets it, every time the same
  EXPECT_EQ(backoff_of(rule, 3), seconds(7200));
}

TEST(Handler, nothing_grows_above_its_ceiling_or_shrinks_to_it) {
  EXPECT_EQ(grown(100, 1.5, 1000), 150U);
  EXPECT_EQ(grown(100, 20, 1000), 1000U);
  EXPECT_EQ(grown(2000, 2, 1000), 2000U);
  EXPECT_EQ(grown(100, 0.5, 1000), 50U);
  EXPECT_EQ(grown(1, 0.1, 1000), 1U);
}

TEST(Handler, is_read_as_it_was_written) {
  Handler handler;
  handler.memory_ceiling = mebibytes(7);
  handler.runtime_ceiling = seconds(99);
  RetryRule rule = for_codes({1, 255});
  rule.on = {FailureCause::oom, FailureCause::node_death};
  rule.script = "mend --all";
  rule.max_retries = 9;
  rule.memory_multiplier = 1.5;
  rule.runtime_multiplier = 0.1;
  rule.backoff = seconds(30);
  RetryRule every;
  every.all_exit_codes = true;
  handler.rules = {rule, every};
  const std::string bytes = encode(handler);
  EXPECT_EQ(decode_handler(bytes), handler);
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(decode_handler(std::string_view(bytes).substr(0, n))) << n;
}

TEST(Handler, a_count_of_retries_takes_no_time) {
  RetryRule rule;
  rule.backoff = std::chrono::seconds(0);
  EXPECT_EQ(backoff_of(rule, UINT32_MAX), std::chrono::seconds(0));
  rule.backoff = std::chrono::seconds(-5);
  EXPECT_EQ(backoff_of(rule, UINT32_MAX), std::chrono::seconds(0));
}

}  // namespace
}  // namespace torc::claim
