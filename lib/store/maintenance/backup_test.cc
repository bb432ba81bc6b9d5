#include "lib/store/maintenance/backup.h"

#include <fstream>
#include <set>

#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class Backup : public Hosts {
 protected:
  Result<BackedUp> take(std::optional<Engine> engine = std::nullopt) {
    return backup(second.world(), directory, {copy, engine});
  }
  std::unique_ptr<Store> open_copy(Node& node) {
    auto opened = Store::open(node.world(), copy, tuning);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().text());
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  void expect_verified_copy() {
    Node inspector(scratch.path(), "second", 98);  // engine lmdb opens on its own host only
    const auto verified = verify(inspector.world(), copy, no_check);
    EXPECT_TRUE(verified.ok()) << verified.error().text();
  }
  Path copy = scratch.path() / "copy.torc";
};

TEST_F(Backup, is_a_store_with_the_same_state_and_an_id_of_its_own) {
  work(*a, 70);
  const auto made = take();
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->sequence, sequence_of(*a));
  EXPECT_NE(made->identity.id, a->identity().id);
  const auto store = open_copy(second);
  EXPECT_EQ(value_of(*store, "a"), "1");
  EXPECT_EQ(value_of(*store, "w9"), value_of(*a, "w9"));
  expect_verified_copy();
}

TEST_F(Backup, and_its_original_go_on_without_knowing_of_each_other) {
  work(*a, 10);
  ASSERT_TRUE(take().ok());
  const auto store = open_copy(second);
  ASSERT_TRUE(store->commit(1, put("a", "in the copy")).ok());
  ASSERT_TRUE(a->commit(1, put("a", "in the original")).ok());
  EXPECT_EQ(value_of(*store, "a"), "in the copy");
  EXPECT_EQ(value_of(*b, "a"), "in the original");
  expect_verified();
  expect_verified_copy();
}

TEST_F(Backup, goes_on_with_higher_numbers_than_the_original_used) {
  work(*a, 70);
  ASSERT_TRUE(take().ok());
  const auto done = open_copy(second)->commit(1, put("a", "2"));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->sequence, sequence_of(*a) + 1);
}

TEST_F(Backup, may_have_the_other_engine) {
  work(*a, 30);
  ASSERT_TRUE(take(Engine::lmdb).ok());
  {
    const auto store = open_copy(second);
    EXPECT_EQ(store->identity().engine, Engine::lmdb);
    EXPECT_EQ(value_of(*store, "a"), "1");
    EXPECT_EQ(store->commit(1, put("a", "2"))->sequence, sequence_of(*a) + 1);
  }
  expect_verified_copy();
  directory = copy;
  copy = scratch.path() / "back.torc";
  const auto made = take(Engine::journal);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(value_of(*open_copy(second), "a"), "2");
  expect_verified_copy();
}

TEST_F(Backup, contains_the_callers_files_and_no_output_of_jobs) {
  std::ofstream(directory / "spec.yaml") << "name: wf";
  fs::create_directories(directory / "slurm");
  std::ofstream(directory / "slurm/x.sbatch") << "#!";
  fs::create_directories(directory / "logs/jobs");
  std::ofstream(directory / "logs/README") << "read me";
  std::ofstream(directory / "logs/jobs/1.out") << "output";
  ASSERT_TRUE(take().ok());
  EXPECT_TRUE(fs::exists(copy / "spec.yaml"));
  EXPECT_TRUE(fs::exists(copy / "slurm/x.sbatch"));
  EXPECT_TRUE(fs::exists(copy / "logs/README"));
  EXPECT_FALSE(fs::exists(copy / "logs/jobs"));
}

TEST_F(Backup, onto_something_that_is_there_is_refused) {
  fs::create_directory(copy);
  const auto made = take();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::exists);
}

TEST_F(Backup, that_fails_leaves_nothing_behind) {
  work(*a, 10);
  second.disk = &faulty;
  for (int failing = 0, made = 1; made > failing; failing += 3) {
    made = 0;
    faulty.oracle = [&](const std::string&, const Path&) {
      return made++ == failing ? refuse(ENOSPC) : proceed();
    };
    const auto done = take();
    faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(scratch.path()))
      names.insert(entry.path().filename());
    names.erase("wf.torc");
    std::erase_if(names, [](const std::string& n) { return n.starts_with("replicas-"); });
    if (done.ok() || names.count("copy.torc") > 0) {
      expect_verified_copy();
      fs::remove_all(copy);
      names.erase("copy.torc");
    }
    EXPECT_TRUE(names.empty()) << failing << ": " << *names.begin();
  }
}

}  // namespace
}  // namespace torc::store
