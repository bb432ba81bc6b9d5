// Locks that lie: that the shim does, and what torc says where even a node's own disk has no locks.
// What workers do on a store whose locks lie is for torc-torture --locks.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tests/integration/harness.h"

namespace torc::itest {
namespace {

class LyingLocks : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"store", "record", "elsewhere"})
      std::filesystem::create_directory(scratch_.path() / name);
    write_text(scratch_.path() / "store/lock", "");
    write_text(scratch_.path() / "elsewhere/lock", "");
    shim_ = dlopen(LYING_LOCKS, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(shim_, nullptr) << dlerror();
    setenv("LYING_LOCKS_UNDER", (scratch_.path() / "store").c_str(), 1);
    setenv("LYING_LOCKS_RECORD", (scratch_.path() / "record").c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"LYING_LOCKS_MODE", "LYING_LOCKS_UNDER", "LYING_LOCKS_RECORD"})
      unsetenv(name);
    for (const int fd : fds_) close(fd);
  }
  int open_lock(const char* directory = "store") {
    fds_.push_back(open((scratch_.path() / directory / "lock").c_str(), O_RDWR | O_CLOEXEC));
    return fds_.back();
  }
  // 0, or the error.
  [[nodiscard]] int ofd(int fd, short type) const {
    struct flock range {};
    range.l_type = type;
    const auto call = reinterpret_cast<int (*)(int, int, ...)>(dlsym(shim_, "fcntl"));
    return call(fd, F_OFD_SETLK, &range) == 0 ? 0 : errno;
  }
  [[nodiscard]] int flock(int fd) const {
    const auto call = reinterpret_cast<int (*)(int, int)>(dlsym(shim_, "flock"));
    return call(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  }

  Scratch scratch_;
  void* shim_ = nullptr;
  std::vector<int> fds_;
};

TEST_F(LyingLocks, are_true_without_a_mode_and_on_files_elsewhere) {
  EXPECT_EQ(ofd(open_lock(), F_WRLCK), 0);
  EXPECT_EQ(ofd(open_lock(), F_WRLCK), EAGAIN);
  setenv("LYING_LOCKS_MODE", "succeed", 1);
  EXPECT_EQ(ofd(open_lock("elsewhere"), F_WRLCK), 0);
  EXPECT_EQ(ofd(open_lock("elsewhere"), F_WRLCK), EAGAIN);
}

TEST_F(LyingLocks, fail_always) {
  setenv("LYING_LOCKS_MODE", "fail", 1);
  EXPECT_EQ(ofd(open_lock(), F_WRLCK), ENOLCK);
  EXPECT_EQ(flock(open_lock()), ENOLCK);
}

TEST_F(LyingLocks, exclude_nobody) {
  setenv("LYING_LOCKS_MODE", "succeed", 1);
  EXPECT_EQ(ofd(open_lock(), F_WRLCK), 0);
  EXPECT_EQ(ofd(open_lock(), F_WRLCK), 0);
  EXPECT_EQ(flock(open_lock()), 0);
}

TEST_F(LyingLocks, are_never_released_by_their_first_holder_also_when_it_says_so) {
  setenv("LYING_LOCKS_MODE", "stuck", 1);
  const int first = open_lock();
  EXPECT_EQ(ofd(first, F_WRLCK), 0);
  EXPECT_EQ(ofd(open_lock(), F_WRLCK), EAGAIN);
  EXPECT_EQ(ofd(first, F_UNLCK), 0);
  EXPECT_EQ(ofd(open_lock(), F_WRLCK), EAGAIN);
  EXPECT_EQ(flock(open_lock()), EAGAIN);
}

// LMDB itself locks its files: the copy of the state that each node keeps, and stores of engine
// lmdb. Both are on a disk of the node's own, where locks work. Where they do not: an error, no
// harm.
void expect_refusal(const char* engine) {
  const Workplace here;
  here.write("wf.yaml", "name: wf\njobs: [{name: a, command: 'true'}]\n");
  Launch init = here.torc({"init", "wf.yaml", "--engine", engine});
  init.env["LD_PRELOAD"] = LYING_LOCKS;
  init.env["LYING_LOCKS_MODE"] = "fail";
  init.env["ASAN_OPTIONS"] = "verify_asan_link_order=0";
  const Ended refused = run(init);
  EXPECT_EQ(refused.exit_code, 4) << refused;
  EXPECT_TRUE(refused.says("No locks available")) << refused;
  EXPECT_FALSE(std::filesystem::exists(here.path() / "wf.torc"));
}

TEST(ANodeWithoutLocks, is_refused_by_engine_journal_which_keeps_a_copy_there) {
  expect_refusal("journal");
}

TEST(ANodeWithoutLocks, is_refused_by_engine_lmdb) {
  expect_refusal("lmdb");
}

}  // namespace
}  // namespace torc::itest
