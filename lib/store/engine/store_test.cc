#include "lib/store/engine/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "lib/store/engine/heartbeat.h"
#include "lib/store/engine/meta.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;

std::string error_of(const Result<std::unique_ptr<Store>>& r) {
  return r.ok() ? "ok" : r.error().text();
}

std::string key_number(int i) {
  return std::string("k").append(std::to_string(i));
}

// The promises that both engines make.
class BothEngines : public ::testing::TestWithParam<Engine> {
 protected:
  std::unique_ptr<Store> make(const Store::Body& first = put("a", "1")) {
    auto made = Store::create(node.world(), directory, GetParam(), quick(), first);
    EXPECT_TRUE(made.ok()) << error_of(made);
    return made.ok() ? std::move(*made) : nullptr;
  }
  std::unique_ptr<Store> open() {
    auto opened = Store::open(node.world(), directory, quick());
    EXPECT_TRUE(opened.ok()) << error_of(opened);
    return opened.ok() ? std::move(*opened) : nullptr;
  }

  ScratchDirectory scratch;
  Node node{scratch.path()};
  Path directory = scratch.path() / "wf.torc";
};

INSTANTIATE_TEST_SUITE_P(Store, BothEngines, ::testing::Values(Engine::lmdb, Engine::journal),
                         [](const auto& engine) {
                           return engine.param == Engine::lmdb ? "lmdb" : "journal";
                         });

TEST_P(BothEngines, a_new_store_holds_its_first_commit) {
  auto store = make();
  EXPECT_EQ(value_of(*store, "a"), "1");
  EXPECT_EQ(sequence_of(*store), 1u);
  EXPECT_EQ(store->identity().engine, GetParam());
}

TEST_P(BothEngines, a_commit_is_there_for_who_opens_later) {
  make().reset();
  {
    auto store = open();
    const auto done = store->commit(7, put("b", "2"));
    ASSERT_TRUE(done.ok()) << done.error().text();
    EXPECT_TRUE(done->wrote);
    EXPECT_EQ(done->sequence, 2u);
  }
  EXPECT_EQ(value_of(*open(), "b"), "2");
}

TEST_P(BothEngines, a_body_that_writes_nothing_costs_no_commit) {
  auto store = make();
  const auto done = store->commit(1, nothing);
  ASSERT_TRUE(done.ok());
  EXPECT_FALSE(done->wrote);
  EXPECT_EQ(done->sequence, 1u);
}

TEST_P(BothEngines, an_error_of_the_body_leaves_nothing) {
  auto store = make();
  const auto done = store->commit(1, [](Transaction& tx) -> Result<void> {
    tx.put("b", "2");
    return Error{ErrorKind::fenced, "no", {}};
  });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::fenced);
  EXPECT_EQ(value_of(*store, "b"), "(absent)");
  EXPECT_EQ(sequence_of(*store), 1u);
}

TEST_P(BothEngines, a_transaction_sees_what_it_wrote_and_its_own_number) {
  auto store = make();
  const auto done = store->commit(1, [](Transaction& tx) -> Result<void> {
    EXPECT_EQ(tx.sequence(), 2u);
    tx.put("c", "3");
    tx.put("c", std::string(*tx.get("a")) + std::string(*tx.get("c")));
    EXPECT_EQ(tx.get("c"), "13");
    tx.erase("a");
    EXPECT_FALSE(tx.get("a").has_value());
    tx.erase("never there");
    return {};
  });
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(value_of(*store, "c"), "13");
  EXPECT_EQ(value_of(*store, "a"), "(absent)");
}

TEST_P(BothEngines, entries_come_in_order_and_those_of_the_store_are_hidden) {
  auto store = make();
  ASSERT_TRUE(store->commit(1, put("b", "2")).ok());
  ASSERT_TRUE(store
                  ->view(Freshness::cached,
                         [](const Reader& reader) -> Result<void> {
                           std::string seen;
                           reader.scan(std::string_view("\0", 1), [&](const Entry& e) {
                             seen += std::string(e.key) + "=" + std::string(e.value) + " ";
                             return true;
                           });
                           EXPECT_EQ(seen, "a=1 b=2 ");
                           EXPECT_EQ(reader.seek("")->key, "a");
                           EXPECT_EQ(reader.seek("aa")->key, "b");
                           EXPECT_FALSE(reader.seek("c").has_value());
                           EXPECT_EQ(reader.seek_before("b")->key, "a");
                           EXPECT_EQ(reader.seek_before("z")->key, "b");
                           EXPECT_FALSE(reader.seek_before("a").has_value());
                           return {};
                         })
                  .ok());
}

