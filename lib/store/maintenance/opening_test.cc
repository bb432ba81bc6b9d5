// Who opens an environment while others do, while its file is replaced, or while somebody is stuck
// in it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/compact.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace testing;
namespace fs = std::filesystem;

// What `torc compact` does to the data file, without asking whether anybody has it open.
void replace_data_file(const Path& directory) {
  const Path bench = directory / "bench";
  fs::create_directory(bench);
  MDB_env* env = nullptr;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_open(env, directory.c_str(), MDB_RDONLY | MDB_NOLOCK, 0666), 0);
  ASSERT_EQ(mdb_env_copy2(env, bench.c_str(), MDB_CP_COMPACT), 0);
  mdb_env_close(env);
  fs::rename(bench / "data.mdb", directory / "data.mdb");
  fs::remove_all(bench);
}

// A lock on the first byte of `file`, as LMDB, compact and OpenLock take it.
class FirstByte {
 public:
  explicit FirstByte(const Path& file) : fd_(::open(file.c_str(), O_RDWR | O_CREAT, 0666)) {
    struct flock range = whole();
    EXPECT_EQ(::fcntl(fd_, F_OFD_SETLK, &range), 0);
  }
  ~FirstByte() { release(); }
  void release() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  static bool is_taken(const Path& file) {
    const int fd = ::open(file.c_str(), O_RDWR);
    if (fd < 0) return false;
    struct flock range = whole();
    const bool taken = ::fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
    ::close(fd);
    return taken;
  }

 private:
  static struct flock whole() {
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_len = 1;
    return range;
  }
  int fd_;
};

// Whether `pid` waits for a lock in the kernel.
bool waits_for_a_lock(pid_t pid) {
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("->") != std::string::npos &&
        line.find(" " + std::to_string(pid) + " ") != std::string::npos)
      return true;
  }
  return false;
}

// A process that does `work` and exits with its answer.
class Child {
 public:
  explicit Child(const std::function<int()>& work) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(work());
  }
  ~Child() { kill(); }
  void kill() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    end();
  }
  int end() {
    int status = -1;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// Has the store open until it is killed.
class OpenHolder {
 public:
  OpenHolder(const World& world, const Path& directory, const Tuning& tuning) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    child_.emplace([&] {
      const auto store = Store::open(world, directory, tuning);
      const char byte = store.ok() ? 'y' : 'n';
      if (::write(ready[1], &byte, 1) != 1) return 1;
      for (;;) ::pause();
    });
    char byte = 'n';
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    for (const int fd : ready) ::close(fd);
  }
  void end() { child_->kill(); }

 private:
  std::optional<Child> child_;
};

// LMDB's number of the newest state, even or odd: it decides which head page the number leads to.
class Opening : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    auto made = Store::create(node.world(), directory, Engine::lmdb, tuning, put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    for (int i = 0; i < 6 + GetParam(); ++i) ASSERT_TRUE((*made)->commit(1, put("k", "v")).ok());
  }
  std::unique_ptr<Store> open() {
    auto opened = Store::open(node.world(), directory, tuning);
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  void expect_whole(const std::string& b) {
    const auto store = open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(value_of(*store, "a"), "1");
    EXPECT_EQ(value_of(*store, "b"), b);
  }
  static Tuning patient() {
    Tuning out = quick();
    out.replica_wait = std::chrono::seconds(20);
    return out;
  }

  ScratchDirectory scratch;
  Node node{scratch.path()};
  Tuning tuning = quick();
  Path directory = scratch.path() / "wf.torc";
};

INSTANTIATE_TEST_SUITE_P(Store, Opening, ::testing::Values(0, 1),
                         [](const auto& parity) { return parity.param == 0 ? "even" : "odd"; });

constexpr int kBusy = 4;

// 0: what was there is there, and a commit was made.
int read_and_commit(const World& world, const Path& directory, const Tuning& tuning) {
  auto store = Store::open(world, directory, tuning);
  if (!store.ok()) return store.error().kind == ErrorKind::busy ? kBusy : 1;
  if (value_of(**store, "a") != "1") return 2;
  const auto done = (*store)->commit(1, put("b", "2"));
  return done.ok() ? 0 : done.error().kind == ErrorKind::busy ? kBusy : 3;
}

TEST_P(Opening, goes_on_with_the_new_file_after_a_wait_during_which_it_was_replaced) {
  FirstByte lmdb(directory / "lock.mdb");
  Child opener([&] {
    lmdb.release();  // the lock stays that of the parent
    return read_and_commit(node.world(), directory, patient());
  });
  while (!FirstByte::is_taken(directory / "open.lock") && !waits_for_a_lock(opener.pid()))
    std::this_thread::yield();
  replace_data_file(directory);
  lmdb.release();
  EXPECT_EQ(opener.end(), 0);
  expect_whole("2");
}

TEST_P(Opening, is_refused_while_somebody_has_the_file_of_before_open) {
  OpenHolder holder(node.world(), directory, tuning);
  replace_data_file(directory);
  Tuning brief = quick();
  brief.replica_wait = std::chrono::milliseconds(20);
  const auto opened = Store::open(node.world(), directory, brief);
  // Where the numbers lead to the right page by chance there is nothing to refuse.
  if (!opened.ok()) {
    EXPECT_EQ(opened.error().kind, ErrorKind::busy);
    EXPECT_NE(opened.error().what.find("before it was replaced"), std::string::npos);
  } else {
    EXPECT_EQ(value_of(**opened, "a"), "1");
  }
  holder.end();
  expect_whole("(absent)");
}

