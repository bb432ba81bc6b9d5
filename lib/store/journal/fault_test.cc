// Every errno at every operation of a commit, and the primitives of put-if-absent.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>

#include "lib/store/engine/heartbeat.h"
#include "lib/store/journal/journal_store.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

std::string numbered(const char* prefix, std::uint64_t i) {
  return std::string(prefix).append(std::to_string(i));
}

// What must be missing so that only this primitive is left.
FaultyDisk::Oracle only(Primitive primitive) {
  return [primitive](const std::string& operation, const Path&) {
    if (operation == "create_unnamed" && primitive != Primitive::tmpfile_link)
      return refuse(EOPNOTSUPP);
    if (operation == "link" && primitive == Primitive::rename_directory) return refuse(EPERM);
    return proceed();
  };
}

class EachPrimitive : public ::testing::TestWithParam<Primitive> {
 protected:
  void SetUp() override {
    faulty.oracle = only(GetParam());
    auto made = Store::create(first.world(), directory, Engine::journal, tuning, put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    a = std::move(*made);
  }
  std::uint64_t temporaries() {
    std::uint64_t out = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (entry.path().filename().string().starts_with(".tmp-")) ++out;
    }
    return out;
  }

  ScratchDirectory scratch;
  FaultyDisk faulty;
  Node first{scratch.path(), "first", 1, &faulty};
  Tuning tuning = [] {
    Tuning t = quick();
    t.sync = true;  // so that the syncs are there to fail
    return t;
  }();
  Path directory = scratch.path() / "wf.torc";
  std::unique_ptr<Store> a;
};

INSTANTIATE_TEST_SUITE_P(Faults, EachPrimitive,
                         ::testing::Values(Primitive::tmpfile_link, Primitive::link,
                                           Primitive::rename_directory),
                         [](const auto& p) {
                           std::string name(to_string(p.param));
                           name[name.find_first_of('-') == std::string::npos ? 0 : name.find('-')] =
                               '_';
                           return name;
                         });

TEST_P(EachPrimitive, is_found_by_create_and_recorded) {
  std::ifstream meta(directory / "META");
  const std::string text(std::istreambuf_iterator<char>(meta), {});
  EXPECT_NE(text.find("names: " + std::string(to_string(names_of(GetParam()))) + "\n"),
            std::string::npos)
      << text;
}

TEST_P(EachPrimitive, leaves_no_temporary_behind) {
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(a->commit(1, put("x", numbered("", static_cast<std::uint64_t>(i)))).ok());
  EXPECT_EQ(temporaries(), 0u);
}

TEST_P(EachPrimitive, lets_only_one_host_have_a_number) {
  Node second(scratch.path(), "second", 2);
  auto b = Store::open(second.world(), directory, tuning);
  ASSERT_TRUE(b.ok()) << b.error().text();
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE((i % 2 == 0 ? *a : **b)
                    .commit(1, put(numbered("k", static_cast<std::uint64_t>(i)), "v"))
                    .ok());
  }
  EXPECT_EQ(sequence_of(*a), 151u);
  Node inspector(scratch.path(), "inspector", 9);
  const auto verified = verify(inspector.world(), directory, no_check);
  EXPECT_TRUE(verified.ok()) << verified.error().text();
}