TEST_P(BothEngines, a_reserved_empty_or_too_long_key_spoils_the_transaction) {
  auto store = make();
  for (const std::string& key :
       {std::string("\0h", 2), std::string(), std::string(kMaxKeySize + 1, 'k')}) {
    const auto done = store->commit(1, put(key, "x"));
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::invalid);
  }
  EXPECT_TRUE(store->commit(1, put(std::string(kMaxKeySize, 'k'), "x")).ok());
}

TEST_P(BothEngines, a_value_may_be_a_view_into_the_state) {
  auto store = make(put("a", std::string(300, 'x')));
  const auto done = store->commit(1, [](Transaction& tx) -> Result<void> {
    for (int i = 0; i < 200; ++i) tx.put(key_number(i), *tx.get("a"));
    return {};
  });
  ASSERT_TRUE(done.ok());
  for (int i = 0; i < 200; ++i) EXPECT_EQ(value_of(*store, key_number(i)), std::string(300, 'x'));
}

TEST_P(BothEngines, large_write_sets_pass) {
  auto store = make();
  const std::string large(3 << 20, 'v');
  ASSERT_TRUE(store->commit(1, put("large", large)).ok());
  EXPECT_EQ(value_of(*store, "large"), large);
}

TEST_P(BothEngines, create_puts_the_callers_files_into_it) {
  auto made = Store::create(node.world(), directory, GetParam(), quick(), nothing,
                            {{"spec.yaml", "name: x\n"}, {"slurm/a.sbatch", "#!/bin/sh\n"}});
  ASSERT_TRUE(made.ok()) << error_of(made);
  std::ifstream in(directory / "slurm" / "a.sbatch");
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "#!/bin/sh");
  EXPECT_TRUE(std::filesystem::exists(directory / "spec.yaml"));
}

TEST_P(BothEngines, create_refuses_files_outside_the_store) {
  for (const char* name : {"../x", "/tmp/x", "a/../../x"}) {
    auto made = Store::create(node.world(), directory, GetParam(), quick(), nothing, {{name, ""}});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().kind, ErrorKind::invalid);
    EXPECT_FALSE(std::filesystem::exists(directory));
  }
}

TEST_P(BothEngines, create_refuses_what_is_there_already) {
  make();
  auto again = Store::create(node.world(), directory, GetParam(), quick(), nothing);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::exists);
  EXPECT_EQ(value_of(*open(), "a"), "1");
}

TEST_P(BothEngines, a_first_commit_that_fails_leaves_no_directory) {
  auto made =
      Store::create(node.world(), directory, GetParam(), quick(), [](Transaction&) -> Result<void> {
        return Error{ErrorKind::invalid, "bad plan", {}};
      });
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().what, "bad plan");
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
    EXPECT_EQ(entry.path().filename().string().find("wf.torc"), std::string::npos) << entry.path();
  }
}

TEST_P(BothEngines, verify_agrees_with_an_untouched_store) {
  auto store = make();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store->commit(1, put(key_number(i), "v")).ok());
  bool checked = false;
  const auto verified = verify(node.world(), directory, [&](const Reader& reader) -> Result<void> {
    checked = reader.get("k99") == "v" && !reader.seek_before("a").has_value();
    return {};
  });
  ASSERT_TRUE(verified.ok()) << verified.error().text();
  EXPECT_TRUE(checked);
  EXPECT_EQ(verified->last_sequence, 101u);
}

TEST_P(BothEngines, verify_reports_what_the_check_of_the_caller_says) {
  make();
  const auto verified = verify(node.world(), directory, [](const Reader&) -> Result<void> {
    return Error{ErrorKind::corrupt, "miscounted", {}};
  });
  ASSERT_FALSE(verified.ok());
  EXPECT_EQ(verified.error().what, "miscounted");
}

TEST_P(BothEngines, changes_wake_a_watcher) {
  auto store = make();
  auto other = open();
  ASSERT_GE(store->changes_fd(), 0);
  store->clear_changes();
  char byte = 0;
  EXPECT_LT(::read(store->changes_fd(), &byte, 0), 1);
  ASSERT_TRUE(other->commit(1, put("b", "2")).ok());
  char events[4096];
  EXPECT_GT(::read(store->changes_fd(), events, sizeof events), 0);
}

