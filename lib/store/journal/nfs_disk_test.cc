// The simulated network filesystem does what real clients were seen to do, and the store's answer
// to some of it, built by hand. (Random histories: tests/property/nfs_property.cc.)
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "lib/store/engine/heartbeat.h"
#include "lib/store/journal/journal_store.h"
#include "lib/store/testing/test_nfs.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;

class Wire final : public Network {
 public:
  RequestFate fate(const Request& request) override {
    if (next && request.name == for_request) return *std::exchange(next, std::nullopt);
    return RequestFate::carried;
  }
  void answered() override {}
  int error() override { return EIO; }
  void later(std::function<void()> act) override { late = std::move(act); }
  [[nodiscard]] bool alive() override { return true; }
  [[nodiscard]] int process() override { return 1; }
  bool coin() override { return true; }

  std::optional<RequestFate> next;
  std::string_view for_request;
  std::function<void()> late;
};

class TwoClients : public ::testing::Test {
 protected:
  NfsDisk client(NfsOptions options = {}) { return {server, clock, wire, options}; }
  static bool write(Disk& disk, const Path& path, std::string_view bytes) {
    return write_file(disk, path, bytes, Durable::yes).ok();
  }
  static int error_of(const Result<std::string>& r) { return r.ok() ? 0 : r.error().os_errno; }

  ManualClock clock;
  Wire wire;
  NfsServer server{FileServer(NamesLast::at_once), clock};
};

TEST_F(TwoClients, a_name_looked_up_too_early_stays_absent_until_its_directory_is_listed) {
  NfsDisk a = client(), b = client();
  EXPECT_EQ(error_of(read_file(a, "/x")), ENOENT);
  ASSERT_TRUE(write(b, "/x", "1"));
  clock.advance(std::chrono::seconds(29));
  EXPECT_EQ(error_of(read_file(a, "/x")), ENOENT);
  EXPECT_EQ(a.create("/x").error().os_errno, EEXIST) << "the server was not asked";
  ASSERT_TRUE(a.list("/").ok());
  EXPECT_EQ(*read_file(a, "/x"), "1");
}

TEST_F(TwoClients, a_reader_sees_what_was_closed_before_it_opened) {
  NfsDisk a = client(), b = client();
  ASSERT_TRUE(write(a, "/x", "1"));
  const auto early = b.open_read("/x");
  ASSERT_EQ(*b.read(*early, 0, 9), "1");
  const auto update = a.open_update("/x");
  ASSERT_TRUE(a.write(*update, 0, "2").ok());
  EXPECT_EQ(*read_file(b, "/x"), "1") << "not closed yet";
  ASSERT_TRUE(a.close(*update).ok());
  EXPECT_EQ(*read_file(b, "/x"), "2");
}

// Where two clients write at once, whole pages are sent, and nothing but pages.
TEST_F(TwoClients, clients_undo_each_others_writes_in_the_same_page_only) {
  constexpr std::uint64_t kFar = FileContent::kPage;
  NfsDisk a = client(), b = client();
  ASSERT_TRUE(write(a, "/x", "aabb"));
  const auto of_a = a.open_update("/x"), of_b = b.open_update("/x");
  ASSERT_TRUE(a.write(*of_a, 0, "AA").ok());
  ASSERT_TRUE(a.write(*of_a, kFar, "far").ok());
  ASSERT_TRUE(b.write(*of_b, 2, "BB").ok());
  ASSERT_TRUE(b.write(*of_b, 2 * kFar, "farther").ok());
  ASSERT_TRUE(a.close(*of_a).ok());
  ASSERT_TRUE(b.close(*of_b).ok());
  for (NfsDisk* disk : {&a, &b}) {
    EXPECT_EQ(*disk->read_at("/x", 0, 4, Caches::trust), "aaBB");
    EXPECT_EQ(*disk->read_at("/x", kFar, 4, Caches::trust), std::string("far\0", 4));
    EXPECT_EQ(*disk->read_at("/x", 2 * kFar, 99, Caches::trust), "farther");
  }
}

TEST_F(TwoClients, what_was_not_synced_dies_with_its_host) {
  NfsOptions write_back;
  write_back.close_sends = false;
  NfsDisk a = client(write_back), b = client(write_back);
  for (const Durable durable : {Durable::no, Durable::yes}) {
    const Path path = durable == Durable::yes ? "/synced" : "/not";
    ASSERT_TRUE(write_file(a, path, "bytes", durable).ok());
  }
  a.power_off();
  EXPECT_EQ(*read_file(b, "/not"), "");
  EXPECT_EQ(*read_file(b, "/synced"), "bytes");
}

TEST_F(TwoClients, a_file_that_is_removed_under_a_reader_is_stale_and_ones_own_is_hidden) {
  NfsDisk a = client(), b = client();
  ASSERT_TRUE(write(a, "/x", "1"));
  const auto held = a.open_read("/x");
  ASSERT_TRUE(read_file(b, "/x").ok());
  ASSERT_TRUE(a.unlink("/x").ok());
  ASSERT_EQ(b.list("/")->size(), 1U);
  EXPECT_TRUE(b.list("/")->front().starts_with(".nfs"));
  ASSERT_TRUE(a.close(*held).ok());
  EXPECT_TRUE(b.list("/")->empty());
  NfsOptions shows;
  shows.retries_stale = false;
  NfsDisk c = client(shows);
  ASSERT_TRUE(write(b, "/y", "1"));
  ASSERT_TRUE(read_file(c, "/y").ok());
  ASSERT_TRUE(b.unlink("/y").ok());
  EXPECT_EQ(c.open_read("/y").error().os_errno, ESTALE);
  EXPECT_EQ(c.open_read("/y").error().os_errno, ENOENT);
}

