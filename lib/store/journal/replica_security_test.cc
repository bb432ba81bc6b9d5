// A replica lies in a directory that everybody may write to. Whoever prepares its place beforehand
// gets no data, and the store is used all the same, with a replica elsewhere. As root
// these tests are two real users, by ids that need no entry in passwd; otherwise one user plays
// both, as far as a directory can be told to be another's by its number alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "lib/store/engine/meta.h"
#include "lib/store/journal/journal_store.h"
#include "lib/store/replica/replica.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

constexpr uid_t kVictim = 60001;
constexpr uid_t kAttacker = 65534;  // nobody

// Asked once: the children that become somebody are nobody any more.
bool may_be_anybody() {
  static const bool is_root = ::geteuid() == 0;
  return is_root;
}

// In a child process, as `user` where that can be.
bool succeeds_as(uid_t user, const std::function<bool()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::umask(0);
    if (may_be_anybody() && (::setresgid(user, user, user) != 0 || ::setresuid(user, user, user)))
      ::_exit(9);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class SharedTmp : public ::testing::Test {
 protected:
  void SetUp() override {
    (void)victim();
    fs::permissions(scratch_.path(), fs::perms(0755));
    for (const Path& directory : {tmp_, own_, stores_}) fs::create_directory(directory);
    fs::permissions(tmp_, fs::perms(01777));  // as /tmp is
    fs::permissions(own_, fs::perms(01777));
    fs::permissions(stores_, fs::perms(0777));
  }

  // The name that the victim's replicas will have.
  [[nodiscard]] Path place() const { return tmp_ / ("torc-" + std::to_string(victim())); }
  [[nodiscard]] static uid_t victim() {
    static const uid_t user = may_be_anybody() ? kVictim : ::geteuid();
    return user;
  }

  World world(Node& node, std::vector<Path> roots) const {
    const World w = node.world();
    return {w.disk,
            w.clock,
            w.entropy,
            w.host,
            w.boot_id,
            w.pid_namespace,
            static_cast<std::uint32_t>(victim()),
            std::move(roots)};
  }

  // The victim makes a store and works beside what was prepared, as do all that come later.
  void expect_another_place_and_no_data() {
    const auto replica_of = [&](Store& store) {
      return dynamic_cast<JournalStore&>(store).replica_directory();
    };
    EXPECT_TRUE(succeeds_as(kVictim, [&] {
      Node node(own_, "victim", static_cast<std::uint64_t>(::getpid()));  // a store id of its own
      const World w = world(node, {tmp_, own_});
      auto made =
          Store::create(w, stores_ / "a.torc", Engine::journal, quick(), put("secret", "treasure"));
      auto later = Store::open(w, stores_ / "a.torc", quick());
      if (!made.ok() || !later.ok() || value_of(**later, "secret") != "treasure") return false;
      const Path mine = replica_of(**made).parent_path();
      struct stat st {};
      return replica_of(**made) == replica_of(**later) && mine.parent_path() == tmp_ &&
             mine.filename().string().starts_with(place().filename().string() + "-") &&
             ::lstat(mine.c_str(), &st) == 0 && st.st_uid == victim() &&
             (st.st_mode & 07777) == 0700;
    })) << "not used, or elsewhere than expected";
    fs::remove_all(stores_ / "a.torc");
    for (const auto& entry : fs::directory_iterator(tmp_)) {
      if (entry.path() != place()) fs::remove_all(entry.path());
    }
  }

  // The victim makes a store and works: refused where only the prepared place is left, well where
  // there is another.
  void expect_refusal_and_no_data(const std::string& complaint) {
    EXPECT_TRUE(succeeds_as(kVictim, [&] {
      Node node(own_, "victim", static_cast<std::uint64_t>(::getpid()));  // a store id of its own
      auto made = Store::create(world(node, {tmp_}), stores_ / "a.torc", Engine::journal, quick(),
                                put("secret", "treasure"));
      if (made.ok() || made.error().kind != ErrorKind::permission) return false;
      return made.error().text().find(complaint) != std::string::npos &&
             made.error().text().find("TMPDIR") != std::string::npos;
    })) << "not refused, or without saying why";
    EXPECT_TRUE(succeeds_as(kVictim, [&] {
      Node node(own_, "victim", static_cast<std::uint64_t>(::getpid()));  // a store id of its own
      auto made = Store::create(world(node, {tmp_, own_}), stores_ / "b.torc", Engine::journal,
                                quick(), put("secret", "treasure"));
      return made.ok() && value_of(**made, "secret") == "treasure" &&
             dynamic_cast<JournalStore&>(**made).replica_directory().string().starts_with(
                 own_.string() + "/");
    })) << "not used with a replica elsewhere";
  }

  ScratchDirectory scratch_;
  Path tmp_ = scratch_.path() / "tmp";
  Path own_ = scratch_.path() / "own";
  Path stores_ = scratch_.path() / "stores";
};

TEST_F(SharedTmp, a_replica_is_private_to_its_user) {
  EXPECT_TRUE(succeeds_as(kVictim, [&] {                                // whose umask is 0
    Node node(own_, "victim", static_cast<std::uint64_t>(::getpid()));  // a store id of its own
    return Store::create(world(node, {tmp_}), stores_ / "a.torc", Engine::journal, quick(),
                         put("secret", "treasure"))
        .ok();
  }));
  int directories = 0;
  for (const Path& at : {place(), fs::directory_iterator(place())->path()}) {
    struct stat st {};
    ASSERT_EQ(::lstat(at.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 07777, 0700U) << at;
    EXPECT_EQ(st.st_uid, victim()) << at;
    ++directories;
  }
  EXPECT_EQ(directories, 2);
  if (may_be_anybody()) {
    EXPECT_FALSE(succeeds_as(kAttacker, [&] { return ::open(place().c_str(), O_RDONLY) >= 0; }));
  }
}

TEST_F(SharedTmp, a_directory_that_somebody_else_made_gets_nothing) {
  if (!may_be_anybody()) GTEST_SKIP() << "needs root, to be two users; see the next test";
  for (const mode_t mode : {0700U, 0777U}) {
    fs::remove_all(place());
    ASSERT_TRUE(succeeds_as(kAttacker, [&] { return ::mkdir(place().c_str(), mode) == 0; }));
    expect_another_place_and_no_data();
    EXPECT_TRUE(fs::is_empty(place()));
  }
}

// Whom no mode keeps out: only the owner tells him that it is not his.
TEST_F(SharedTmp, a_directory_that_somebody_else_made_gets_nothing_of_root_either) {
  const uid_t user = may_be_anybody() ? 0 : 4000000000U;
  const Path prepared = tmp_ / ("torc-" + std::to_string(user));
  ASSERT_TRUE(succeeds_as(kAttacker, [&] { return ::mkdir(prepared.c_str(), 0700) == 0; }));
  Node node(own_, "victim", static_cast<std::uint64_t>(::getpid()));  // a store id of its own
  const World w = node.world();
  const World mine{w.disk, w.clock, w.entropy, w.host, w.boot_id, w.pid_namespace, user, {tmp_}};
  auto made = Store::create(mine, stores_ / "a.torc", Engine::journal, quick(), nothing);
  EXPECT_EQ(made.ok(), may_be_anybody()) << "a user whom this one is not can make none";
  EXPECT_TRUE(fs::is_empty(prepared));
}

TEST_F(SharedTmp, a_symbolic_link_is_not_followed) {
  const Path trap = scratch_.path() / "trap";
  fs::create_directory(trap);
  // The worst: it leads to a private directory of the victim himself.
  ASSERT_EQ(::chown(trap.c_str(), victim(), static_cast<gid_t>(-1)), 0);
  fs::permissions(trap, fs::perms(0700));
  ASSERT_TRUE(
      succeeds_as(kAttacker, [&] { return ::symlink(trap.c_str(), place().c_str()) == 0; }));
  expect_another_place_and_no_data();
  EXPECT_TRUE(fs::is_empty(trap));
}

TEST_F(SharedTmp, a_file_in_its_place_is_passed_over) {
  ASSERT_TRUE(succeeds_as(
      kAttacker, [&] { return ::open(place().c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666) >= 0; }));
  expect_another_place_and_no_data();
  EXPECT_EQ(fs::file_size(place()), 0U);
}

TEST_F(SharedTmp, a_fifo_in_its_place_is_passed_over_and_holds_nobody_up) {
  ASSERT_TRUE(succeeds_as(kAttacker, [&] { return ::mkfifo(place().c_str(), 0666) == 0; }));
  expect_another_place_and_no_data();
}

TEST_F(SharedTmp, a_directory_of_our_own_that_is_open_to_others_gets_nothing) {
  for (const mode_t mode : {0777U, 0770U, 0711U, 0740U}) {
    ASSERT_TRUE(succeeds_as(kVictim, [&] {
      return ::mkdir(place().c_str(), mode) == 0 && ::chmod(place().c_str(), mode) == 0;
    }));
    expect_another_place_and_no_data();
    EXPECT_TRUE(fs::is_empty(place()));
    fs::remove_all(place());
  }
}

// What repair asks of what this node has seen.
TEST_F(SharedTmp, a_copy_beside_a_prepared_place_is_found_again) {
  ASSERT_TRUE(succeeds_as(
      kAttacker, [&] { return ::open(place().c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666) >= 0; }));
  EXPECT_TRUE(succeeds_as(kVictim, [&] {
    Node node(own_, "victim", static_cast<std::uint64_t>(::getpid()));
    const World w = world(node, {tmp_});
    auto made =
        Store::create(w, stores_ / "a.torc", Engine::journal, quick(), put("secret", "treasure"));
    if (!made.ok()) return false;
    const Path copy = dynamic_cast<JournalStore&>(**made).replica_directory();
    const Result<Meta> meta = read_meta(w, stores_ / "a.torc");
    int seen = 0;
    visit_replicas(
        w, (*made)->identity().id, meta->place.key,
        [&](const Path& at, const auto&) { seen += at == copy ? 1 : 100; },
        [&](const Path&, const Error&) { seen += 1000; });
    if (seen != 1) return false;
    // What cannot be looked at is told, as it may have what was lost elsewhere.
    int unusable = 0;
    const auto look = [&] {
      unusable = 0;
      visit_replicas(
          w, (*made)->identity().id, meta->place.key, [](const Path&, const auto&) {},
          [&](const Path&, const Error&) { ++unusable; });
    };
    fs::permissions(copy.parent_path(), fs::perms(0755));
    look();
    if (unusable != 1) return false;
    fs::permissions(copy.parent_path(), fs::perms(0700));
    struct rlimit most {};
    ::getrlimit(RLIMIT_NOFILE, &most);
    const rlim_t before = std::exchange(most.rlim_cur, 3);
    ::setrlimit(RLIMIT_NOFILE, &most);
    look();
    most.rlim_cur = before;
    ::setrlimit(RLIMIT_NOFILE, &most);
    return unusable > 0;
  }));
}

TEST_F(SharedTmp, without_a_sticky_bit_it_is_not_used) {
  for (const int mode : {0777, 0775}) {
    fs::permissions(tmp_, fs::perms(mode));
    expect_refusal_and_no_data("has no sticky bit");
    EXPECT_FALSE(fs::exists(place()));
    fs::remove_all(stores_ / "b.torc");
  }
}

TEST_F(SharedTmp, of_another_user_is_not_used) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give it away";
  fs::permissions(tmp_, fs::perms(01777));
  ASSERT_EQ(::chown(tmp_.c_str(), 60003, 60003), 0);
  expect_refusal_and_no_data("belongs to user 60003");
  EXPECT_FALSE(fs::exists(place()));
}

}  // namespace
}  // namespace torc::store
