#include "lib/claim/rules/recovery.h"

#include <gtest/gtest.h>

#include <csignal>

namespace torc::claim {
namespace {

using namespace std::chrono_literals;

Outcome ended(EndCause cause, std::chrono::seconds ran = 10s) {
  Outcome o;
  o.cause = cause;
  o.started_at = WallTime(1s);
  o.ended_at = o.started_at + ran;
  return o;
}
Outcome exited(int code, std::chrono::seconds ran = 10s) {
  Outcome o = ended(EndCause::exited, ran);
  o.exit_code = code;
  return o;
}
Requirement needs(std::uint64_t mib, std::chrono::seconds runtime = 0s) {
  Requirement r;
  r.memory = mebibytes(mib);
  r.runtime = runtime;
  return r;
}

TEST(Trouble, is_what_torc_saw_before_what_lines_say) {
  EXPECT_EQ(trouble_of(ended(EndCause::out_of_memory), Trouble::mend, {}), Trouble::memory);
  EXPECT_EQ(trouble_of(ended(EndCause::timed_out), Trouble::mend, {}), Trouble::runtime);
  EXPECT_EQ(trouble_of(ended(EndCause::worker_lost), Trouble::mend, {}), Trouble::transient);
  EXPECT_EQ(trouble_of(ended(EndCause::stopped), Trouble::mend, {}), Trouble::transient);
  EXPECT_EQ(trouble_of(ended(EndCause::output_missing), Trouble::transient, {}), Trouble::mend);
  for (const Trouble said : {Trouble::mend, Trouble::memory, Trouble::transient, Trouble::unknown})
    EXPECT_EQ(trouble_of(exited(1), said, {}), said);
}

TEST(Trouble, is_memory_where_a_peak_is_above_it_or_a_kill_came_early) {
  Outcome o = exited(1);
  o.max_rss = mebibytes(300);
  EXPECT_EQ(trouble_of(o, Trouble::unknown, needs(200)), Trouble::memory);
  EXPECT_EQ(trouble_of(o, Trouble::unknown, needs(300)), Trouble::unknown);
  EXPECT_EQ(trouble_of(exited(137, 70s), Trouble::unknown, needs(200, 100s)), Trouble::memory);
  EXPECT_EQ(trouble_of(exited(137, 85s), Trouble::unknown, needs(200, 100s)), Trouble::unknown);
}

TEST(Trouble, is_the_runtime_where_nearly_all_of_it_had_passed_which_is_likely_and_not_plain) {
  EXPECT_EQ(trouble_of(exited(152), Trouble::unknown, {}), Trouble::runtime);
  EXPECT_EQ(plain_trouble_of(exited(152), Trouble::unknown, {}), Trouble::runtime);
  const Requirement need = needs(200, 100s);
  EXPECT_EQ(trouble_of(exited(1, 95s), Trouble::unknown, need), Trouble::runtime);
  EXPECT_EQ(plain_trouble_of(exited(1, 95s), Trouble::unknown, need), Trouble::unknown);
  EXPECT_EQ(trouble_of(exited(1, 89s), Trouble::unknown, need), Trouble::unknown);
}

Failure group_of(Trouble trouble) {
  Failure group;
  group.trouble = trouble;
  group.had = needs(1024, 600s);
  group.was_ended = true;
  group.peak = mebibytes(512);
  group.longest = 600s;
  return group;
}

TEST(Proposal, raises_memory_by_what_it_had_where_it_was_ended_and_else_by_its_peak) {
  Failure group = group_of(Trouble::memory);
  EXPECT_EQ(proposal_for(group, {}, {}).memory, mebibytes(1536));
  group.was_ended = false;
  group.peak = mebibytes(2000);
  EXPECT_EQ(proposal_for(group, {}, {}).memory, mebibytes(3008));
  RecoveryTerms terms;
  terms.memory_multiplier = 2;
  Requirement need = group.had;
  proposal_for(group, {}, terms).apply_to(need);
  EXPECT_EQ(need.memory, mebibytes(4032));
  EXPECT_EQ(need.runtime, 600s) << "as it was";
}

TEST(Proposal, ends_at_what_there_is) {
  Failure group = group_of(Trouble::memory);
  EXPECT_EQ(proposal_for(group, {mebibytes(1100), 0s}, {}).memory, mebibytes(1100));
  EXPECT_EQ(proposal_for(group, {mebibytes(1024), 0s}, {}).remedy, Remedy::skip);
  group = group_of(Trouble::runtime);
  EXPECT_EQ(proposal_for(group, {{}, 700s}, {}).runtime, 700s);
  EXPECT_EQ(proposal_for(group, {{}, 600s}, {}).remedy, Remedy::skip);
}

TEST(Proposal, raises_what_of_the_times_is_declared) {
  Failure group = group_of(Trouble::runtime);
  EXPECT_EQ(proposal_for(group, {}, {}).runtime, 900s);
  EXPECT_EQ(proposal_for(group, {}, {}).time_limit, 0s);
  group.had.time_limit = 1200s;
  EXPECT_EQ(proposal_for(group, {}, {}).time_limit, 1800s);
  EXPECT_EQ(proposal_for(group, {}, {}).runtime, 900s);
  group.had = needs(1024);
  EXPECT_EQ(proposal_for(group, {}, {}).remedy, Remedy::skip);
}

TEST(Proposal, retries_what_is_unknown_or_to_be_mended_only_where_it_is_told) {
  for (const Trouble trouble : {Trouble::unknown, Trouble::mend}) {
    const Failure group = group_of(trouble);
    EXPECT_EQ(proposal_for(group, {}, {}).remedy, Remedy::skip);
    RecoveryTerms terms;
    terms.retries_unknown = true;
    EXPECT_EQ(proposal_for(group, {}, terms).remedy, Remedy::retry);
  }
  EXPECT_EQ(proposal_for(group_of(Trouble::transient), {}, {}).remedy, Remedy::retry);
}

TEST(Proposal, leaves_jobs_with_alternatives_to_a_person) {
  Failure group = group_of(Trouble::memory);
  group.has_alternatives = true;
  EXPECT_EQ(proposal_for(group, {}, {}).remedy, Remedy::skip);
}

TEST(Proposal, without_any_memory_declared_goes_by_the_peak_or_leaves_it) {
  Failure group = group_of(Trouble::memory);
  group.had = needs(1);
  EXPECT_EQ(proposal_for(group, {}, {}).memory, mebibytes(768));
  group.peak = {};
  EXPECT_EQ(proposal_for(group, {}, {}).remedy, Remedy::skip);
}

// --- without a person ---

Handler recovering(std::uint32_t recoveries) {
  Handler handler;
  handler.runtime_ceiling = 1000s;
  handler.recoveries = recoveries;
  return handler;
}
std::optional<Remedy> remedy_for(const Outcome& outcome, Trouble said, std::uint32_t before = 0) {
  const auto proposal =
      recovery_of(recovering(3), before, outcome, said, needs(1024, 600s), false, mebibytes(4096));
  return proposal ? std::optional(proposal->remedy) : std::nullopt;
}

TEST(RecoveryWithoutAPerson, is_of_what_is_certain_and_has_a_remedy) {
  EXPECT_EQ(remedy_for(ended(EndCause::out_of_memory), Trouble::unknown), Remedy::raise_memory);
  EXPECT_EQ(remedy_for(ended(EndCause::timed_out), Trouble::unknown), Remedy::raise_runtime);
  EXPECT_EQ(remedy_for(ended(EndCause::worker_lost), Trouble::unknown), Remedy::retry);
  EXPECT_EQ(remedy_for(exited(1), Trouble::transient), Remedy::retry);
  EXPECT_EQ(remedy_for(exited(1), Trouble::memory), Remedy::raise_memory);
  EXPECT_EQ(remedy_for(exited(1), Trouble::mend), std::nullopt);
  EXPECT_EQ(remedy_for(exited(1), Trouble::unknown), std::nullopt);
  EXPECT_EQ(remedy_for(exited(1, 590s), Trouble::unknown), std::nullopt)
      << "late in its time, which may be its own error";
  EXPECT_EQ(remedy_for(ended(EndCause::not_started), Trouble::unknown), std::nullopt);
}

TEST(RecoveryWithoutAPerson, ends_after_so_many_times) {
  const Outcome oom = ended(EndCause::out_of_memory);
  EXPECT_EQ(remedy_for(oom, Trouble::unknown, 2), Remedy::raise_memory);
  EXPECT_EQ(remedy_for(oom, Trouble::unknown, 3), std::nullopt);
  EXPECT_FALSE(recovery_of({}, 0, oom, Trouble::unknown, needs(1024), false, {}));
}

TEST(RecoveryWithoutAPerson, gives_nothing_beyond_the_ceilings) {
  const Outcome oom = ended(EndCause::out_of_memory);
  const auto with = [&](std::uint64_t most) {
    return recovery_of(recovering(3), 0, oom, Trouble::unknown, needs(1024), false,
                       mebibytes(most));
  };
  EXPECT_EQ(with(1100)->memory, mebibytes(1100));
  EXPECT_FALSE(with(1024));
  const auto longer = recovery_of(recovering(3), 0, ended(EndCause::timed_out), Trouble::unknown,
                                  needs(1024, 900s), false, {});
  EXPECT_EQ(longer->runtime, 1000s);
  EXPECT_FALSE(recovery_of(recovering(3), 0, ended(EndCause::timed_out), Trouble::unknown,
                           needs(1024, 1000s), false, {}));
  EXPECT_FALSE(recovery_of(recovering(3), 0, oom, Trouble::unknown, needs(1024), true, {}))
      << "alternatives";
}

TEST(RecoveryWithoutAPerson, waits_a_little_only_for_what_may_be_back_then) {
  Proposal again;
  again.remedy = Remedy::retry;
  EXPECT_EQ(recovery_delay(again, exited(1), 1), 30s);
  EXPECT_EQ(recovery_delay(again, exited(1), 3), 120s);
  EXPECT_EQ(recovery_delay(again, ended(EndCause::worker_lost), 1), 0s);
  EXPECT_EQ(recovery_delay(again, ended(EndCause::allocation_ended), 1), 0s);
  again.remedy = Remedy::raise_memory;
  EXPECT_EQ(recovery_delay(again, exited(1), 1), 0s);
}

// What stores of before have, and what they are to have still where nobody asks for recovery.
TEST(RecoveryWithoutAPerson, is_a_field_that_a_handler_may_lack) {
  Handler plain;
  plain.rules.emplace_back();
  plain.memory_ceiling = mebibytes(7);
  const std::string before = encode(plain);
  EXPECT_EQ(decode_handler(before), plain);
  Handler with = plain;
  with.recoveries = 3;
  EXPECT_EQ(encode(with), before + std::string(1, '\x03'));
  EXPECT_EQ(decode_handler(encode(with)), with);
  EXPECT_FALSE(decode_handler(before + std::string(1, '\0'))) << "nobody writes none";
}

}  // namespace
}  // namespace torc::claim
