// Two instances as two threads on one directory, on the real clock: what they wait for are names
// that the other makes.
#include "lib/doctor/two_node.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_victim.h"
#include "lib/store/testing/test_world.h"

namespace torc::doctor {
namespace {

using namespace store::testing;

bool never_ends() {
  return false;
}

class LyingLocks final : public store::Locks {
 public:
  Result<bool> try_lock(store::LockKind, const Path&) override { return true; }
  Result<void> unlock(store::LockKind, const Path&) override { return {}; }
};

class RefusingLocks final : public store::Locks {
 public:
  Result<bool> try_lock(store::LockKind, const Path&) override {
    return os_error(ENOLCK, "no locks");
  }
  Result<void> unlock(store::LockKind, const Path&) override { return {}; }
};

// The first to ask has it for ever.
class SharedHolder {
 public:
  std::mutex mutex;
  std::map<Path, const void*> holders;
};
class KeepingLocks final : public store::Locks {
 public:
  explicit KeepingLocks(SharedHolder& shared) : shared_(shared) {}
  Result<bool> try_lock(store::LockKind, const Path& file) override {
    const std::lock_guard guard(shared_.mutex);
    return shared_.holders.try_emplace(file, this).first->second == this;
  }
  Result<void> unlock(store::LockKind, const Path&) override { return {}; }

 private:
  SharedHolder& shared_;
};

// A client of NFS version 3 a few times: what was listed within the tick of the clock in which the
// directory changed stays as it is until this client changes the directory itself.
class StaleListings final : public store::PosixDisk {
 public:
  int left = 0;  // how often that happens

  Result<std::vector<std::string>> list(const Path& p) override {
    if (kept_.empty() && left > 0 && p.filename() == "1") {
      --left;
      TORC_ASSIGN(kept_, store::PosixDisk::list(p));
    }
    if (!kept_.empty() && p.filename() == "1") return kept_;
    return store::PosixDisk::list(p);
  }
  Result<void> link(const Path& a, const Path& b) override {
    kept_.clear();
    return store::PosixDisk::link(a, b);
  }
  Result<void> make_directory(const Path& p) override {
    kept_.clear();
    return store::PosixDisk::make_directory(p);
  }

 private:
  std::vector<std::string> kept_;
};

struct Instance {
  Instance(const Path& scratch, const std::string& name, std::uint64_t seed)
      : node(scratch, name, seed, &disk) {}
  StaleListings real;
  store::World world() {
    store::World w = node.world();
    return store::World{w.disk,          clock, w.entropy,       w.host, w.boot_id,
                        w.pid_namespace, w.uid, w.replica_roots, w.tell, w.machine};
  }
  FaultyDisk disk{&real};
  SystemClock clock;
  Node node;
};

class TwoNode : public ::testing::Test {
 protected:
  TwoNode() {
    std::filesystem::create_directory(place);
    options.race_groups = 3;
    options.early_wait = std::chrono::seconds(20);
    options.publish = {store::Primitive::link, store::DurableName::directory};
  }
  struct Pair {
    Result<TwoNodeReport> first = Error{};
    Result<TwoNodeReport> second = Error{};
  };
  template <class LocksA, class LocksB>
  Pair run(LocksA& first_locks, LocksB& second_locks) {
    Pair out;
    std::thread other([&] {
      out.second = run_two_node(second.world(), second_locks, place, options, quiet, never_ends);
    });
    out.first = run_two_node(first.world(), first_locks, place, options, quiet, never_ends);
    other.join();
    return out;
  }
  Pair run() {
    store::PosixLocks one(place), two(place);
    return run(one, two);
  }
  void expect_clean() { EXPECT_TRUE(std::filesystem::is_empty(place)); }

