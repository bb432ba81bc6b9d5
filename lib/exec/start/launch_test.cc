// How what is started is scheduled, and by which lease.
#include "lib/exec/start/launch.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include "lib/base/clock.h"

namespace torc::exec {
namespace {

// Of a thread or process; 0: the calling one.
std::uint64_t turn_of(pid_t pid) {
  SchedulingTerms terms;
  if (syscall(SYS_sched_getattr, pid, &terms, sizeof terms, 0) != 0) return 0;
  return terms.turn;
}

void choose(std::uint64_t turn) {
  SchedulingTerms terms;
  terms.turn = turn;
  EXPECT_EQ(syscall(SYS_sched_setattr, 0, &terms, 0), 0);
}

// As a thread sees them that has asked for short turns, having chosen others before.
struct Turns {
  std::uint64_t own = 0;
  std::uint64_t of_child = 0;
};
Turns turns_after(std::uint64_t chosen) {
  Turns turns;
  // The thread has them to its end.
  std::thread([&] {
    if (chosen != 0) choose(chosen);
    auto launcher = Launcher::create();
    ASSERT_TRUE(launcher.ok());
    (*launcher)->take_short_turns();
    turns.own = turn_of(0);
    char shell[] = "/bin/sh";
    char name[] = "sleep";
    char time[] = "60";
    char* words[] = {shell, name, time, nullptr};
    char* environment[] = {nullptr};
    LaunchPlan plan;
    plan.program = "/bin/sleep";
    plan.words = words;
    plan.environment = environment;
    const Launched launched = (*launcher)->launch(plan);
    ASSERT_NE(launched.pid, 0);
    turns.of_child = turn_of(launched.pid);
    kill(launched.pid, SIGKILL);
    waitpid(launched.pid, nullptr, 0);
  }).join();
  return turns;
}

TEST(Launcher, who_takes_short_turns_keeps_them_from_what_it_starts) {
  const std::uint64_t usual = turn_of(0);
  if (usual == 0) GTEST_SKIP() << "this kernel knows no turns";
  const Turns turns = turns_after(0);
  EXPECT_LT(turns.own, usual);
  EXPECT_EQ(turns.of_child, usual);
}

TEST(Launcher, threads_of_who_takes_short_turns_keep_them_from_what_they_start) {
  const std::uint64_t usual = turn_of(0);
  if (usual == 0) GTEST_SKIP() << "this kernel knows no turns";
  auto launcher = Launcher::create();
  ASSERT_TRUE(launcher.ok());
  (*launcher)->take_short_turns();
  EXPECT_LT(turn_of(0), usual);
  const Turns turns = turns_after(0);
  EXPECT_LT(turns.own, usual);
  EXPECT_EQ(turns.of_child, usual);
  launcher->reset();
  EXPECT_EQ(turn_of(0), usual);
}

TEST(Launcher, turns_that_somebody_has_chosen_stay) {
  const std::uint64_t usual = turn_of(0);
  if (usual == 0) GTEST_SKIP() << "this kernel knows no turns";
  const Turns turns = turns_after(2 * usual);
  EXPECT_EQ(turns.own, 2 * usual);
  EXPECT_EQ(turns.of_child, 2 * usual);
}

// Worker and watchdog stood still together, and the worker goes on before anybody has looked.
TEST(Launcher, executes_nothing_by_a_lease_that_has_run_out_though_its_phase_is_held) {
  auto launcher = Launcher::create();
  ASSERT_TRUE(launcher.ok());
  LeasePage page;
  char name[] = "true";
  char shell[] = "/bin/sh";
  char* words[] = {shell, name, nullptr};
  char* environment[] = {nullptr};
  LaunchPlan plan;
  plan.program = "/bin/true";
  plan.words = words;
  plan.environment = environment;
  plan.lease = page.terms();
  const BootTime now = SystemClock().boot_now();
  page.hold(now - std::chrono::hours(1), std::chrono::seconds(1));
  const Launched late = (*launcher)->launch(plan);
  EXPECT_EQ(late.pid, 0);
  EXPECT_EQ(late.os_errno, kLeaseInDoubt);
  EXPECT_EQ(page.phase(), LeasePage::Phase::held) << "nobody has looked";
  page.hold(now, std::chrono::hours(1));
  const Launched in_time = (*launcher)->launch(plan);
  ASSERT_NE(in_time.pid, 0);
  waitpid(in_time.pid, nullptr, 0);
}

}  // namespace
}  // namespace torc::exec
