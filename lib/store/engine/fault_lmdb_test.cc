// Every fault at every operation that engine lmdb does through Disk (its data it writes itself; a
// full disk under that is in tests/integration), and at those of the heartbeats.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "lib/store/disk/gate.h"
#include "lib/store/engine/heartbeat.h"
#include "lib/store/testing/test_fault_case.h"

namespace torc::store {
namespace {

using namespace torc::store::testing;
namespace fs = std::filesystem;

// Counts operations, and lets the fault strike at the nth.
struct Struck {
  explicit Struck(FaultyDisk& disk, std::uint64_t nth, Fault fault) {
    disk.oracle = [this, nth, fault](const std::string& name, const Path&) {
      names.push_back(name);
      return names.size() <= nth ? proceed() : fault.fate(names.size() == nth + 1);
    };
  }
  std::vector<std::string> names;
};

const Fault kNone{Fault::Kind::refuse, 0};
constexpr std::uint64_t kNever = 1U << 30U;

void heal(FaultyDisk& disk) {
  disk.oracle = [](const std::string&, const Path&) { return proceed(); };
}

// A power cut is beyond what this disk can do.
std::vector<Fault> faults(const std::vector<std::string>& names, std::size_t nth) {
  std::vector<Fault> out = faults_on(names[nth], nth + 1 == names.size());
  std::erase_if(out, [](const Fault& b) { return b.kind > Fault::Kind::crash_after; });
  return out;
}

class OneHost {
 public:
  Result<void> create() {
    TORC_ASSIGN(store, Store::create(node.world(), directory, Engine::lmdb, quick(), put("a", "1"),
                                     {{"spec.yaml", "x"}}));
    return {};
  }
  Result<void> open() {
    TORC_ASSIGN(store, Store::open(node.world(), directory, quick()));
    return {};
  }
  // What must hold on a healthy disk afterwards; empty: it does.
  std::string check() {
    heal(disk);
    store.reset();
    if (!fs::exists(directory)) return create().ok() ? "" : "it cannot be made again";
    if (!fs::exists(directory / "spec.yaml")) return "it is there, but not whole";
    if (const auto opened = open(); !opened.ok()) return opened.error().text();
    if (value_of(*store, "a") != "1") return "its first commit is missing";
    if (!store->commit(1, put("b", "2")).ok()) return "no commit is possible";
    store.reset();
    const auto verified = verify(node.world(), directory, no_check);
    return verified.ok() ? "" : verified.error().text();
  }