TEST_P(BothEngines, heartbeats_are_read_back_and_a_torn_one_is_none) {
  const auto store = make();
  const World world = node.world();
  const Path state = store->state_directory();
  using std::chrono::seconds;
  for (const HeartbeatFile file : {HeartbeatFile::own, HeartbeatFile::shared}) {
    for (const Caches caches : {Caches::trust, Caches::bypass}) {
      const HeartbeatPlace place{5, file};
      const auto read = [&] { return *read_heartbeat(world, state, place, caches); };
      EXPECT_FALSE(read());
      ASSERT_TRUE(write_heartbeat(world, state, place, {41, seconds(300)}).ok());
      ASSERT_TRUE(write_heartbeat(world, state, place, {42, seconds(400)}).ok());
      ASSERT_TRUE(read());
      EXPECT_EQ(read()->counter, 42U);
      EXPECT_EQ(read()->ttl, seconds(400));
      std::filesystem::resize_file(heartbeat_path(state, place),
                                   (file == HeartbeatFile::own ? 0 : 5 * 65536) + 12);
      EXPECT_FALSE(read());
      for (int twice = 0; twice < 2; ++twice)
        ASSERT_TRUE(remove_heartbeats(world, state, place, file == HeartbeatFile::shared).ok());
      EXPECT_FALSE(read());
    }
  }
}

TEST_P(BothEngines, a_heartbeat_tells_its_time_and_is_read_without_one_as_well) {
  const auto store = make();
  const World world = node.world();
  const Path state = store->state_directory();
  constexpr HeartbeatPlace kPlace{5, HeartbeatFile::own};
  const Path file = heartbeat_path(state, kPlace);
  const auto read = [&] { return *read_heartbeat(world, state, kPlace, Caches::trust); };
  constexpr WallTime kAt = std::chrono::seconds(1'800'000'000);
  ASSERT_TRUE(write_heartbeat(world, state, kPlace, {41, {}, 7, kAt}).ok());
  EXPECT_EQ(read()->at, kAt);
  // An older torc writes no more than this, in place: what stands behind it is of another one.
  ASSERT_TRUE(write_heartbeat(world, state, kPlace, {42, {}, 7}).ok());
  EXPECT_EQ(std::filesystem::file_size(file), 48U);
  EXPECT_EQ(read()->counter, 42U);
  EXPECT_EQ(read()->at, WallTime{});
  ASSERT_TRUE(write_heartbeat(world, state, kPlace, {43, {}, 7, kAt}).ok());
  std::filesystem::resize_file(file, 40);
  EXPECT_EQ(read()->counter, 43U) << "it is whole as far as an older torc reads it";
  EXPECT_EQ(read()->at, WallTime{});
}

TEST_P(BothEngines, a_heartbeat_that_promises_more_than_a_hundred_years_is_none) {
  const auto store = make();
  const World world = node.world();
  const Path state = store->state_directory();
  constexpr HeartbeatPlace kPlace{5, HeartbeatFile::own};
  const auto is_read = [&](std::chrono::seconds silence) {
    EXPECT_TRUE(write_heartbeat(world, state, kPlace, {41, silence}).ok());
    return read_heartbeat(world, state, kPlace, Caches::trust)->has_value();
  };
  constexpr std::chrono::seconds kMost = std::chrono::hours(24 * 36'500);
  EXPECT_TRUE(is_read(kMost));
  EXPECT_FALSE(is_read(kMost + std::chrono::seconds(1)));
  EXPECT_FALSE(is_read(std::chrono::seconds::max()));
  EXPECT_FALSE(is_read(std::chrono::seconds(-1)));
}

TEST_P(BothEngines, the_heartbeats_of_many_workers_share_a_file_and_no_page) {
  const auto store = make();
  const Path state = store->state_directory();
  const World world = node.world();
  const EpochRange beside = epochs_beside(2000);
  const auto write = [&](std::uint64_t epoch, std::uint64_t counter) {
    return write_heartbeat(world, state, {epoch, HeartbeatFile::shared}, {counter, {}}).ok();
  };
  const auto read = [&](std::uint64_t epoch) {
    return *read_heartbeat(world, state, {epoch, HeartbeatFile::shared}, Caches::bypass);
  };
  ASSERT_TRUE(write(beside.first, 1) && write(beside.last, 2) && write(beside.last + 1, 3));
  EXPECT_EQ(read(beside.first)->counter, 1U);
  EXPECT_EQ(read(beside.last)->counter, 2U);
  EXPECT_FALSE(read(beside.first + 1));
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(state / "beats")) {
    // Holes, but for a block a worker.
    struct stat status {};
    ASSERT_EQ(::stat(file.path().c_str(), &status), 0);
    EXPECT_LE(status.st_blocks * 512, 2 * 65536);
    ++files;
  }
  EXPECT_EQ(files, 2U);
}

// --- what is refused ---

TEST(Open, says_when_there_is_nothing) {
  ScratchDirectory scratch;
  Node node(scratch.path());
  auto opened = Store::open(node.world(), scratch.path() / "none.torc", quick());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::not_found);
  EXPECT_NE(opened.error().text().find("torc init"), std::string::npos);
}