  const Tell quiet = [](const std::string&) {};
  ScratchDirectory scratch;
  Path place = scratch.path() / "shared";
  Instance first{scratch.path(), "one", 1};
  Instance second{scratch.path(), "two", 2};
  TwoNodeOptions options;
};

std::string texts(const TwoNodeReport& report) {
  std::string out;
  for (const store::Finding& f : judge(report))
    out += std::string(to_string(f.severity)) + ": " + f.text + "\n";
  return out;
}

TEST_F(TwoNode, on_a_sound_filesystem_both_say_that_it_is) {
  const Pair pair = run();
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  ASSERT_TRUE(pair.second.ok()) << pair.second.error().text();
  const TwoNodeReport& a = *pair.first;
  const TwoNodeReport& b = *pair.second;
  EXPECT_NE(a.role, b.role);
  EXPECT_EQ(a.other.host, "two");
  EXPECT_EQ(b.other.host, "one");
  EXPECT_FALSE(a.same_host);
  for (const TwoNodeReport* r : {&a, &b}) {
    EXPECT_EQ(r->race.names, 48U);
    EXPECT_EQ(r->race.won_by_a + r->race.won_by_b, 48U);
    EXPECT_EQ(r->race.wrong_content, 0U);
    EXPECT_GT(r->shared_content.samples, 0U);
    EXPECT_TRUE(r->content_in_time && r->shared_in_time);
    EXPECT_EQ(r->listed_a.names + r->listed_b.names, 2U);
    EXPECT_EQ(r->listed_a.never_seen + r->listed_b.never_seen, 0U);
    EXPECT_GT(r->new_name.samples, 0U);
    EXPECT_GT(r->new_content.samples, 0U);
    EXPECT_EQ(r->early_a.never_seen + r->early_b.never_seen, 0U);
    ASSERT_EQ(r->locks.size(), 3U);
    // fcntl locks belong to the process, and both instances are one process here.
    EXPECT_EQ(r->locks[0].from_a.verdict, store::LockVerdict::given_to_all);
    for (const std::size_t i : {1U, 2U}) {
      EXPECT_EQ(r->locks[i].from_a.verdict, store::LockVerdict::exclusive);
      EXPECT_EQ(r->locks[i].from_b.verdict, store::LockVerdict::exclusive);
    }
    EXPECT_TRUE(is_fit(judge(*r)));
  }
  EXPECT_EQ(a.race.won_by_a, b.race.won_by_a);
  EXPECT_EQ(a.new_name.p50, b.new_name.p50);
  expect_clean();
}

// GlusterFS: who writes into a file himself goes on seeing what he first saw of it.
class OwnPagesStay final : public store::PosixDisk {
 public:
  Result<std::string> read_at(const Path& file, std::uint64_t offset, std::size_t size,
                              store::Caches caches) override {
    TORC_ASSIGN(std::string now, store::PosixDisk::read_at(file, offset, size, caches));
    if (file.filename() != "content-both") return now;
    return first_.try_emplace(offset, std::move(now)).first->second;
  }

