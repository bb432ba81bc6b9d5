#include "lib/exec/run/events.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace torc::exec {
namespace {

using namespace std::chrono_literals;

class EventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto opened = events_.open();
    ASSERT_TRUE(opened.ok()) << opened.error().text();
  }
  Events::Woken sleep(bool at_once = false) {
    auto woken = events_.sleep(at_once);
    EXPECT_TRUE(woken.ok());
    return woken.ok() ? *woken : Events::Woken{};
  }

  ManualClock clock_;
  Events events_{clock_};
};

TEST_F(EventsTest, a_descriptor_is_told_until_nobody_watches_it) {
  const int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  ASSERT_TRUE(events_.watch(fd).ok());
  EXPECT_EQ(sleep().readable, std::vector<int>{fd});
  EXPECT_EQ(sleep().readable, std::vector<int>{fd}) << "the caller empties it";
  events_.unwatch(fd);
  EXPECT_TRUE(sleep(true).readable.empty());
  close(fd);
}

TEST_F(EventsTest, an_alarm_wakes_once) {
  ASSERT_TRUE(events_.set_alarm(clock_.boot_now() - 1s).ok());
  const Events::Woken woken = sleep();
  EXPECT_FALSE(woken.by_children);
  EXPECT_TRUE(woken.readable.empty());
  EXPECT_FALSE(events_.comes_within(0ms));
}

TEST_F(EventsTest, the_same_alarm_again_wakes_again) {
  const BootTime at = clock_.boot_now();
  ASSERT_TRUE(events_.set_alarm(at).ok());
  sleep();
  ASSERT_TRUE(events_.set_alarm(at).ok());
  EXPECT_TRUE(events_.comes_within(10s));
  ASSERT_TRUE(events_.set_alarm(std::nullopt).ok());
  EXPECT_FALSE(events_.comes_within(0ms));
}

TEST_F(EventsTest, an_end_while_they_are_muted_wakes_when_they_are_not) {
  events_.mute_children(true);
  EXPECT_TRUE(events_.children_muted());
  ASSERT_EQ(kill(getpid(), SIGCHLD), 0);
  EXPECT_FALSE(sleep(true).by_children);
  events_.mute_children(false);
  EXPECT_TRUE(sleep().by_children);
  EXPECT_FALSE(sleep(true).by_children) << "it was taken";
}

TEST(EventsMask, the_thread_has_the_signals_back_that_it_had) {
  const auto blocks_child_signal = [] {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return sigismember(&now, SIGCHLD) == 1;
  };
  const bool before = blocks_child_signal();
  {
    ManualClock clock;
    Events events(clock);
    ASSERT_TRUE(events.open().ok());
    EXPECT_TRUE(blocks_child_signal());
  }
  EXPECT_EQ(blocks_child_signal(), before);
}

}  // namespace
}  // namespace torc::exec
