// What processes of one node do to each other: the gate, stuck and dead holders, replicas that
// cannot be used.
#include "lib/store/replica/replica.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "lib/store/journal/journal_store.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

// A process that enters the gate, says so, and then stays there until it is killed, or dies at
// once.
class Holder {
 public:
  enum class Then : std::uint8_t { stay, die };
  Holder(const Path& gate, Then then) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      SystemClock clock;
      auto opened = Gate::open(gate);
      const bool in = opened.ok() && (*opened)->enter(clock, std::chrono::seconds(1)).ok();
      const char byte = in ? 'y' : 'n';
      if (::write(ready[1], &byte, 1) != 1 || then == Then::die) ::_exit(0);
      for (;;) ::pause();
    }
    char byte = 'n';
    entered_ = ::read(ready[0], &byte, 1) == 1 && byte == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
    if (then == Then::die) end();
  }
  ~Holder() { end(); }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] bool entered() const { return entered_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool entered_ = false;
};

TEST(Gate, of_a_holder_that_died_goes_to_the_next) {
  ScratchDirectory scratch;
  const Path file = scratch.path() / "gate";
  Holder holder(file, Holder::Then::die);
  ASSERT_TRUE(holder.entered());
  SystemClock clock;
  auto gate = Gate::open(file);
  ASSERT_TRUE(gate.ok());
  ASSERT_TRUE((*gate)->enter(clock, std::chrono::seconds(10)).ok());
  (*gate)->leave();
  ASSERT_TRUE((*gate)->enter(clock, std::chrono::seconds(10)).ok());
  (*gate)->leave();
}

TEST(Gate, names_a_holder_that_is_stopped) {
  ScratchDirectory scratch;
  const Path file = scratch.path() / "gate";
  Holder holder(file, Holder::Then::stay);
  ASSERT_TRUE(holder.entered());
  holder.stop();
  SystemClock clock;
  auto gate = Gate::open(file);
  ASSERT_TRUE(gate.ok());
  const auto entered = (*gate)->enter(clock, std::chrono::milliseconds(30));
  ASSERT_FALSE(entered.ok());
  EXPECT_EQ(entered.error().kind, ErrorKind::busy);
  EXPECT_NE(entered.error().what.find("process " + std::to_string(holder.pid())),
            std::string::npos);
  EXPECT_NE(entered.error().what.find("stopped"), std::string::npos) << entered.error().what;
}

TEST(Gate, refuses_a_file_that_is_none) {
  ScratchDirectory scratch;
  const Path file = scratch.path() / "gate";
  PosixDisk disk;
  ASSERT_TRUE(write_file(disk, file, "something else", Durable::no).ok());
  auto gate = Gate::open(file);
  ASSERT_FALSE(gate.ok());
  EXPECT_EQ(gate.error().kind, ErrorKind::corrupt);
}

TEST(Gate, of_which_a_time_is_before_the_boot_is_refused) {
  ScratchDirectory scratch;
  const Path file = scratch.path() / "gate";
  for (std::atomic<std::int64_t> Gate::Shared::*time :
       {&Gate::Shared::held_since, &Gate::Shared::confirmed, &Gate::Shared::snapshot_begun,
        &Gate::Shared::seen_at}) {
    {
      const auto gate = Gate::open(file);
      ASSERT_TRUE(gate.ok());
      (*gate)->shared().*time = INT64_MIN;
    }
    const auto again = Gate::open(file);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().kind, ErrorKind::corrupt);
    std::filesystem::remove(file);
  }
  (*Gate::open(file))->shared().snapshot_notes[3] = {-1, 7};
  EXPECT_FALSE(Gate::open(file).ok());
}

class OneNode : public ::testing::Test {
 protected:
  std::unique_ptr<Store> make(Engine engine) {
    auto made = Store::create(node.world(), directory, engine, quick(), put("a", "1"));
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
    return made.ok() ? std::move(*made) : nullptr;
  }
  static Path replica_of(Store& store) {
    return dynamic_cast<JournalStore&>(store).replica_directory();
  }
  Path user_directory() { return node.replicas / ("torc-" + std::to_string(::geteuid())); }