// What real filesystems say: to the winner EEXIST (MooseFS, which sends a request again), EIO
// (sshfs), ENOTCONN (GlusterFS), ESHUTDOWN (an evicted client of CephFS); to losers EPERM (sshfs).
TEST_P(EachPrimitive, whatever_winners_and_losers_are_told_the_content_of_the_name_decides) {
  Node second(scratch.path(), "second", 2);
  auto b = Store::open(second.world(), directory, tuning);
  ASSERT_TRUE(b.ok()) << b.error().text();
  const auto base = only(GetParam());
  const auto add_one = [](Transaction& tx) -> Result<void> {
    const auto so_far = tx.get("n");
    tx.put("n", (so_far ? std::string(*so_far) : std::string()) + "1");
    return {};
  };
  std::string expected;
  for (const int e : {EEXIST, ENOTEMPTY, EPERM, EIO, ENOTCONN, ESHUTDOWN, ECONNABORTED, EINVAL}) {
    for (const bool wins : {true, false}) {
      first.clock.advance(std::chrono::minutes(1));
      bool struck = false;
      faulty.oracle = [&](const std::string& operation, const Path& path) {
        const bool names =
            operation == "link" || operation == "link_unnamed" || operation == "rename";
        if (struck || !names || path.parent_path().parent_path().filename() != "journal")
          return base(operation, path);
        struck = true;
        if (wins) return lose_reply(e);
        EXPECT_TRUE((*b)->commit(2, add_one).ok());
        return refuse(e);
      };
      const auto done = a->commit(1, add_one);
      faulty.oracle = base;
      expected += wins ? "1" : "11";
      EXPECT_TRUE(struck);
      EXPECT_TRUE(done.ok()) << std::strerror(e) << ": " << done.error().text();
      EXPECT_EQ(value_of(*a, "n"), expected) << std::strerror(e) << (wins ? " won" : " lost");
    }
  }
  EXPECT_EQ(value_of(**b, "n"), expected);
}

// A commit whose `nth` operation fails keeps every promise: ok means that it is there, unknown
// means anything, every other error means that it is not there and never will be.
TEST_P(EachPrimitive, keeps_its_word_whatever_operation_fails_with_whatever_error) {
  const auto base = only(GetParam());
  std::uint64_t expected = 1;
  std::map<std::string, int> outcomes;
  for (const int e : {EIO, ENOSPC, EDQUOT, ESTALE, EACCES, EROFS, ENOENT, ETIMEDOUT}) {
    for (const bool lost : {false, true}) {
      bool more = true;
      for (std::uint64_t nth = 0; more; ++nth) {
        first.clock.advance(std::chrono::seconds(1));  // no shortcut: each commit lists first
        std::uint64_t at = 0;
        std::string hit;
        faulty.oracle = [&](const std::string& operation, const Path& path) {
          const Fate fate = base(operation, path);
          if (fate.what != Fate::What::proceed || at++ != nth) return fate;
          hit = operation;
          return lost ? lose_reply(e) : refuse(e);
        };
        const std::string key = "k" + std::to_string(e) + (lost ? "l" : "r") + std::to_string(nth);
        const auto done = a->commit(1, put(key, "v"));
        more = !hit.empty();
        faulty.oracle = base;
        const bool there = value_of(*a, key) == "v";
        const std::string where =
            hit + " with " + std::to_string(e) + (lost ? " after" : " before");
        if (done.ok()) {
          EXPECT_TRUE(there) << where << ": acknowledged but not there";
          EXPECT_EQ(done->sequence, expected + 1) << where;
        } else if (done.error().kind != ErrorKind::unknown) {
          EXPECT_FALSE(there) << where << ": refused but there: " << done.error().text();
        }
        outcomes[done.ok() ? "ok" : std::string(to_string(done.error().kind))]++;
        if (there) ++expected;
        ASSERT_EQ(sequence_of(*a), expected) << where;
      }
    }
  }
  Node other(scratch.path(), "other", 9);
  const auto verified = verify(other.world(), directory, no_check);
  ASSERT_TRUE(verified.ok()) << verified.error().text();
  EXPECT_EQ(verified->last_sequence, expected);
  EXPECT_GT(outcomes["ok"], 0);
  EXPECT_GT(outcomes["no space"], 0);
}

TEST_P(EachPrimitive, a_lost_reply_is_found_out_and_acknowledged_once) {
  const auto base = only(GetParam());
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    const bool naming = operation == "link_unnamed" || operation == "link" || operation == "rename";
    const Fate fate = base(operation, path);
    if (fate.what == Fate::What::proceed && naming) return lose_reply(EIO);
    return fate;
  };
  const auto done = a->commit(1, put("x", "1"));
  faulty.oracle = base;
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->sequence, 2u);
  EXPECT_EQ(sequence_of(*a), 2u);
}

