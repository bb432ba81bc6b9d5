#include "lib/store/disk/advisory_lock.h"

#include <gtest/gtest.h>

#include <utility>

#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace std::chrono_literals;
using testing::Node;
using testing::ScratchDirectory;

class LockWait : public ::testing::Test {
 protected:
  // How often somebody asks within two seconds for a lock that another one has, where each try
  // takes so long.
  int tries_of(std::chrono::nanoseconds cost) {
    PosixDisk disk;
    OpenFile holder(disk, *disk.open_update(file_), file_);
    EXPECT_TRUE(*disk.try_lock(holder.handle()));
    int tries = 0;
    faulty_.oracle = [&](const std::string& operation, const Path&) {
      if (operation == "try_lock") {
        ++tries;
        node_.clock.advance(first_takes_ > 0ns ? std::exchange(first_takes_, 0ns) : cost);
      }
      return testing::proceed();
    };
    AdvisoryLock lock(faulty_, node_.clock, node_.entropy, file_);
    lock.saw_conflict();
    lock.acquire(2s);
    return tries;
  }

  ScratchDirectory scratch_;
  Path file_ = scratch_.path() / "lock";
  testing::FaultyDisk faulty_;
  Node node_{scratch_.path()};
  std::chrono::nanoseconds first_takes_{};
};

TEST_F(LockWait, a_lock_of_this_hosts_kernel_is_asked_for_every_two_milliseconds) {
  const int tries = tries_of(5us);
  EXPECT_GT(tries, 700);
  EXPECT_LT(tries, 1400);
}

TEST_F(LockWait, a_server_is_asked_every_tenth_of_a_second) {
  const int tries = tries_of(1ms);
  EXPECT_GT(tries, 15);
  EXPECT_LT(tries, 35);
}

TEST_F(LockWait, one_try_that_waits_for_its_turn_makes_no_server_of_a_kernel) {
  first_takes_ = 300ms;
  EXPECT_GT(tries_of(5us), 600);
}

}  // namespace
}  // namespace torc::store
