#include "bin/waiting_disk.h"

#include <gtest/gtest.h>

#include "lib/base/testing/no_threads.h"

namespace torc::cli {
namespace {

TEST(WaitingDisk, answers_where_no_thread_can_be_had_to_say_what_it_waits_for) {
  const NoThreads scarce;
  WaitingDisk disk(stderr);
  disk.watch();
  EXPECT_TRUE(disk.status("/").ok());
}

}  // namespace
}  // namespace torc::cli