TEST_F(TwoClients, a_heartbeat_that_was_looked_for_too_early_is_seen_when_it_comes) {
  NfsDisk a = client(), b = client();
  const ScratchDirectory scratch;
  Node writer(scratch.path(), "a", 1, &a), reader(scratch.path(), "b", 2, &b);
  ASSERT_TRUE(a.make_directory("/beats").ok());
  EXPECT_FALSE(*read_heartbeat(reader.world(), "/", {7}, Caches::trust));
  ASSERT_TRUE(write_heartbeat(writer.world(), "/", {7}, {1, {}}).ok());
  const auto seen = read_heartbeat(reader.world(), "/", {7}, Caches::trust);
  ASSERT_TRUE(seen.ok() && *seen) << "absent, says the client's memory";
  EXPECT_EQ((*seen)->counter, 1U);
}

// With one file for all, each of two workers that write heartbeats takes the other for dead.
TEST_F(TwoClients, heartbeats_are_seen_where_own_writes_keep_a_clients_pages) {
  NfsOptions gluster;
  gluster.keeps_own_pages = true;
  NfsDisk a = client(gluster), b = client(gluster);
  const ScratchDirectory scratch;
  Node one(scratch.path(), "a", 1, &a), two(scratch.path(), "b", 2, &b);
  ASSERT_TRUE(a.make_directory("/beats").ok());
  const auto counters = [&](HeartbeatFile file) {
    for (std::uint64_t n = 1; n <= 5; ++n) {
      EXPECT_TRUE(write_heartbeat(one.world(), "/", {1, file}, {n, {}}).ok());
      EXPECT_TRUE(write_heartbeat(two.world(), "/", {2, file}, {n, {}}).ok());
    }
    const auto of = [&](Node& reader, std::uint64_t epoch) {
      const auto heartbeat = read_heartbeat(reader.world(), "/", {epoch, file}, Caches::trust);
      return heartbeat.ok() && *heartbeat ? (*heartbeat)->counter : 0;
    };
    return std::pair(of(one, 2), of(two, 1));
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(counters(HeartbeatFile::own), Pair(5, 5));
  EXPECT_NE(counters(HeartbeatFile::shared), Pair(5, 5)) << "or this shows nothing";
}

class OnNfs : public TwoClients {
 protected:
  void SetUp() override {
    ASSERT_TRUE(disk.make_directory("/s").ok());
    auto made = Store::create(node.world(), "/s/wf.torc", Engine::journal, tuning, put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    store = std::move(*made);
  }
  Tuning tuning = [] {
    Tuning t = quick();
    t.sync = true;
    return t;
  }();
  ScratchDirectory scratch;
  NfsDisk disk = client();
  Node node{scratch.path(), "node", 1, &disk};
  std::unique_ptr<Store> store;
};

TEST_F(OnNfs, a_commit_costs_at_most_nine_requests_of_which_five_change_something) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(store->commit(1, put("x", "0")).ok());
  node.clock.advance(std::chrono::seconds(1));  // nothing is left out
  const std::uint64_t before = disk.requests();
  const std::uint64_t changing = disk.changing_requests();
  ASSERT_TRUE(store->commit(1, put("x", "1")).ok());
  std::printf("%d requests, %d of them changing\n", static_cast<int>(disk.requests() - before),
              static_cast<int>(disk.changing_requests() - changing));
  EXPECT_LE(disk.requests() - before, 9U);
  EXPECT_LE(disk.changing_requests() - changing, 5U);
}

// The first look for the name finds nothing, and a client would go on telling so for half a minute.
TEST_F(OnNfs, a_link_that_arrives_after_its_name_was_looked_for_is_found_out) {
  node.clock.advance(std::chrono::seconds(1));
  wire.for_request = "LINK";
  wire.next = RequestFate::late;
  class Between final : public Network {  // it arrives just before the temporary name goes
   public:
    explicit Between(Wire& wire) : wire_(wire) {}
    RequestFate fate(const Request& request) override {
      const RequestFate fate = wire_.fate(request);
      if (std::string_view(request.name) == "REMOVE" && wire_.late) {
        std::exchange(wire_.late, nullptr)();
        arrived = true;
      }
      return fate;
    }
    void answered() override {}
    int error() override { return EIO; }
    void later(std::function<void()> act) override { wire_.later(std::move(act)); }
    [[nodiscard]] bool alive() override { return true; }
    [[nodiscard]] int process() override { return 1; }
    bool coin() override { return true; }
    bool arrived = false;

   private:
    Wire& wire_;
  } between(wire);
  NfsDisk other(server, clock, between, {});
  Node second(scratch.path(), "second", 2, &other);
  auto opened = Store::open(second.world(), "/s/wf.torc", tuning);
  ASSERT_TRUE(opened.ok());
  const auto done = (*opened)->commit(1, put("late", "1"));
  ASSERT_TRUE(between.arrived);
  EXPECT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(value_of(*store, "late"), "1");
}

}  // namespace
}  // namespace torc::store
