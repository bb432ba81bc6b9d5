// Whose machine's a store of engine lmdb is, and how another one gets it.
#include "lib/store/mount/home.h"
#include "lib/base/sanitizer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <utility>

#include "lib/store/engine/engines.h"
#include "lib/store/lmdb/lmdb_transaction.h"
#include "lib/store/maintenance/adopt.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

const Whereabouts kMade{"aa", "one", 7, 70};

TEST(Judge, this_machine_is_at_home_whatever_it_is_called) {
  EXPECT_EQ(judge_home(kMade, kMade), Home::here);
  EXPECT_EQ(judge_home(kMade, {"aa", "renamed", 7, 70}), Home::here);
  EXPECT_EQ(judge_home(kMade, {"aa", "renamed", 7, 0}), Home::here);  // no births told here
}

TEST(Judge, another_machine_id_is_another_machine_whatever_it_is_called) {
  EXPECT_EQ(judge_home(kMade, {"bb", "one", 8, 70}), Home::other_machine);
  EXPECT_EQ(judge_home(kMade, {"bb", "one", 7, 71}), Home::other_machine);
  EXPECT_EQ(judge_home(kMade, {"bb", "one", 0, 0}), Home::other_machine);
  EXPECT_EQ(judge_home(kMade, {"bb", "two", 7, 70}), Home::other_machine);
  EXPECT_EQ(judge_home(kMade, {"bb", "two", 8, 80}), Home::other_machine);
}

// A node without a disk gets a new id at each boot; the image of a container has its own, or none.
TEST(Judge, the_same_name_in_the_very_directory_is_at_home_whatever_the_ids) {
  EXPECT_EQ(judge_home(kMade, {"bb", "one", 7, 70}), Home::here);
  EXPECT_EQ(judge_home(kMade, {"", "one", 7, 70}), Home::here);
  EXPECT_EQ(judge_home({"", "one", 7, 70}, kMade), Home::here);
}

TEST(Judge, another_directory_of_this_machine_is_a_copy_or_moved) {
  EXPECT_EQ(judge_home(kMade, {"aa", "one", 8, 70}), Home::moved);
  EXPECT_EQ(judge_home(kMade, {"aa", "one", 7, 71}), Home::moved);
}

TEST(Judge, an_equal_id_under_another_name_is_believed_in_the_very_directory_only) {
  EXPECT_EQ(judge_home(kMade, {"aa", "clone", 8, 70}), Home::unknown);
  EXPECT_EQ(judge_home(kMade, {"aa", "clone", 0, 0}), Home::unknown);
  EXPECT_EQ(judge_home({"aa", "one", 0, 0}, {"aa", "clone", 7, 70}), Home::unknown);
  EXPECT_EQ(judge_home({"aa", "one", 0, 0}, {"aa", "one", 0, 0}), Home::here);  // overlay
}

TEST(Judge, one_id_without_the_other_tells_nothing) {
  EXPECT_EQ(judge_home(kMade, {"", "one", 8, 70}), Home::unknown);
  EXPECT_EQ(judge_home(kMade, {"", "two", 7, 70}), Home::unknown);
  EXPECT_EQ(judge_home({"", "one", 0, 0}, kMade), Home::unknown);
}

TEST(Judge, without_any_id_the_name_decides) {
  const Whereabouts made{"", "one", 7, 70};
  EXPECT_EQ(judge_home(made, made), Home::here);
  EXPECT_EQ(judge_home(made, {"", "one", 8, 70}), Home::moved);
  EXPECT_EQ(judge_home(made, {"", "two", 7, 70}), Home::unknown);
}

TEST(MachineId, is_what_etc_says_or_else_dbus_and_is_not_shown) {
  const ScratchDirectory root;
  const std::string id = "0123456789abcdef0123456789abcdef";
  const auto write = [&](const char* file, const std::string& text) {
    fs::create_directories((root.path() / file).parent_path());
    std::ofstream(root.path() / file) << text;
  };
  EXPECT_EQ(machine_id(root.path()), "");
  write("var/lib/dbus/machine-id", id + "\n");
  const std::string by_dbus = machine_id(root.path());
  EXPECT_EQ(by_dbus.size(), 32U);
  EXPECT_NE(by_dbus, id);
  // As in images of containers, and of machines that were never started.
  for (const char* none : {"", "uninitialized\n", "00000000000000000000000000000000\n"}) {
    write("etc/machine-id", none);
    EXPECT_EQ(machine_id(root.path()), by_dbus) << none;
  }
  write("etc/machine-id", "ff" + id.substr(2) + "\n");
  EXPECT_EQ(machine_id(root.path()).size(), 32U);
  EXPECT_NE(machine_id(root.path()), by_dbus);
}