TEST(Open, says_what_is_in_a_directory_that_is_no_store) {
  ScratchDirectory scratch;
  Node node(scratch.path());
  std::filesystem::create_directories(scratch.path() / "other" / "thesis.tex");
  auto opened = Store::open(node.world(), scratch.path() / "other", quick());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::not_found);
  EXPECT_NE(opened.error().text().find("thesis.tex"), std::string::npos);
}

class BadMeta : public ::testing::Test {
 protected:
  Error open_with(const std::function<void(std::string&)>& change,
                  Engine engine = Engine::journal) {
    { auto made = Store::create(node.world(), directory, engine, quick(), nothing); }
    const Path file = directory / "META";
    std::string text;
    {
      std::ifstream in(file);
      text.assign(std::istreambuf_iterator<char>(in), {});
    }
    change(text);
    std::ofstream(file) << text;
    auto opened = Store::open(node.world(), directory, quick());
    return opened.ok() ? Error{} : opened.error();
  }
  ScratchDirectory scratch;
  Node node{scratch.path()};
  Path directory = scratch.path() / "wf.torc";
};

TEST_F(BadMeta, another_format_is_refused_with_both_numbers) {
  const auto with_format = [&](const std::string& number) {
    return open_with([&](std::string& t) { t.replace(t.find("format: ") + 8, 1, number); });
  };
  const std::string known = "; this one knows format " + std::to_string(kFormat);
  const Error newer = with_format("99");
  EXPECT_EQ(newer.kind, ErrorKind::unsupported);
  EXPECT_NE(newer.what.find("format 99, which is of a newer torc" + known), std::string::npos);
  EXPECT_NE(newer.remedy.find("or a newer one"), std::string::npos);
  std::filesystem::remove_all(directory);
  const Error older = with_format("3");
  EXPECT_EQ(older.kind, ErrorKind::unsupported);
  EXPECT_NE(older.what.find("format 3, which is of an older torc" + known), std::string::npos);
  EXPECT_NE(older.remedy.find("make it anew"), std::string::npos);
}

TEST_F(BadMeta, damage_is_noticed) {
  const Error e = open_with([](std::string& t) { t[t.find("id: ") + 4] ^= 1; });
  EXPECT_EQ(e.kind, ErrorKind::corrupt);
}

TEST_F(BadMeta, other_text_is_no_store) {
  const Error e = open_with([](std::string& t) { t = "hello\n"; });
  EXPECT_EQ(e.kind, ErrorKind::not_found);
}

TEST_F(BadMeta, engine_lmdb_of_another_host_is_refused_with_the_remedy) {
  { auto made = Store::create(node.world(), directory, Engine::lmdb, quick(), nothing); }
  Node elsewhere(scratch.path(), "elsewhere");
  auto opened = Store::open(elsewhere.world(), directory, quick());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::unsupported);
  EXPECT_NE(opened.error().remedy.find("--engine journal"), std::string::npos);
}

// A data file that cannot be looked at is not missing.
TEST(DataFile, that_cannot_be_looked_at_makes_no_store_damaged) {
  ScratchDirectory scratch;
  FaultyDisk faulty;
  Node node(scratch.path(), "here", 1, &faulty);
  const Path directory = scratch.path() / "wf.torc";
  { auto made = Store::create(node.world(), directory, Engine::lmdb, quick(), nothing); }
  const auto open_with = [&](int os_errno) {
    faulty.oracle = [&, os_errno](const std::string& operation, const Path& path) {
      return operation == "status" && path == directory / "data.mdb" ? refuse(os_errno) : proceed();
    };
    const auto opened = Store::open(node.world(), directory, quick());
    return opened.ok() ? Error{} : opened.error();
  };
  for (const int e : {EIO, EACCES, ENOTCONN, EMFILE}) {
    const Error error = open_with(e);
    EXPECT_NE(error.kind, ErrorKind::corrupt) << error.text();
    EXPECT_EQ(error.os_errno, e) << error.text();
  }
  EXPECT_EQ(open_with(ENOENT).kind, ErrorKind::corrupt);
}

}  // namespace
}  // namespace torc::store
