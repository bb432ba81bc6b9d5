// While it lives this process gets no further thread: none has room for the stack that it would
// have. For tests; the limit of processes is none to root.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace torc {

class NoThreads {
 public:
  NoThreads() {
    constexpr std::size_t kMoreThanThereIs = std::size_t{1} << 48U;
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t endless = before_;
    EXPECT_EQ(pthread_attr_setstacksize(&endless, kMoreThanThereIs), 0);
    EXPECT_EQ(pthread_setattr_default_np(&endless), 0);
  }
  ~NoThreads() { EXPECT_EQ(pthread_setattr_default_np(&before_), 0); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

}  // namespace torc