// After `unknown` it may have happened; a second attempt could make it happen twice. Every pair of
// a fault and another one after it, of which the first may be a lost reply.
TEST_P(EachPrimitive, an_unknown_outcome_is_never_followed_by_another_attempt) {
  const auto base = only(GetParam());
  int unknown = 0;
  for (const bool lost : {false, true}) {
    bool more = true;
    for (std::uint64_t nth = 0; more; ++nth) {
      bool further = true;
      for (std::uint64_t gap = 1; further; ++gap) {
        first.clock.advance(std::chrono::seconds(1));
        std::uint64_t at = 0;
        int attempts = 0, runs = 0;
        more = further = false;
        faulty.oracle = [&](const std::string& operation, const Path& path) {
          const bool named = number_of(path.filename().string()).has_value();
          const bool names = operation.starts_with("link") || operation == "rename";
          const Fate fate = base(operation, path);
          if (fate.what != Fate::What::proceed) return fate;
          attempts += named && names ? 1 : 0;
          const std::uint64_t here = at++;
          more = more || here == nth;
          further = further || here == nth + gap;
          if (here == nth) return lost ? lose_reply(EIO) : refuse(EIO);
          return here == nth + gap ? refuse(EIO) : fate;
        };
        const auto done = a->commit(1, [&](Transaction& tx) -> Result<void> {
          ++runs;
          tx.put("x", numbered("", nth * 100 + gap));
          return {};
        });
        if (!done.ok() && done.error().kind == ErrorKind::unknown) {
          ++unknown;
          EXPECT_EQ(attempts, 1) << lost << " " << nth << "+" << gap;
          EXPECT_EQ(runs, 1) << lost << " " << nth << "+" << gap;
          attempts = 0;
          (void)a->maintain();
          EXPECT_EQ(attempts, 0) << "between commits, too";
        }
        faulty.oracle = base;
        ASSERT_NE(value_of(*a, "a").substr(0, 5), "error");
      }
    }
  }
  EXPECT_GT(unknown, 3);
}

TEST_P(EachPrimitive, a_full_disk_says_so_and_the_next_commit_after_it_works) {
  const auto base = only(GetParam());
  for (const int e : {ENOSPC, EDQUOT}) {
    faulty.oracle = [&](const std::string& operation, const Path& path) {
      return operation == "write" ? refuse(e) : base(operation, path);
    };
    const auto done = a->commit(1, put("x", "1"));
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::no_space);
    faulty.oracle = base;
    EXPECT_EQ(temporaries(), 0u);
  }
  EXPECT_TRUE(a->commit(1, put("x", "1")).ok());
}

TEST_P(EachPrimitive, a_failed_sync_is_not_repeated_on_the_same_file) {
  const auto base = only(GetParam());
  std::vector<std::string> seen;
  bool failed = false;
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    const Fate fate = base(operation, path);
    if (fate.what != Fate::What::proceed) return fate;
    seen.push_back(operation);
    if (operation == "sync" && !std::exchange(failed, true)) return refuse(EIO);
    return fate;
  };
  ASSERT_TRUE(a->commit(1, put("x", "1")).ok());
  const auto first_sync = std::find(seen.begin(), seen.end(), "sync");
  ASSERT_NE(first_sync, seen.end());
  const auto second_sync = std::find(first_sync + 1, seen.end(), "sync");
  const bool new_file = std::any_of(first_sync, second_sync, [](const std::string& op) {
    return op == "create" || op == "create_unnamed";
  });
  EXPECT_TRUE(new_file);
}

// Of them 3 are the look at the commit before: opened, read, closed, of which a network filesystem
// sees one (request_budget_test.cc counts requests).
TEST_P(EachPrimitive, a_commit_costs_few_operations) {
  const auto base = only(GetParam());
  std::map<std::string, int> seen;
  // The first commit of a process finds out that a filesystem has no unnamed files.
  ASSERT_TRUE(a->commit(1, put("x", "0")).ok());
  faulty.oracle = [&](const std::string& operation, const Path& path) {
    seen[operation]++;
    return base(operation, path);
  };
  const auto cost = [&](std::chrono::seconds after) {
    first.clock.advance(after);
    seen.clear();
    EXPECT_TRUE(a->commit(1, put("x", std::to_string(after.count()))).ok());
    int all = 0;
    for (const auto& [operation, count] : seen) all += count;
    return all;
  };
  const int most = GetParam() == Primitive::rename_directory ? 13 : 12;
  EXPECT_LE(cost(std::chrono::seconds(4)), most - 1);
  EXPECT_EQ(seen["list"], 1);
  // After a pause it looks first whether it is the newest, and whether that still stands.
  EXPECT_LE(cost(std::chrono::seconds(6)), most + 4);
  EXPECT_EQ(seen["list"], 3);
}

