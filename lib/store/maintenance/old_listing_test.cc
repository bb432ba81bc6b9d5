// A mount whose listings are 21 s old while a name that is opened is there at once (sshfs).
#include <gtest/gtest.h>

#include <map>

#include "lib/store/maintenance/compact.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_hosts.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;

// Keeps listings for 21 s, unless this client changed the directory itself.
class OldListingsDisk final : public PosixDisk {
 public:
  explicit OldListingsDisk(Clock& clock) : clock_(clock) {}
  bool stubborn = false;  // not even a change of its own makes it list anew

  Result<std::vector<std::string>> list(const Path& d) override {
    const auto kept = kept_.find(d);
    if (kept != kept_.end() && clock_.boot_now() - kept->second.at < std::chrono::seconds(21))
      return kept->second.names;
    TORC_ASSIGN(std::vector<std::string> names, PosixDisk::list(d));
    kept_[d] = {clock_.boot_now(), names};
    return names;
  }
  Result<FileHandle> create(const Path& f) override {
    forget(f.parent_path());
    return PosixDisk::create(f);
  }
  Result<void> link(const Path& a, const Path& b) override {
    Result<void> done = PosixDisk::link(a, b);
    if (done.ok()) forget(b.parent_path());
    return done;
  }
  Result<void> unlink(const Path& f) override {
    forget(f.parent_path());
    return PosixDisk::unlink(f);
  }
  Result<void> make_directory(const Path& d) override {
    forget(d.parent_path());
    return PosixDisk::make_directory(d);
  }
  // Whatever it remembers, as if it had looked just now.
  void look_at(const Path& d) {
    kept_.erase(d);
    (void)list(d);
  }

 private:
  void forget(const Path& d) {
    if (!stubborn) kept_.erase(d);
  }
  struct Kept {
    BootTime at;
    std::vector<std::string> names;
  };
  Clock& clock_;
  std::map<Path, Kept> kept_;
};

class OldListing : public ::testing::Test {
 protected:
  OldListing() {
    lagging.magic = 0x65735546;
    lagging.tables = MountTables{"1 1 0:1 / / rw - fuse.sshfs u@h:/e rw\n", ""};
  }
  void SetUp() override {
    auto made = Store::create(near.world(), directory, Engine::journal, quick(), put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    a = std::move(*made);
    state = a->state_directory();
    auto opened = Store::open(far.world(), directory, quick());
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    b = std::move(*opened);
  }
  void look_everywhere() {
    for (const char* part : {"journal", "journal/000000000000", "snapshot", "segment"})
      old.look_at(state / part);
  }

  ScratchDirectory scratch;
  Node near{scratch.path(), "near", 1};
  ManualClock clock;
  OldListingsDisk old{clock};
  FaultyDisk lagging{&old};
  Node far{scratch.path(), "far", 2, &lagging};
  Path directory = scratch.path() / "wf.torc";
  Path state;
  std::unique_ptr<Store> a;
  std::unique_ptr<Store> b;
};

TEST_F(OldListing, shows_new_commits_all_the_same) {
  look_everywhere();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(a->commit(1, put("x", std::to_string(i))).ok());
  EXPECT_EQ(value_of(*b, "x"), "4");
  EXPECT_EQ(sequence_of(*b), 6U);
}

TEST_F(OldListing, shows_new_commits_beyond_a_directory) {
  look_everywhere();
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(a->commit(1, put("x", std::to_string(i))).ok());
  EXPECT_EQ(value_of(*b, "x"), "149");
}

TEST_F(OldListing, lets_who_sees_it_commit_by_turns_with_another_host) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(a->commit(1, put("x", std::to_string(i))).ok());
    look_everywhere();
    ASSERT_TRUE(a->commit(1, put("x", std::to_string(i))).ok());
    const auto done = b->commit(2, put("y", std::to_string(i)));
    ASSERT_TRUE(done.ok()) << done.error().text();
    EXPECT_LE(done->conflicts, 1U);
  }
  EXPECT_EQ(value_of(*a, "y"), "19");
  Node inspector(scratch.path(), "inspector", 99);
  EXPECT_TRUE(verify(inspector.world(), directory, no_check).ok());
}

// As after `torc compact` elsewhere: what the listings show is collected.
TEST_F(OldListing, is_refreshed_before_anything_is_called_missing) {
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(a->commit(1, put("x", std::to_string(i))).ok());
  look_everywhere();
  Tuning hasty = quick();
  hasty.checkpoint_commits = 20;
  hasty.retention = std::chrono::nanoseconds(0);
  auto other = Store::open(near.world(), directory, hasty);
  ASSERT_TRUE(other.ok());
  for (int i = 30; i < 200; ++i) {
    ASSERT_TRUE((*other)->commit(1, put("x", std::to_string(i))).ok());
    ASSERT_TRUE((*other)->maintain().ok());
    near.clock.advance(std::chrono::seconds(1));
  }
  ASSERT_FALSE(std::filesystem::exists(state / "journal/000000000000"));
  EXPECT_EQ(value_of(*b, "x"), "199");
  EXPECT_TRUE(b->commit(2, put("y", "1")).ok());
}

// A number that publishing found taken is there, whatever the listing says: also where names are
// learnt from listings alone.
TEST_F(OldListing, is_not_believed_about_a_number_that_was_taken) {
  lagging.magic = 0x6969;
  lagging.tables = MountTables{"1 1 0:1 / / rw - nfs4 h:/e rw\n", ""};
  auto opened = Store::open(far.world(), directory, quick());
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  look_everywhere();
  ASSERT_TRUE(a->commit(1, put("x", "1")).ok());
  old.stubborn = true;
  const auto done = (*opened)->commit(2, put("y", "1"));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_LE(done->conflicts, 1U);
}

}  // namespace
}  // namespace torc::store
