#include "lib/exec/process_host.h"

#include <gtest/gtest.h>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

TEST(ProcessHost, smoke) {
  SystemClock clock;
  auto host = ProcessHost::create(clock);
  ASSERT_TRUE(host.ok()) << host.error().text();
  Command c;
  c.line = "true";
  c.directory = "/";
  auto t0 = clock.boot_now();
  int done = 0, started = 0, n = 2000;
  while (done < n) {
    while (started < n && started - done < 2) {
      ASSERT_TRUE((*host)->start(c).ok());
      started++;
    }
    auto w = (*host)->wait(std::nullopt);
    ASSERT_TRUE(w.ok());
    for (auto& e : w->ended) {
      ASSERT_EQ(e.how, Ending::exited);
      ASSERT_EQ(e.exit_code, 0);
      done++;
    }
  }
  printf("%.1f us per job\n", (clock.boot_now() - t0).count() / 1e3 / n);
}

}  // namespace
}  // namespace torc::exec
