// What is read of the environments of other processes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "lib/exec/machine/machine.h"
#include "lib/exec/machine/procfs.h"

namespace torc::exec {
namespace {

bool first_thread_has_ended(pid_t pid) {
  const std::string first = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid);
  return read_small_file(first + "/stat").value_or("").find(") Z ") != std::string::npos;
}

// Its first thread has no memory any more, and newer kernels do not open the file of such a one.
TEST(Environment, of_a_process_whose_first_thread_has_ended_is_that_of_the_others) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([&] {
      while (!first_thread_has_ended(getpid())) {
      }
      if (write(ends[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);  // this thread alone
  }
  char ready = 0;
  EXPECT_EQ(read(ends[0], &ready, 1), 1);
  const auto own = environment_of(getpid());
  EXPECT_TRUE(own && !own->empty());
  EXPECT_TRUE(environment_of(child) == own);
  kill(child, SIGKILL);
  siginfo_t info{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(environment_of(child), "") << "a zombie has none, and that is known";
  waitpid(child, nullptr, 0);
  EXPECT_EQ(environment_of(child), std::nullopt);
  close(ends[0]);
  close(ends[1]);
}

// They come and go at any time, and belong to root: what a worker of root left behind was not known
// to have ended as long as one lived that was younger than the worker.
TEST(Environment, of_a_kernel_thread_is_known_to_be_empty) {
  constexpr pid_t kThreads = 2;  // the parent of them all
  if (geteuid() != 0 || read_small_file("/proc/2/comm") != "kthreadd\n")
    GTEST_SKIP() << "no kernel thread can be looked at from here";
  EXPECT_EQ(environment_of(kThreads), "");
}

}  // namespace
}  // namespace torc::exec
