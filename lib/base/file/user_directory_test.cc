#include "lib/base/file/user_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>

namespace torc::user_directory {
namespace {

namespace fs = std::filesystem;

class UserDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "torc-user-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    top_ = Descriptor(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    fixed_ = root_ / fixed_name(::geteuid());
  }
  void TearDown() override { fs::remove_all(root_); }

  Result<Found> ask(Missing missing = Missing::make, std::size_t most = kMostNames) {
    return open(top_.get(), root_, ::geteuid(), missing, most);
  }
  std::string name(Missing missing = Missing::make) {
    const Result<Found> found = ask(missing);
    EXPECT_TRUE(found.ok()) << found.error().text();
    return found.ok() ? found->name : "";
  }
  // Everything that is no directory of this user's own, closed to others.
  std::vector<std::function<void(const Path&)>> squats() {
    std::vector<std::function<void(const Path&)>> all = {
        [](const Path& at) { std::ofstream(at) << "a file"; },
        [](const Path& at) { ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0); },
        [this](const Path& at) {
          fs::create_directory(root_ / "trap");
          fs::permissions(root_ / "trap", fs::perms(0700));
          fs::create_directory_symlink(root_ / "trap", at);
        },
        [](const Path& at) {
          fs::create_directory(at);
          fs::permissions(at, fs::perms(0711));
        }};
    if (::geteuid() == 0) {
      all.emplace_back([](const Path& at) {
        ASSERT_EQ(::mkdir(at.c_str(), 0700), 0);
        ASSERT_EQ(::chown(at.c_str(), 65534, 65534), 0);
      });
    }
    return all;
  }

  Path root_;
  Descriptor top_;
  Path fixed_;
};

TEST_F(UserDirectory, has_the_name_that_all_know_where_nobody_else_has_it) {
  EXPECT_EQ(ask(Missing::fail).error().kind, ErrorKind::not_found);
  EXPECT_EQ(name(), fixed_.filename());
  EXPECT_EQ(name(Missing::fail), fixed_.filename());
  EXPECT_EQ(fs::status(fixed_).permissions(), fs::perms(0700));
}

TEST_F(UserDirectory, is_another_one_that_all_find_where_somebody_has_the_name) {
  for (const auto& squat : squats()) {
    squat(fixed_);
    EXPECT_EQ(ask(Missing::fail).error().kind, ErrorKind::not_found);
    const std::string mine = name();
    EXPECT_TRUE(mine.starts_with(fixed_name(::geteuid()) + "-")) << mine;
    EXPECT_EQ(fs::status(root_ / mine).permissions(), fs::perms(0700));
    EXPECT_EQ(name(), mine);
    EXPECT_EQ(name(Missing::fail), mine);
    EXPECT_EQ(random_names(top_.get(), root_, ::geteuid(), Modes::closed)->size(), 1U);
    fs::remove_all(fixed_);
    fs::remove_all(root_ / mine);
    EXPECT_TRUE(!fs::exists(root_ / "trap") || fs::is_empty(root_ / "trap"));
  }
}

// Whoever looks for what may have been left must not pass one over because somebody opened it.
TEST_F(UserDirectory, that_was_opened_to_others_is_not_used_and_is_looked_for_still) {
  ASSERT_EQ(::symlink("nowhere", fixed_.c_str()), 0);
  const std::string mine = name();
  fs::permissions(root_ / mine, fs::perms(0755));
  EXPECT_EQ(random_names(top_.get(), root_, ::geteuid(), Modes::closed)->size(), 0U);
  EXPECT_EQ(*random_names(top_.get(), root_, ::geteuid(), Modes::any),
            std::vector<std::string>{mine});
  EXPECT_NE(name(), mine);
}

TEST_F(UserDirectory, is_never_one_that_somebody_else_prepared_under_such_a_name) {
  for (const auto& squat : squats()) {
    squat(fixed_);
    fs::remove_all(root_ / "trap");
    squat(fixed_.string() + "-000000");
    const std::string mine = name();
    EXPECT_GT(mine, fixed_.filename().string() + "-000000");
    EXPECT_EQ(name(), mine);
    for (const auto& entry : fs::directory_iterator(root_)) fs::remove_all(entry.path());
  }
}