  ScratchDirectory scratch;
  Node node{scratch.path()};
  Path directory = scratch.path() / "wf.torc";
};

TEST_F(OneNode, a_stopped_process_stops_no_other_of_its_node) {
  auto store = make(Engine::journal);
  const Path before = replica_of(*store);
  Holder holder(before / "gate", Holder::Then::stay);
  ASSERT_TRUE(holder.entered());
  holder.stop();
  const auto done = store->commit(1, put("b", "2"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(replica_of(*store).string(), before.string() + "-g1");
  // Who opens now meets the stuck one first and the new one then.
  auto other = Store::open(node.world(), directory, quick());
  ASSERT_TRUE(other.ok()) << other.error().text();
  ASSERT_TRUE((*other)->commit(1, put("c", "3")).ok());
  EXPECT_EQ(replica_of(**other), replica_of(*store));
  EXPECT_EQ(value_of(**other, "b"), "2");
  EXPECT_EQ(value_of(*store, "c", Freshness::cached), "3");
}

TEST_F(OneNode, engine_lmdb_has_nowhere_to_go_and_says_who_is_in_the_way) {
  auto store = make(Engine::lmdb);
  Path gate;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("gate-")) gate = entry.path();
  }
  Holder holder(gate, Holder::Then::stay);
  ASSERT_TRUE(holder.entered());
  holder.stop();
  const auto done = store->commit(1, put("b", "2"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::busy);
  EXPECT_NE(done.error().text().find("kill -CONT " + std::to_string(holder.pid())),
            std::string::npos);
  EXPECT_EQ(value_of(*store, "a"), "1") << "readers are not stopped";
  holder.end();
  EXPECT_TRUE(store->commit(1, put("b", "2")).ok());
}

TEST_F(OneNode, processes_of_a_node_share_one_replica) {
  auto store = make(Engine::journal);
  auto other = Store::open(node.world(), directory, quick());
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->commit(1, put("b", "2")).ok());
  EXPECT_EQ(value_of(*store, "b", Freshness::cached), "2");
}

TEST_F(OneNode, a_replica_directory_that_is_open_to_others_is_left_for_another) {
  make(Engine::journal).reset();
  ::chmod(user_directory().c_str(), 0755);
  auto opened = Store::open(node.world(), directory, quick());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(value_of(**opened, "a"), "1");
  EXPECT_NE(replica_of(**opened).parent_path(), user_directory());
}

TEST_F(OneNode, a_replica_directory_that_is_a_link_is_left_for_another) {
  fs::create_directory(scratch.path() / "trap");
  ::chmod((scratch.path() / "trap").c_str(), 0700);
  fs::create_directory_symlink(scratch.path() / "trap", user_directory());
  EXPECT_NE(replica_of(*make(Engine::journal)).parent_path(), user_directory());
  EXPECT_TRUE(fs::is_empty(scratch.path() / "trap"));
}

TEST_F(OneNode, the_next_root_is_taken_when_one_cannot_be_used) {
  World world = node.world();
  world.replica_roots.insert(world.replica_roots.begin(), scratch.path() / "missing");
  auto made = Store::create(world, directory, Engine::journal, quick(), put("a", "1"));
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(value_of(**made, "a"), "1");
  world.replica_roots = {scratch.path() / "missing"};
  auto opened = Store::open(world, directory, quick());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().remedy.find("TMPDIR"), std::string::npos);
}

TEST_F(OneNode, a_replica_of_an_earlier_boot_is_removed) {
  make(Engine::journal).reset();
  World world = node.world();
  world.boot_id = "another-boot";
  auto opened = Store::open(world, directory, quick());
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(user_directory()), fs::directory_iterator()), 1);
  EXPECT_EQ(value_of(**opened, "a"), "1");
}

