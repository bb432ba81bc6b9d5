// Workers that die of SIGKILL wherever they are, on a real node ledger.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "lib/base/file/shared_mapping.h"
#include "lib/exec/machine/procfs.h"
#include "lib/exec/node/node_ledger_fixture.h"

namespace torc::exec {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// What really runs where: each process marks the CPUs that it was given, before it uses them.
struct Marks {
  std::atomic<std::uint64_t> cpus[kCpus];  // pid of who uses it
  std::atomic<int> twice;
};

// A process that was killed uses nothing, waited for or not.
bool is_living(std::uint64_t pid) {
  const auto stat = read_stat(static_cast<pid_t>(pid));
  return stat && stat->state != 'Z' && stat->state != 'X';
}

[[noreturn]] void take_and_give_back(const fs::path& root, const NodeMember& member, Marks& marks,
                                     int report) {
  SystemClock clock;
  SystemEntropy random;
  const std::uint64_t me = static_cast<std::uint64_t>(getpid());
  for (;;) {
    auto ledger = NodeLedger::enter({{root}, {}}, member, clock);
    if (!ledger) continue;
    for (int step = 0; step < 20; ++step) {
      (*ledger)->take({static_cast<std::uint32_t>(random.next() % 4), {}, 0});
      const CpuSet mine = (*ledger)->holding().cpus;
      for (const std::uint32_t cpu : mine.numbers()) {
        const std::uint64_t before = marks.cpus[cpu].exchange(me);
        if (before != me && before != 0 && is_living(before)) ++marks.twice;
      }
      NodeHolding kept = (*ledger)->holding();
      for (const std::uint32_t cpu : mine.numbers()) {
        if (random.next() % 2 == 0) continue;
        marks.cpus[cpu] = 0;
        kept.cpus.remove(cpu);
      }
      (*ledger)->keep(kept);
      if (write(report, "x", 1) != 1) _exit(1);
    }
    for (auto& cpu : marks.cpus) {
      std::uint64_t mine = me;
      cpu.compare_exchange_strong(mine, 0);
    }
  }
}

TEST_F(Ledgers, killed_at_random_moments_workers_never_share_a_cpu_and_lose_none) {
  SystemEntropy random;
  auto* marks = static_cast<Marks*>(
      mmap(nullptr, sizeof(Marks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(marks, MAP_FAILED);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto start = [&] {
    const pid_t pid = fork();
    if (pid == 0) take_and_give_back(root_, member(), *marks, ends[1]);
    return pid;
  };
  // None may have ended before: a sanitizer ends who reads beyond its memory.
  const auto end = [](pid_t worker) {
    kill(worker, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(worker, &status, 0), worker);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  };
  std::vector<pid_t> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(start());
  for (int kills = 0; kills < 200; ++kills) {
    std::vector<char> steps(1 + random.next() % 40);
    for (std::size_t got = 0; got < steps.size();) {
      const ssize_t n = read(ends[0], steps.data() + got, steps.size() - got);
      ASSERT_GT(n, 0);
      got += static_cast<std::size_t>(n);
    }
    pid_t& victim = workers[random.next() % workers.size()];
    end(victim);
    victim = start();
  }
  for (const pid_t worker : workers) end(worker);
  EXPECT_EQ(marks->twice, 0);
  const auto last = enter();
  EXPECT_TRUE(last->take(kAll).complete);
  EXPECT_EQ(entries(), 1U);
  munmap(marks, sizeof(Marks));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace torc::exec