TEST(AHeartbeat, is_not_missing_where_its_directory_cannot_be_listed) {
  ScratchDirectory scratch;
  FaultyDisk disk;
  Node node(scratch.path(), "one", 1, &disk);
  fs::create_directory(scratch.path() / "beats");
  const auto none = read_heartbeat(node.world(), scratch.path(), {7}, Caches::trust);
  ASSERT_TRUE(none.ok()) << none.error().text();
  EXPECT_FALSE(*none);
  for (const int e : {EIO, EACCES, ENOENT}) {
    disk.oracle = [&](const std::string& operation, const Path&) {
      return operation == "list" ? refuse(e) : proceed();
    };
    EXPECT_FALSE(read_heartbeat(node.world(), scratch.path(), {7}, Caches::trust).ok()) << e;
  }
}

TEST(Create, refuses_a_filesystem_without_any_primitive) {
  ScratchDirectory scratch;
  FaultyDisk faulty;
  faulty.oracle = [](const std::string& operation, const Path& path) {
    if (operation == "create_unnamed") return refuse(EOPNOTSUPP);
    if (operation == "link") return refuse(EPERM);
    if (operation == "rename" && path.filename().string().starts_with("probe"))
      return refuse(EINVAL);
    return proceed();
  };
  Node node(scratch.path(), "node", 1, &faulty);
  auto made =
      Store::create(node.world(), scratch.path() / "wf.torc", Engine::journal, quick(), nothing);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::unsupported);
  for (const auto& entry : fs::directory_iterator(scratch.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("wf.torc")) << entry.path();
  }
}

TEST(Create, leaves_nothing_whatever_operation_fails) {
  for (const Engine engine : {Engine::journal, Engine::lmdb}) {
    bool more = true;
    for (std::uint64_t nth = 0; more; ++nth) {
      ScratchDirectory scratch;
      FaultyDisk faulty;
      bool hit = false;
      std::uint64_t at = 0;
      faulty.oracle = [&](const std::string&, const Path&) {
        if (at++ != nth) return proceed();
        hit = true;
        return refuse(ENOSPC);
      };
      Node node(scratch.path(), "node", 1, &faulty);
      auto made = Store::create(node.world(), scratch.path() / "wf.torc", engine, quick(),
                                put("a", "1"), {{"slurm/x", "y"}});
      more = hit;
      faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
      if (!fs::exists(scratch.path() / "wf.torc")) {
        EXPECT_FALSE(made.ok());
        continue;
      }
      // It is there: then it is whole.
      Node other(scratch.path(), "node", 2);
      auto opened = Store::open(other.world(), scratch.path() / "wf.torc", quick());
      ASSERT_TRUE(opened.ok()) << nth << ": " << opened.error().text();
      EXPECT_EQ(value_of(**opened, "a"), "1");
      EXPECT_TRUE(fs::exists(scratch.path() / "wf.torc" / "slurm" / "x"));
    }
  }
}

TEST(Create, refuses_engine_lmdb_on_a_network_filesystem_and_chooses_the_journal_there) {
  ScratchDirectory scratch;
  FaultyDisk faulty;
  Node node(scratch.path(), "node", 1, &faulty);
  faulty.magic = 0x6969;
  auto made =
      Store::create(node.world(), scratch.path() / "a.torc", Engine::lmdb, quick(), nothing);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::unsupported);
  EXPECT_NE(made.error().text().find("--engine journal"), std::string::npos);
  made =
      Store::create(node.world(), scratch.path() / "b.torc", Engine::automatic, quick(), nothing);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ((*made)->identity().engine, Engine::journal);
  faulty.magic = 0xef53;
  made =
      Store::create(node.world(), scratch.path() / "c.torc", Engine::automatic, quick(), nothing);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->identity().engine, Engine::lmdb);
}

}  // namespace
}  // namespace torc::store