// Of an unknown boot all others look old, also those of processes that live.
TEST_F(OneNode, where_the_boot_is_not_known_nothing_of_another_is_removed) {
  for (const Engine engine : {Engine::journal, Engine::lmdb}) {
    const auto held = make(engine);
    const auto files = [&] {
      std::set<Path> out;
      for (const Path& below : {user_directory(), directory}) {
        if (!fs::exists(below)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(below)) out.insert(entry.path());
      }
      return out;
    };
    const std::set<Path> before = files();
    World world = node.world();
    world.boot_id.clear();
    const auto opened = Store::open(world, directory, quick());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(value_of(**opened, "a"), "1");
    const std::set<Path> after = files();
    EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()))
        << (engine == Engine::lmdb ? "lmdb" : "journal");
    fs::remove_all(directory);
  }
}

TEST_F(OneNode, a_damaged_replica_is_given_up_for_a_new_one) {
  auto store = make(Engine::journal);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(store->commit(1, put("k", std::string(2000, 'x'))).ok());
  const Path data = replica_of(*store) / "data.mdb";
  store.reset();
  {
    std::fstream file(data, std::ios::in | std::ios::out | std::ios::binary);
    file << std::string(8192, '\x55');  // both heads of LMDB
  }
  auto opened = Store::open(node.world(), directory, quick());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_EQ(value_of(**opened, "a"), "1");
}

// Real processes at the same time: four of one node, or four hosts, each adding to one counter.
void count_in_processes(Node& maker, const Path& scratch, const Path& directory, Engine engine,
                        bool one_node) {
  constexpr int kProcesses = 4;
  constexpr int kEach = 60;
  {
    auto made = Store::create(maker.world(), directory, engine, quick(), put("n", "0"));
    ASSERT_TRUE(made.ok()) << made.error().text();
  }
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t pid = ::fork();
    if (pid != 0) {
      children.push_back(pid);
      continue;
    }
    Node node(scratch, one_node ? maker.host : std::string("h").append(std::to_string(p)),
              100 + static_cast<std::uint64_t>(p));
    Tuning tuning = quick();
    tuning.replica_wait = std::chrono::seconds(20);
    tuning.checkpoint_commits = 20;
    tuning.retention = std::chrono::nanoseconds(0);
    auto opened = Store::open(node.world(), directory, tuning);
    bool good = opened.ok();
    for (int i = 0; i < kEach && good; ++i) {
      good = (*opened)
                 ->commit(1,
                          [](Transaction& tx) -> Result<void> {
                            tx.put("n", std::to_string(std::stoi(std::string(*tx.get("n"))) + 1));
                            return {};
                          })
                 .ok() &&
             (*opened)->maintain().ok();
    }
    ::_exit(good ? 0 : 1);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  auto opened = Store::open(maker.world(), directory, quick());
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(value_of(**opened, "n"), std::to_string(kProcesses * kEach));
  const auto verified = verify(maker.world(), directory, no_check);
  EXPECT_TRUE(verified.ok()) << verified.error().text();
}

TEST_F(OneNode, processes_that_count_at_once_lose_nothing_with_lmdb) {
  count_in_processes(node, scratch.path(), directory, Engine::lmdb, true);
}
TEST_F(OneNode, processes_that_count_at_once_lose_nothing_with_the_journal) {
  count_in_processes(node, scratch.path(), directory, Engine::journal, true);
}
TEST_F(OneNode, hosts_that_count_at_once_lose_nothing) {
  count_in_processes(node, scratch.path(), directory, Engine::journal, false);
}

TEST_F(OneNode, environments_are_opened_once_in_a_process) {
  auto store = make(Engine::lmdb);
  auto one = Environment::open(directory, Durable::no);
  auto two = Environment::open(directory / ".", Durable::no);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(*one, *two);
}

}  // namespace
}  // namespace torc::store
