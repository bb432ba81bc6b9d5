// What a store asks of the filesystem over hours of work: requests for each commit, files that are
// there at any time. By the clock of the test, at the rate of the design: 20 commits a second.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "lib/store/disk/request_count.h"
#include "lib/store/format/segment.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

constexpr std::chrono::nanoseconds kBetweenCommits = std::chrono::milliseconds(50);

struct Host {
  Host(const Path& scratch, std::uint64_t seed)
      : node(scratch, std::string("h").append(std::to_string(seed)), seed, &disk) {
    disk.oracle = [this](const std::string& operation, const Path& path) {
      if (operation == "create_unnamed") return refuse(EOPNOTSUPP);  // as NFS
      // What this host has written or read it reads again without a request: opening the file has
      // shown that it is the same.
      if (operation == "open_read") cached = !known.insert(path).second;
      if (operation == "link") known.insert(path);
      if (operation == "read" && cached) return proceed();
      requests.add(operation);
      by_kind[operation]++;
      return fails && fails(path) ? refuse(EIO) : proceed();
    };
  }
  FaultyDisk disk;
  Node node;
  RequestCount requests;
  std::map<std::string, int> by_kind;
  std::set<Path> known;  // files
  bool cached = false;   // the one opened last is one of them
  std::function<bool(const Path&)> fails;
  std::unique_ptr<Store> store;
};

class RequestBudget : public ::testing::Test {
 protected:
  void begin(std::size_t count, std::uint64_t checkpoint_commits = Tuning{}.checkpoint_commits) {
    tuning.checkpoint_commits = checkpoint_commits;
    for (std::size_t i = 0; i < count; ++i)
      hosts.push_back(std::make_unique<Host>(scratch.path(), i + 1));
    auto made =
        Store::create(hosts[0]->node.world(), directory, Engine::journal, tuning, put("a", "1"));
    ASSERT_TRUE(made.ok()) << made.error().text();
    hosts[0]->store = std::move(*made);
    for (auto& host : hosts) {
      if (host->store) continue;
      auto opened = Store::open(host->node.world(), directory, tuning);
      ASSERT_TRUE(opened.ok()) << opened.error().text();
      host->store = std::move(*opened);
    }
  }
  void commit(Host& host) {
    for (auto& each : hosts) each->node.clock.advance(between_commits);
    const auto done = host.store->commit(1, put("k" + std::to_string(commits_made % 500), "v"));
    ASSERT_TRUE(done.ok()) << done.error().text();
    (void)host.store->maintain();
    ++commits_made;
  }
  [[nodiscard]] std::size_t files() const {
    std::size_t out = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      const std::string path = entry.path().string();
      if (entry.is_regular_file() && path.find("/beats/") == std::string::npos) ++out;
    }
    return out;
  }
  // So many commits by hosts that follow one another by chance; the most files that were there.
  std::size_t most_files(int commits) {
    SeededEntropy chance(7);
    std::size_t most = 0;
    for (int i = 0; i < commits && !HasFailure(); ++i) {
      commit(*hosts[chance.next() % hosts.size()]);
      if (i % 25 == 0) most = std::max(most, files());
    }
    return most;
  }

  ScratchDirectory scratch;
  Path directory = scratch.path() / "wf.torc";
  Tuning tuning = quick();
  std::vector<std::unique_ptr<Host>> hosts;
  std::chrono::nanoseconds between_commits = kBetweenCommits;
  int commits_made = 0;
};

TEST_F(RequestBudget, hours_at_the_full_rate_leave_less_than_a_thousand_files) {
  begin(4);
  const std::size_t most = most_files(60 * 60 * 20);
  std::printf("small state: at most %zu files\n", most);
  EXPECT_LE(most, 1000u);
}

TEST_F(RequestBudget, of_a_large_state_too) {
  begin(4, 2 * Tuning{}.checkpoint_commits);
  const std::size_t most = most_files(20 * 60 * 20);
  std::printf("large state: at most %zu files\n", most);
  EXPECT_LE(most, 1000u);
}

// Everything that the hosts asked for, divided by the commits they made: what it costs to learn of
// the others' commits, the segments, snapshots and the collection are in it.
struct Cost {
  double all = 0;
  double modifying = 0;
};
Cost cost_of(const std::vector<std::unique_ptr<Host>>& hosts, const std::function<void()>& work,
             int commits) {
  RequestCount before;
  for (const auto& host : hosts) {
    before.all += host->requests.all;
    before.modifying += host->requests.modifying;
    host->by_kind.clear();
  }
  work();
  RequestCount after;
  std::map<std::string, int> by_kind;
  for (const auto& host : hosts) {
    after.all += host->requests.all;
    after.modifying += host->requests.modifying;
    for (const auto& [kind, count] : host->by_kind) by_kind[kind] += count;
  }
  const RequestCount spent = after - before;
  for (const auto& [kind, count] : by_kind)
    std::printf("  %-18s %.3f\n", kind.c_str(), static_cast<double>(count) / commits);
  const Cost out{static_cast<double>(spent.all) / commits,
                 static_cast<double>(spent.modifying) / commits};
  std::printf("  requests %.2f, modifying %.2f\n", out.all, out.modifying);
  return out;
}

TEST_F(RequestBudget, a_commit_and_all_maintenance_for_it_cost_few_requests) {
  begin(1);
  const Cost cost = cost_of(
      hosts,
      [&] {
        for (int i = 0; i < 6400; ++i) commit(*hosts[0]);
      },
      6400);
  EXPECT_LE(cost.all, 7.5);
  // Four make the commit, the fifth deletes it when its time has come; segments, snapshots and
  // directories are the rest.
  EXPECT_LE(cost.modifying, 5.3);
}

// A host that is not alone looks for others before each commit (1), reads what they committed (2)
// and makes sure of it (1: the commit before, whose content it has).
TEST_F(RequestBudget, of_two_hosts_by_turns_each_pays_for_what_it_reads_besides) {
  begin(2);
  for (const auto pause : {kBetweenCommits, kBetweenCommits / 10}) {
    between_commits = pause;
    const Cost cost = cost_of(
        hosts,
        [&] {
          for (std::size_t i = 0; i < 6400; ++i) commit(*hosts[i % 2]);
        },
        6400);
    EXPECT_LE(cost.all, 11.5);
    EXPECT_LE(cost.modifying, 5.3);
  }
}

}  // namespace
}  // namespace torc::store