// Else two would part who came before and after somebody gave the name up.
TEST_F(UserDirectory, stays_the_other_one_when_the_name_is_free_again) {
  std::ofstream(fixed_) << "a file";
  const std::string mine = name();
  fs::remove(fixed_);
  EXPECT_EQ(name(), mine);
  EXPECT_FALSE(fs::exists(fixed_));
}

TEST_F(UserDirectory, of_several_is_the_first_and_the_fixed_one_before_all) {
  std::ofstream(fixed_) << "a file";
  const std::string prefix = fixed_.filename().string();
  for (const char* end : {"-mmmmmm", "-000000", "-zzzzzz"}) {
    fs::create_directory(root_ / (prefix + end));
    fs::permissions(root_ / (prefix + end), fs::perms(0700));
  }
  EXPECT_EQ(name(), prefix + "-000000");
  fs::remove(fixed_);
  fs::create_directory(fixed_);
  fs::permissions(fixed_, fs::perms(0700));
  EXPECT_EQ(name(), prefix);
}

TEST_F(UserDirectory, among_too_many_names_is_not_looked_for) {
  for (int i = 0; i < 20; ++i) std::ofstream(root_ / std::to_string(i)) << "";
  {
    // Nobody is kept from the fixed name by that.
    EXPECT_TRUE(ask(Missing::make, 10).ok());
    fs::remove(fixed_);
  }
  std::ofstream(fixed_) << "a file";
  const Result<Found> found = ask(Missing::make, 10);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::permission);
  EXPECT_NE(found.error().text().find("too many names"), std::string::npos);
  EXPECT_EQ(random_names(top_.get(), root_, ::geteuid(), Modes::closed)->size(), 0U)
      << "none was made in vain";
}

// Each puts something into the one it got, as all users of this do, and asks again when all have.
TEST_F(UserDirectory, is_the_same_for_processes_that_ask_at_the_same_moment_and_again) {
  constexpr int kProcesses = 8;
  for (int round = 0; round < 20; ++round) {
    std::ofstream(fixed_) << "a file";
    int go[2];
    int got[2];
    int again[2];
    ASSERT_TRUE(::pipe(go) == 0 && ::pipe(got) == 0 && ::pipe(again) == 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      ::close(go[1]);
      ::close(again[1]);
      char byte = 0;
      (void)!::read(go[0], &byte, 1);  // until the parent closes it
      bool used = false;
      while (!used) {
        const Result<Found> found = ask();
        if (!found.ok()) ::_exit(2);
        const int fd = ::openat(found->directory.get(), "used", O_CREAT | O_WRONLY, 0600);
        used = fd >= 0;  // else it was the one too many, and is gone
      }
      if (::write(got[1], "x", 1) != 1) ::_exit(3);
      (void)!::read(again[0], &byte, 1);
      const Result<Found> found = ask();
      const std::vector<std::string> all =
          *random_names(top_.get(), root_, ::geteuid(), Modes::closed);
      ::_exit(found.ok() && found->name == all.front() ? 0 : 1);
    }
    ::close(go[1]);
    for (int i = 0; i < kProcesses; ++i) {
      char byte = 0;
      ASSERT_EQ(::read(got[0], &byte, 1), 1);
    }
    ::close(again[1]);
    for (const pid_t child : children) {
      int status = -1;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    for (const auto& entry : fs::directory_iterator(root_)) {
      EXPECT_TRUE(!entry.is_directory() || fs::exists(entry.path() / "used")) << "left in vain";
    }
    for (const int fd : {go[0], got[0], got[1], again[0]}) ::close(fd);
    for (const auto& entry : fs::directory_iterator(root_)) fs::remove_all(entry.path());
  }
}

}  // namespace
}  // namespace torc::user_directory