 private:
  std::map<std::uint64_t, std::string> first_;
};

TEST_F(TwoNode, a_file_that_both_write_is_tried_and_the_worst_includes_what_did_not_come) {
  OwnPagesStay one, two;
  const auto on = [](Instance& instance, store::Disk& disk) {
    store::World w = instance.world();
    return store::World{disk,      instance.clock,  w.entropy, w.host,
                        w.boot_id, w.pid_namespace, w.uid,     w.replica_roots};
  };
  options.content_wait = std::chrono::seconds(2);
  store::PosixLocks first_locks(place), second_locks(place);
  Pair pair;
  std::thread other([&] {
    pair.second = run_two_node(on(second, two), second_locks, place, options, quiet, never_ends);
  });
  pair.first = run_two_node(on(first, one), first_locks, place, options, quiet, never_ends);
  other.join();
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  ASSERT_TRUE(pair.second.ok()) << pair.second.error().text();
  for (const TwoNodeReport* r : {&*pair.first, &*pair.second}) {
    EXPECT_TRUE(r->content_in_time) << "each in a file of its own";
    EXPECT_FALSE(r->shared_in_time);
    EXPECT_GE(r->shared_content.max, options.content_wait);
    EXPECT_NE(texts(*r).find("in a file that both nodes write"), std::string::npos);
    EXPECT_TRUE(is_fit(judge(*r))) << "torc has no such file";
  }
}

TEST(TwoNodeJudge, tells_of_names_that_were_raced_one_after_the_other) {
  TwoNodeReport report;
  report.race.names = 256;
  report.race.won_by_b = 256;
  EXPECT_NE(texts(report).find("never reached for names at the same time"), std::string::npos);
  report.race.won_by_a = 100;
  report.race.won_by_b = 156;
  report.race.overlapping = 256;
  EXPECT_EQ(texts(report).find("at the same time"), std::string::npos);
}

TEST(TwoNodeJudge, takes_the_oldest_listing_and_refuses_what_is_older_than_torc_waits_for) {
  TwoNodeReport report;
  report.facts = mount_facts(store::MountKind::sshfs);
  report.new_name = store::summarize({std::chrono::seconds(1), std::chrono::seconds(2)});
  report.listed_b.longest = std::chrono::seconds(22);  // and that was not stirred
  const std::vector<store::Finding> findings = judge(report);
  ASSERT_FALSE(findings.empty());
  EXPECT_TRUE(is_fit(findings));
  EXPECT_NE(findings[0].text.find("22 s"), std::string::npos) << findings[0].text;
  EXPECT_NE(findings[0].remedy.find("dir_cache=no"), std::string::npos) << findings[0].remedy;
  report.facts.retention = std::chrono::seconds(10);
  EXPECT_FALSE(is_fit(judge(report)));
}

TEST_F(TwoNode, works_by_renamed_directories_too) {
  options.publish = {store::Primitive::rename_directory, store::DurableName::directory};
  const Pair pair = run();
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  EXPECT_EQ(pair.first->race.won_by_both + pair.first->race.won_by_none, 0U);
  expect_clean();
}

TEST_F(TwoNode, locks_that_are_given_to_everybody_are_found) {
  LyingLocks one, two;
  const Pair pair = run(one, two);
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  for (const TwoNodeReport* r : {&*pair.first, &*pair.second}) {
    EXPECT_NE(texts(*r).find("flock locks are given to both nodes"), std::string::npos);
    EXPECT_TRUE(is_fit(judge(*r)));  // torc needs none
  }
}

TEST_F(TwoNode, locks_that_are_refused_are_found) {
  RefusingLocks one, two;
  const Pair pair = run(one, two);
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  EXPECT_EQ(pair.first->locks[1].from_b.verdict, store::LockVerdict::fails);
  EXPECT_EQ(pair.first->locks[1].from_b.os_errno, ENOLCK);
}

TEST_F(TwoNode, locks_that_are_never_released_are_found) {
  SharedHolder shared;
  options.unlock_wait = std::chrono::nanoseconds(0);
  KeepingLocks one(shared), two(shared);
  const Pair pair = run(one, two);
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  EXPECT_EQ(pair.first->locks[2].from_a.verdict, store::LockVerdict::stuck);
  EXPECT_EQ(pair.second->locks[2].from_b.verdict, store::LockVerdict::stuck);
}

TEST_F(TwoNode, a_filesystem_that_gives_one_name_to_two_is_unfit) {
  for (Instance* instance : {&first, &second}) {
    instance->disk.oracle = [](const std::string& op, const Path& path) {
      if (op == "link" && path.string().find("race-") != std::string::npos)
        std::filesystem::remove(path);
      return proceed();
    };
  }
  const Pair pair = run();
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  for (const TwoNodeReport* r : {&*pair.first, &*pair.second}) {
    EXPECT_GT(r->race.won_by_both, 0U);
    EXPECT_FALSE(is_fit(judge(*r)));
  }
  expect_clean();
}

TEST_F(TwoNode, a_listing_that_stays_old_until_the_directory_changes_only_delays_them) {
  first.real.left = second.real.left = 3;
  options.answer_wait = options.partner_wait = std::chrono::seconds(20);
  const Pair pair = run();
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  ASSERT_TRUE(pair.second.ok()) << pair.second.error().text();
  EXPECT_EQ(first.real.left + second.real.left, 0);
  expect_clean();
}

TEST_F(TwoNode, what_a_killed_instance_left_is_passed_over) {
  const Path round = place / ".torc-two-node" / "1";
  std::filesystem::create_directories(round);
  std::ofstream(round / "a") << "ghost\nboot of another node\nns\n1\nnfs\n7\n";
  options.start_wait = std::chrono::milliseconds(500);
  options.partner_wait = std::chrono::seconds(60);
  const Pair pair = run();
  ASSERT_TRUE(pair.first.ok()) << pair.first.error().text();
  EXPECT_TRUE(pair.first->other.host == "two") << pair.first->other.host;
  expect_clean();
}

// As when one clears away what a killed one left while the other makes that round anew.
TEST_F(TwoNode, two_that_wait_in_different_rounds_find_each_other) {
  options.start_wait = options.partner_wait = std::chrono::seconds(60);
  store::PosixLocks one(place), two(place);
  Result<TwoNodeReport> lower = Error{};
  std::atomic<bool> waits{false};
  const Tell tell = [&](const std::string& line) {
    if (line.starts_with("waiting")) waits = true;
  };
  std::thread thread(
      [&] { lower = run_two_node(first.world(), one, place, options, tell, never_ends); });
  while (!waits) std::this_thread::yield();
  std::filesystem::create_directory(place / ".torc-two-node" / "2");
  const auto upper = run_two_node(second.world(), two, place, options, quiet, never_ends);
  thread.join();
  ASSERT_TRUE(lower.ok()) << lower.error().text();
  ASSERT_TRUE(upper.ok()) << upper.error().text();
  EXPECT_EQ(upper->other.host, "one");
  expect_clean();
}

TEST_F(TwoNode, a_third_instance_does_not_disturb_two_others) {
  const Path round = place / ".torc-two-node" / "1";
  std::filesystem::create_directories(round);
  for (const char* seat : {"a", "b"}) std::ofstream(round / seat) << "somebody\n";
  store::PosixLocks locks(place);
  options.partner_wait = std::chrono::milliseconds(20);
  const auto alone = run_two_node(first.world(), locks, place, options, quiet, never_ends);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().kind, ErrorKind::not_found);
  EXPECT_TRUE(std::filesystem::exists(round / "a"));
  EXPECT_FALSE(std::filesystem::exists(place / ".torc-two-node" / "2"));
}

TEST_F(TwoNode, an_instance_that_is_interrupted_cleans_up_and_ends_the_other) {
  store::PosixLocks one(place), two(place);
  Result<TwoNodeReport> other = Error{};
  std::thread thread(
      [&] { other = run_two_node(second.world(), two, place, options, quiet, never_ends); });
  bool testing = false;
  const Tell tell = [&](const std::string& line) { testing = testing || line == "locks"; };
  const auto ended =
      run_two_node(first.world(), one, place, options, tell, [&] { return testing; });
  thread.join();
  EXPECT_EQ(ended.error().kind, ErrorKind::busy);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::not_found) << other.error().text();
  expect_clean();
}

// The meeting place may have been made by anybody, with anything in it.
TEST(HostileMeeting, place_deletes_nothing_beyond_it) {
  ScratchDirectory scratch;
  const Victim victim(scratch.path() / "victim");
  const Path shared = scratch.path() / "shared";
  Node node(scratch.path());
  TwoNodeOptions options;
  options.partner_wait = std::chrono::milliseconds(300);
  const auto meet = [&] {
    RefusingLocks locks;
    return run_two_node(
        node.world(), locks, shared, options, [](const std::string&) {}, [] { return false; });
  };
  std::filesystem::create_directories(shared / ".torc-two-node");
  std::filesystem::create_directory_symlink(victim.path, shared / ".torc-two-node" / "7");
  EXPECT_FALSE(meet().ok());
  victim.expect_untouched();
  std::filesystem::remove_all(shared / ".torc-two-node");
  std::filesystem::create_directories(victim.path / "7");
  std::filesystem::create_directory_symlink(victim.path, shared / ".torc-two-node");
  EXPECT_FALSE(meet().ok());
  EXPECT_TRUE(std::filesystem::exists(victim.path / "7"));
  EXPECT_TRUE(std::filesystem::exists(victim.path / "below/b"));
}

}  // namespace
}  // namespace torc::doctor
