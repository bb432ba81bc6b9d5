// What people are told when the disk is full: which file could not be written, and what to do.
#include <gtest/gtest.h>

#include <set>

#include "lib/store/engine/heartbeat.h"
#include "lib/store/maintenance/backup.h"
#include "lib/store/testing/test_hosts.h"

namespace torc::store {
namespace {

using namespace testing;

// Does `work` again and again, each time with one more step on the way to a full disk.
class ToldOfAFullDisk : public Hosts {
 protected:
  void expect_told(const char* what, const std::function<Result<void>(int round)>& work) {
    SCOPED_TRACE(what);
    const std::set<std::string> writing{"write",  "sync",           "close",          "create",
                                        "link",   "link_unnamed",   "create_unnamed", "open_update",
                                        "rename", "make_directory", "sync_directory"};
    int failed = 0;
    for (int left = 0;; ++left) {
      int step = 0;
      faulty.oracle = [&](const std::string& operation, const Path&) {
        return writing.contains(operation) && step++ >= left ? refuse(ENOSPC) : proceed();
      };
      const Result<void> done = work(left);
      faulty.oracle = [](const std::string&, const Path&) { return proceed(); };
      if (!done.ok()) {
        ++failed;
        EXPECT_NE(done.error().what.find(scratch.path().string()), std::string::npos)
            << left << ": " << done.error().text();
        EXPECT_FALSE(done.error().remedy.empty()) << left << ": " << done.error().text();
      }
      if (step <= left) break;
    }
    EXPECT_GT(failed, 0);
  }
  static Tuning durable() {
    Tuning out = hasty();
    out.sync = true;
    return out;
  }
};

TEST_F(ToldOfAFullDisk, people_learn_the_file_and_what_to_do) {
  a.reset();
  b.reset();
  for (const std::uint64_t magic : {std::uint64_t{0}, std::uint64_t{0x6969}}) {
    faulty.magic = magic;  // as NFS: no file without a name
    const std::string kind = magic == 0 ? "local" : "nfs";
    const auto store_of = [&](int round) {
      return scratch.path() / (kind + std::to_string(round) + ".torc");
    };
    expect_told("create", [&](int round) -> Result<void> {
      TORC_TRY(
          Store::create(first.world(), store_of(round), Engine::journal, durable(), put("a", "1")));
      return {};
    });
    const Path made = scratch.path() / (kind + ".torc");
    {
      const auto created =
          Store::create(first.world(), made, Engine::journal, durable(), put("a", "1"));
      ASSERT_TRUE(created.ok()) << created.error().text();
    }
    auto store = Store::open(first.world(), made, durable());
    ASSERT_TRUE(store.ok()) << store.error().text();
    expect_told("commit", [&](int round) -> Result<void> {
      TORC_TRY((*store)->commit(1, put("k", std::to_string(round).c_str())));
      return {};
    });
    const Path state_there = (*store)->state_directory();
    expect_told("heartbeat", [&](int) {
      return write_heartbeat(first.world(), state_there, {1}, {1, std::chrono::seconds(60), 1});
    });
    expect_told("backup", [&](int round) -> Result<void> {
      BackupRequest request;
      request.destination = scratch.path() / (kind + "-copy-" + std::to_string(round));
      TORC_TRY(backup(first.world(), made, request));
      return {};
    });
  }
}

}  // namespace
}  // namespace torc::store