TEST_P(Opening, of_a_file_that_was_replaced_waits_until_the_last_who_had_it_is_gone) {
  OpenHolder holder(node.world(), directory, tuning);
  replace_data_file(directory);
  Child opener([&] { return read_and_commit(node.world(), directory, patient()); });
  while (!FirstByte::is_taken(directory / "open.lock")) std::this_thread::yield();
  holder.end();
  EXPECT_EQ(opener.end(), 0);
  expect_whole("2");
}

// Makes `count` commits in a copy of the data file and puts that in the place of the original.
int put_back_with(const Path& directory, int count) {
  const Path other = directory / "other";
  fs::create_directory(other);
  fs::copy_file(directory / "data.mdb", other / "data.mdb");
  {
    const auto environment = Environment::open(other, Durable::no);
    if (!environment.ok()) return 1;
    for (int i = 0; i < count; ++i) {
      auto txn = Txn::begin(*environment, Access::write);
      if (!txn.ok() || put_entry(*txn, "newer", "yes") != 0 || !txn->commit().ok()) return 1;
    }
  }
  fs::rename(other / "data.mdb", directory / "data.mdb");
  return 0;
}

// A table that is one behind cannot be told from that of a writer that died just now, but for who
// may write.
TEST_P(Opening, of_a_file_that_is_newer_than_the_table_loses_no_commit) {
  for (int ahead = 1; ahead < 4; ++ahead) {
    OpenHolder holder(node.world(), directory, tuning);
    ASSERT_EQ(put_back_with(directory, ahead), 0);
    Child writer([&] {
      const auto store = Store::open(node.world(), directory, quick());
      if (!store.ok()) return store.error().kind == ErrorKind::busy ? 0 : 1;
      if (ahead > 1 && value_of(**store, "newer") != "yes") return 2;
      const auto done = (*store)->commit(1, put("b", "2"));
      if (!done.ok()) return done.error().kind == ErrorKind::busy ? 0 : 3;
      return value_of(**store, "newer") == "yes" ? 0 : 4;
    });
    EXPECT_EQ(writer.end(), 0) << ahead;
    holder.end();
    EXPECT_EQ(value_of(*open(), "newer"), "yes") << ahead;
  }
}

TEST_P(Opening, is_refused_in_time_while_somebody_is_stuck_in_it) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  Child stuck([&] {
    const auto lock = OpenLock::take(directory, "opening it", std::chrono::seconds(1));
    const char byte = lock.ok() ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) return 1;
    for (;;) ::pause();
  });
  char byte = 'n';
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  stuck.stop();
  const auto opened = Store::open(node.world(), directory, tuning);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::busy);
  const std::string text = opened.error().text();
  EXPECT_NE(text.find("process " + std::to_string(stuck.pid())), std::string::npos) << text;
  EXPECT_NE(text.find("stopped), which is opening it"), std::string::npos) << text;
  EXPECT_FALSE(compact(node.world(), directory, Workers::none, tuning.replica_wait).ok());
  for (const int fd : ready) ::close(fd);
}

// The first process of a PID namespace of its own: its number there is 1.
class FirstOfNamespace {
 public:
  explicit FirstOfNamespace(const std::function<int()>& work)
      : outer_([&] {
          if (::unshare(CLONE_NEWPID) != 0) return kNoNamespace;
          const pid_t first = ::fork();
          if (first == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::_exit(work());
          }
          int status = 0;
          ::waitpid(first, &status, 0);
          return WEXITSTATUS(status);
        }) {}
  int end() { return WEXITSTATUS(outer_.end()); }
  static constexpr int kNoNamespace = 99;

 private:
  Child outer_;
};

TEST_P(Opening, says_that_a_process_of_another_pid_namespace_has_the_same_number) {
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  FirstOfNamespace holder([&] {
    const auto store = Store::open(node.world(), directory, tuning);
    const char byte = store.ok() ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) return 1;
    for (;;) ::pause();
  });
  ::close(ready[1]);
  char byte = 'n';
  const bool opened = ::read(ready[0], &byte, 1) == 1;
  ::close(ready[0]);
  if (!opened) GTEST_SKIP() << "a PID namespace needs root";
  ASSERT_EQ(byte, 'y');
  FirstOfNamespace second([&] {
    const auto store = Store::open(node.world(), directory, tuning);
    if (store.ok()) return 1;
    return store.error().kind == ErrorKind::busy &&
                   store.error().what.find("in another PID namespace") != std::string::npos
               ? 0
               : 2;
  });
  EXPECT_EQ(second.end(), 0);
  expect_whole("(absent)");
}

TEST_P(Opening, does_not_wait_inside_lmdb_for_another_program) {
  FirstByte lmdb(directory / "lock.mdb");
  const auto opened = Store::open(node.world(), directory, tuning);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::busy);
  EXPECT_NE(opened.error().what.find("lock.mdb is locked by"), std::string::npos)
      << opened.error().text();
  lmdb.release();
  expect_whole("(absent)");
}

TEST_P(Opening, beside_compact_never_sees_an_empty_store) {
  constexpr int kOpeners = 3;
  constexpr int kRounds = 30;
  std::vector<std::unique_ptr<Child>> processes;
  for (int i = 0; i < kOpeners; ++i) {
    processes.push_back(std::make_unique<Child>([&] {
      for (int round = 0; round < kRounds;) {
        const int wrong = read_and_commit(node.world(), directory, tuning);
        if (wrong == kBusy) continue;
        if (wrong != 0) return wrong;
        ++round;
      }
      return 0;
    }));
  }
  processes.push_back(std::make_unique<Child>([&] {
    for (int round = 0; round < kRounds; ++round)
      (void)compact(node.world(), directory, Workers::none, tuning.replica_wait);
    return 0;
  }));
  for (const auto& process : processes) EXPECT_EQ(process->end(), 0);
  expect_whole("2");
}

}  // namespace
}  // namespace torc::store
