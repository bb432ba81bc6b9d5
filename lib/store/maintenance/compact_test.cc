#include "lib/store/maintenance/compact.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "lib/base/sanitizer.h"
#include "lib/store/disk/counting_disk.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class Compact : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    auto made = Store::create(node.world(), directory, GetParam(), quick(), put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    store = std::move(*made);
    const std::string value(3000, 'v');
    for (std::uint64_t i = 0; i < 100; ++i)
      ASSERT_TRUE(store->commit(1, put(numbered("k", i), value)).ok());
    for (std::uint64_t i = 0; i < 100; ++i) {
      const auto erased = store->commit(1, [&](Transaction& tx) -> Result<void> {
        tx.erase(numbered("k", i));
        return {};
      });
      ASSERT_TRUE(erased.ok());
    }
  }
  StoreSize size() {
    const auto now = size_of_state(node.world(), directory);
    EXPECT_TRUE(now.ok());
    return now.ok() ? *now : StoreSize{};
  }
  ScratchDirectory scratch;
  Node node{scratch.path()};
  Path directory = scratch.path() / "wf.torc";
  std::unique_ptr<Store> store;
};

INSTANTIATE_TEST_SUITE_P(Store, Compact, ::testing::Values(Engine::lmdb, Engine::journal),
                         [](const auto& engine) {
                           return engine.param == Engine::lmdb ? "lmdb" : "journal";
                         });

TEST_P(Compact, makes_the_store_smaller_and_changes_nothing_in_it) {
  store.reset();
  const StoreSize before = size();
  // Two snapshots must cover a commit before it goes.
  ASSERT_TRUE(compact(node.world(), directory, Workers::none).ok());
  store = *Store::open(node.world(), directory, quick());
  ASSERT_TRUE(store->commit(1, put("b", "2")).ok());
  store.reset();
  const auto done = compact(node.world(), directory, Workers::none);
  ASSERT_TRUE(done.ok()) << done.error().text();
  const StoreSize after = size();
  EXPECT_LT(after.bytes.value, before.bytes.value / 2);
  const auto verified = verify(node.world(), directory, no_check);
  EXPECT_TRUE(verified.ok()) << verified.error().text();
  store = *Store::open(node.world(), directory, quick());
  EXPECT_EQ(value_of(*store, "a"), "1");
  EXPECT_EQ(value_of(*store, "b"), "2");
  EXPECT_EQ(store->commit(1, put("c", "3"))->sequence, 203U);
}

// Another process that opened the store and waits until `until` is closed.
pid_t open_elsewhere(const World& world, const Path& directory, int opened, int until) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto store = Store::open(world, directory, quick());
  char byte = store.ok() ? 'y' : 'n';
  if (::write(opened, &byte, 1) == 1) (void)!::read(until, &byte, 1);
  ::_exit(0);
}

TEST_P(Compact, of_lmdb_is_refused_while_another_process_has_it_open) {
  if (GetParam() == Engine::journal) return;
  store.reset();
  int opened[2];
  int until[2];
  ASSERT_EQ(::pipe(opened) + ::pipe2(until, O_CLOEXEC), 0);
  const pid_t child = open_elsewhere(node.world(), directory, opened[1], until[0]);
  char byte = 0;
  ASSERT_EQ(::read(opened[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const auto refused = compact(node.world(), directory, Workers::none);
  EXPECT_FALSE(refused.ok());
  if (!refused.ok()) {
    EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  }
  ASSERT_EQ(::write(until[1], &byte, 1), 1);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(compact(node.world(), directory, Workers::none).ok());
  for (const int fd : {opened[0], opened[1], until[0], until[1]}) ::close(fd);
}

TEST_P(Compact, of_lmdb_goes_under_a_limit_of_memory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need memory of their own";
  if (GetParam() == Engine::journal) return;
  store.reset();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit least{4'000'000'000, 4'000'000'000};  // the recorded map is far larger
    if (::setrlimit(RLIMIT_AS, &least) != 0) ::_exit(2);
    const auto done = compact(node.world(), directory, Workers::none);
    if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().text().c_str());
    ::_exit(done.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  store = *Store::open(node.world(), directory, quick());
  EXPECT_TRUE(store->commit(1, put("big", std::string(8 << 20, 'x'))).ok()) << "more than the map";
}

TEST_P(Compact, of_lmdb_by_root_leaves_the_file_to_its_owner) {
  if (GetParam() == Engine::journal) return;
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  store.reset();
  const Path data = directory / "data.mdb";
  ASSERT_EQ(::chown(directory.c_str(), 1234, 2345), 0);
  ASSERT_EQ(::chown(data.c_str(), 1234, 2345) + ::chmod(data.c_str(), 0660), 0);
  ASSERT_TRUE(compact(node.world(), directory, Workers::none).ok());
  struct stat st {};
  ASSERT_EQ(::stat(data.c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, 1234U);
  EXPECT_EQ(st.st_gid, 2345U);
  EXPECT_EQ(st.st_mode & 07777, 0660U);
}

TEST_P(Compact, of_a_journal_under_workers_keeps_what_they_may_still_read) {
  if (GetParam() == Engine::lmdb) return;
  const StoreSize before = size();
  ASSERT_TRUE(compact(node.world(), directory, Workers::may_live).ok());
  ASSERT_TRUE(store->commit(1, put("b", "2")).ok());
  ASSERT_TRUE(compact(node.world(), directory, Workers::may_live).ok());
  EXPECT_GE(size().files, before.files);
  EXPECT_EQ(value_of(*store, "b"), "2");
}

}  // namespace
}  // namespace torc::store
