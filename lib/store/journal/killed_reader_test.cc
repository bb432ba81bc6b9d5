// A reader that was killed keeps the pages of its snapshot until somebody looks whether it lives.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/store/journal/journal_store.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace testing;

// Reads for as long as it lives.
class ReadingProcess {
 public:
  ReadingProcess(const World& world, const Path& directory) {
    int ready[2];
    EXPECT_EQ(::pipe2(ready, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const auto store = Store::open(world, directory, quick());
      if (!store.ok()) ::_exit(1);
      (void)(*store)->view(Freshness::cached, [&](const Reader&) -> Result<void> {
        if (::write(ready[1], "y", 1) != 1) ::_exit(1);
        for (;;) ::pause();
      });
      ::_exit(1);
    }
    ::close(ready[1]);
    char byte = 'n';
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
  }
  ~ReadingProcess() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
};

class KilledReader : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    auto made = Store::create(node.world(), directory, GetParam(), quick(), put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
  }
  static std::uintmax_t size_of_environment(const Store& store) {
    const auto* journal = dynamic_cast<const JournalStore*>(&store);
    const Path where = journal != nullptr ? journal->replica_directory() : store.directory();
    return std::filesystem::file_size(where / "data.mdb");
  }
  // As a worker does: time passes, and upkeep follows every commit.
  void work(Store& store, int commits) {
    const std::string value(20'000, 'v');
    for (int i = 0; i < commits; ++i) {
      const auto done = store.commit(1, put("k", value));
      ASSERT_TRUE(done.ok()) << done.error().text();
      node.clock.advance(std::chrono::milliseconds(100));
      const auto maintained = store.maintain();
      ASSERT_TRUE(maintained.ok()) << maintained.error().text();
    }
  }
  ScratchDirectory scratch;
  Node node{scratch.path()};
  Path directory = scratch.path() / "wf.torc";
};

INSTANTIATE_TEST_SUITE_P(Store, KilledReader, ::testing::Values(Engine::lmdb, Engine::journal),
                         [](const auto& engine) {
                           return engine.param == Engine::lmdb ? "lmdb" : "journal";
                         });

TEST_P(KilledReader, does_not_make_the_file_grow_under_a_writer_that_goes_on) {
  ReadingProcess reader(node.world(), directory);
  auto opened = Store::open(node.world(), directory, quick());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  Store& store = **opened;
  work(store, 50);
  const std::uintmax_t while_it_lived = size_of_environment(store);
  reader.kill();
  work(store, 400);
  EXPECT_LT(size_of_environment(store), 2 * while_it_lived);
  EXPECT_EQ(value_of(store, "a"), "1");
}

}  // namespace
}  // namespace torc::store