  ScratchDirectory scratch;
  FaultyDisk disk;
  Node node{scratch.path(), "node", 1, &disk};
  Path directory = scratch.path() / "wf.torc";
  std::unique_ptr<Store> store;
};

int each_fault(const char* what, const std::function<Result<void>(OneHost&)>& before,
               const std::function<Result<void>(OneHost&)>& act) {
  std::vector<std::string> names;
  {
    OneHost host;
    EXPECT_TRUE(before(host).ok());
    const Struck counted(host.disk, kNever, kNone);
    EXPECT_TRUE(act(host).ok());
    names = counted.names;
  }
  int cases = 0;
  for (std::size_t nth = 0; nth < names.size(); ++nth) {
    for (const Fault& fault : faults(names, nth)) {
      ++cases;
      OneHost host;
      (void)before(host);
      {
        const Struck struck(host.disk, nth, fault);
        const Result<void> told = act(host);
        EXPECT_TRUE(!told.ok() || fault.ends_process() || fs::exists(host.directory));
        heal(host.disk);
      }
      const std::string wrong = host.check();
      // A disk that lied: the error must name the file.
      const bool named = fault.lies() && wrong.starts_with((host.directory / "").string());
      EXPECT_TRUE(wrong.empty() || named) << what << ": operation " << nth << " (" << names[nth]
                                          << ") " << fault.text() << "\n  " << wrong;
    }
  }
  std::printf("%-44s %4zu operations %6d cases\n", what, names.size(), cases);
  return cases;
}

TEST(EveryFault, of_the_embedded_engine_leaves_all_of_a_store_or_nothing) {
  const auto nothing_before = [](OneHost&) { return Result<void>(); };
  EXPECT_GE(each_fault("create with lmdb", nothing_before, [](OneHost& h) { return h.create(); }),
            300);
  EXPECT_GE(each_fault(
                "open with lmdb",
                [](OneHost& h) {
                  const auto made = h.create();
                  h.store.reset();
                  return made;
                },
                [](OneHost& h) { return h.open(); }),
            50);
}

// A write that a full disk cut short: the environment must be opened anew, which may have to wait
// for whoever has its lock. Others of this store do not wait for that.
int gate_while_opening_anew(const Path& point) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", point.c_str(), "tmpfs", 0, "size=2m") != 0)
    return 99;
  FaultyDisk disk;
  Node node(point, "node", 1, &disk);
  const Path directory = point / "wf.torc";
  auto store = Store::create(node.world(), directory, Engine::lmdb, quick(), put("a", "1"));
  if (!store.ok()) return 2;
  {
    std::ofstream filler(point / "filler");
    const std::string block(4096, 'x');
    while (filler.write(block.data(), 4096).flush()) {
    }
  }
  fs::resize_file(point / "filler", fs::file_size(point / "filler") / 4096 * 4096 - 3 * 4096);
  Path gate;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("gate-")) gate = entry.path();
  }
  int looks = 0;
  int free = 0;
  bool committing = false;
  disk.after = [&](const std::string& op, const Path& path) {
    if (!committing || op != "open_read" || path.filename() != "META") return;
    ++looks;  // on the way to opening it anew
    const auto other = Gate::open(gate);
    if (!other.ok() || !(*other)->enter(node.clock, std::chrono::nanoseconds(0)).ok()) return;
    (*other)->leave();
    ++free;
  };
  committing = true;
  const auto done = (*store)->commit(1, put("b", std::string(100'000, 'x')));
  committing = false;
  if (done.ok() || done.error().kind != ErrorKind::no_space) return 3;
  if (looks == 0) return 4;
  return free == looks ? 0 : 5;
}

TEST(FullDisk, others_may_enter_while_the_environment_is_opened_anew) {
  const ScratchDirectory scratch;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(gate_while_opening_anew(scratch.path()));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 99)
    GTEST_SKIP() << "a mount namespace needs root";
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST(EveryFault, of_a_heartbeat_shows_an_old_one_or_a_new_one_or_none) {
  int cases = 0;
  std::size_t operations = 1;
  for (std::size_t nth = 0; nth < operations; ++nth) {
    for (const Fault& fault : faults_on("write", true)) {
      ++cases;
      FileServer server;
      MemoryDisk memory(server, kLikeNfs);
      FaultyDisk disk(&memory);
      const ScratchDirectory scratch;
      Node node(scratch.path(), "node", 1, &disk);
      ASSERT_TRUE(memory.make_directory("/beats").ok());
      ASSERT_TRUE(write_heartbeat(node.world(), "/", {7}, {41, {}}).ok());
      bool told = false;
      std::optional<std::uint64_t> under;
      {
        const Struck struck(disk, nth, fault);
        told = write_heartbeat(node.world(), "/", {7}, {42, {}}).ok();
        if (const auto seen = read_heartbeat(node.world(), "/", {7}, Caches::trust);
            seen.ok() && *seen) {
          under = (*seen)->counter;
        }
        operations = std::max(operations, struck.names.size());
        heal(disk);
      }
      const auto seen = read_heartbeat(node.world(), "/", {7}, Caches::trust);
      ASSERT_TRUE(seen.ok()) << fault.text();
      const std::uint64_t counter = *seen ? (*seen)->counter : 0;
      EXPECT_TRUE(!*seen || counter == 41 || counter == 42) << fault.text();
      EXPECT_TRUE(!under || *under == 41 || *under == 42) << fault.text();
      EXPECT_TRUE(!told || fault.lies() || fault.ends_process() || counter == 42) << fault.text();
      EXPECT_TRUE(remove_heartbeats(node.world(), "/", {7}, true).ok());
      EXPECT_EQ(memory.open_handles(), 0u) << fault.text();
    }
  }
  std::printf("%-44s %4zu operations %6d cases\n", "heartbeat", operations, cases);
  EXPECT_GE(cases, 150);
}

}  // namespace
}  // namespace torc::store