class AtHome : public ::testing::Test {
 protected:
  void SetUp() override {
    here.machine = std::string(32, 'a');
    auto made = Store::create(here.world(), directory, Engine::lmdb, quick(), put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
  }
  Result<std::unique_ptr<Store>> open(Node& node) {
    return Store::open(node.world(), directory, quick());
  }
  void copy_it() {
    fs::copy(directory, scratch.path() / "copy.torc", fs::copy_options::recursive);
    directory = scratch.path() / "copy.torc";
  }
  Error refusal(Node& node) {
    auto opened = open(node);
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Error{} : opened.error();
  }
  void expect_text(const Error& error, const std::vector<std::string>& words) {
    EXPECT_EQ(error.kind, ErrorKind::unsupported);
    for (const std::string& word : words)
      EXPECT_NE(error.text().find(word), std::string::npos) << word << " in " << error.text();
  }

  ScratchDirectory scratch;
  Node here{scratch.path(), "one"};
  Path directory = scratch.path() / "wf.torc";
};

TEST_F(AtHome, a_renamed_machine_opens_its_own_store) {
  here.host = "renamed";
  const auto opened = open(here);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  EXPECT_TRUE((*opened)->commit(1, put("b", "1")).ok());
}

TEST_F(AtHome, a_machine_that_got_another_id_or_has_none_now_opens_its_own_store) {
  for (const std::string& id : {std::string(32, 'b'), std::string()}) {
    here.machine = id;
    const auto opened = open(here);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(*adopt(here.world(), directory, no_check), Adoption::not_needed);
  }
}

TEST_F(AtHome, another_machine_of_the_same_name_is_refused_and_told_what_to_do) {
  copy_it();
  here.machine = std::string(32, 'b');
  expect_text(refusal(here), {directory.string(), "belongs to machine one", "this is one",
                              "another machine", "torc adopt " + directory.string()});
}

TEST_F(AtHome, what_is_not_known_is_told_by_its_reason) {
  copy_it();
  here.machine.clear();
  expect_text(refusal(here), {"is not known", "no machine id here", "torc adopt"});
  here.machine = std::string(32, 'a');
  here.host = "clone";
  expect_text(refusal(here), {"cloned machines", "torc adopt"});
}

TEST_F(AtHome, who_adopts_it_has_it_and_the_other_one_no_more) {
  Node other(scratch.path(), "two", 2);
  other.machine = std::string(32, 'b');
  const auto before = look_at_meta(here.world(), directory);
  std::string seen;
  const auto adopted = adopt(other.world(), directory, [&](const Reader& reader) -> Result<void> {
    seen = reader.get("a").value_or("(absent)");
    return {};
  });
  ASSERT_TRUE(adopted.ok()) << adopted.error().text();
  EXPECT_EQ(*adopted, Adoption::adopted);
  EXPECT_EQ(seen, "1");
  {
    const auto opened = open(other);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    EXPECT_EQ(value_of(**opened, "a"), "1");
    EXPECT_EQ((*opened)->identity().instance, before->identity.instance) << "it was only moved";
  }
  expect_text(refusal(here), {"belongs to machine two", "torc adopt"});
  EXPECT_EQ(*adopt(other.world(), directory, no_check), Adoption::not_needed);
}

TEST_F(AtHome, a_copy_that_is_adopted_gets_an_instance_of_its_own) {
  fs::copy(directory, scratch.path() / "copy.torc", fs::copy_options::recursive);
  Node other(scratch.path(), "two", 2);
  other.machine = std::string(32, 'b');
  ASSERT_TRUE(adopt(other.world(), scratch.path() / "copy.torc", no_check).ok());
  const auto meta = read_meta(other.world(), scratch.path() / "copy.torc");
  ASSERT_TRUE(meta.ok()) << meta.error().text();
  EXPECT_NE(meta->identity.instance, meta->identity.id);
  EXPECT_FALSE(meta->is_copy());
}

TEST_F(AtHome, it_is_not_adopted_where_somebody_may_work) {
  Node other(scratch.path(), "two", 2);
  other.machine = std::string(32, 'b');
  const auto refused = adopt(other.world(), directory, [](const Reader&) -> Result<void> {
    return Error{ErrorKind::busy, "worker 3 may live", {}};
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "worker 3 may live");
  expect_text(refusal(other), {"torc adopt"});
}

TEST_F(AtHome, it_is_not_adopted_while_anybody_has_it_open) {
  Node other(scratch.path(), "two", 2);
  other.machine = std::string(32, 'b');
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto opened = open(here);
    const char byte = opened.ok() ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  ::close(ready[1]);  // of a child that ends too early nothing is waited for
  char byte = 'n';
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  const auto refused = adopt(other.world(), directory, no_check);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  EXPECT_NE(refused.error().what.find("open in another process"), std::string::npos)
      << refused.error().what;
  ::kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(ready[0]);
  const auto adopted = adopt(other.world(), directory, no_check);
  EXPECT_TRUE(adopted.ok()) << adopted.error().text();
}

TEST_F(AtHome, it_is_not_opened_by_who_read_meta_before_another_adopted_it) {
  FaultyDisk disk;
  Node early(scratch.path(), "one", 3, &disk);
  early.machine = here.machine;
  Node other(scratch.path(), "two", 2);
  other.machine = std::string(32, 'b');
  bool done = false;
  disk.after = [&](const std::string& op, const Path& path) {
    if (op != "open_read" || path.filename() != "META" || std::exchange(done, true)) return;
    EXPECT_TRUE(adopt(other.world(), directory, no_check).ok());
  };
  expect_text(refusal(early), {"belongs to machine two", "torc adopt"});
  EXPECT_TRUE(done);
  EXPECT_TRUE(open(other).ok());
}

TEST_F(AtHome, nobody_opens_it_while_it_is_adopted_and_a_commit_meanwhile_is_found) {
  Node other(scratch.path(), "two", 2);
  other.machine = std::string(32, 'b');
  const auto refused = adopt(other.world(), directory, [&](const Reader&) -> Result<void> {
    const auto early = OpenLock::take(directory, "opening it", std::chrono::nanoseconds(0));
    EXPECT_FALSE(early.ok());
    // As a machine would that keeps to no lock of this one.
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    EXPECT_EQ(mdb_env_create(&env), 0);
    EXPECT_EQ(mdb_env_open(env, directory.c_str(), MDB_NOLOCK, 0666), 0);
    EXPECT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
    MDB_dbi dbi = 0;
    EXPECT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
    std::string text = "z";
    MDB_val value{text.size(), text.data()};
    EXPECT_EQ(mdb_put(txn, dbi, &value, &value, 0), 0);
    EXPECT_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    return {};
  });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  EXPECT_NE(refused.error().what.find("committed"), std::string::npos) << refused.error().what;
  expect_text(refusal(other), {"torc adopt"});
}

// Batch systems set it; the map that is recorded in the file is far larger.
TEST_F(AtHome, it_is_adopted_under_a_limit_of_memory) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need memory of their own";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Node other(scratch.path(), "two", 2);
    other.machine = std::string(32, 'b');
    const rlimit least{4'000'000'000, 4'000'000'000};
    if (::setrlimit(RLIMIT_AS, &least) != 0) ::_exit(2);
    const auto adopted = adopt(other.world(), directory, no_check);
    if (!adopted.ok()) std::fprintf(stderr, "%s\n", adopted.error().text().c_str());
    ::_exit(adopted.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(AnyHost, opens_a_store_of_engine_journal_whatever_its_machine_id) {
  const ScratchDirectory scratch;
  Node here(scratch.path(), "one");
  here.machine = std::string(32, 'a');
  const Path directory = scratch.path() / "wf.torc";
  ASSERT_TRUE(Store::create(here.world(), directory, Engine::journal, quick(), put("a", "1")).ok());
  Node other(scratch.path(), "two", 2);
  other.machine = std::string(32, 'b');
  EXPECT_TRUE(Store::open(other.world(), directory, quick()).ok());
  EXPECT_EQ(*adopt(other.world(), directory, no_check), Adoption::of_all);
}

}  // namespace
}  // namespace torc::store
