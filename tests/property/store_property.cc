// Random histories of several hosts on one store, with crashes, lost replies, locks that lie,
// lagging readers, hasty snapshots and collection, against one plain map. Each host has its own
// replicas, clock and Disk; a crash throws a Store away in the middle of a commit. What must hold
// whatever happens:
//   one content per sequence number, ever;  acknowledged means in the chain;  not acknowledged and
//   not unknown means not in it;  every host's state at number N is the state that the chain gives
//   at N;  verify finds nothing.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/store/engine/memory_state.h"
#include "lib/store/format/journal.h"
#include "lib/store/testing/test_disk.h"
#include "lib/store/testing/test_world.h"

#if defined(__SANITIZE_THREAD__)
// One thread plays all hosts, so one of them works inside a call of another, in any order: what
// looks like locks that are taken in a circle are those of hosts that never wait for each other.
extern "C" const char* __tsan_default_options() {
  return "detect_deadlocks=0";
}
#endif

namespace torc::store {
namespace {

using namespace torc::store::testing;

// `crashed` hosts fail every further operation, as if the process were gone.
struct Host {
  Host(const Path& scratch, const std::string& name, std::uint64_t seed)
      : node(scratch, name, seed, &disk) {}
  FaultyDisk disk;
  Node node;
  std::unique_ptr<Store> store;
};

struct Ledger {
  std::map<std::uint64_t, std::string> contents;  // bytes of each commit file ever seen, by number
  std::map<std::string, std::uint64_t> acknowledged;  // tag of a commit, its number
  std::set<std::string> refused;                      // tags of commits that surely did not happen
  std::map<std::uint64_t, MemoryState> states;        // by number, as the chain gives them
};

enum class Locks : std::uint8_t { real, always_fail, always_succeed };

class Simulation {
 public:
  Simulation(Engine engine, Locks locks, std::uint64_t seed)
      : engine_(engine), locks_(locks), random_(seed) {
    tuning_ = quick();
    tuning_.checkpoint_commits = 8;
    tuning_.retention = std::chrono::seconds(20);
    tuning_.replica_wait = std::chrono::milliseconds(5);
    directory_ = scratch_.path() / "wf.torc";
    const std::uint64_t count = engine == Engine::lmdb ? 1 : 3;
    for (std::uint64_t i = 0; i < count; ++i) {
      hosts_.push_back(std::make_unique<Host>(
          scratch_.path(), std::string("h").append(std::to_string(i)), seed * 16 + i));
    }
    for (auto& host : hosts_) heal(*host);
  }

  void run(std::size_t steps) {
    auto made =
        Store::create(hosts_[0]->node.world(), directory_, engine_, tuning_, write("first"));
    RC_ASSERT(made.ok());
    hosts_[0]->store = std::move(*made);
    state_ = hosts_[0]->store->state_directory();
    acknowledge("first", 1);
    for (std::size_t i = 0; i < steps; ++i) step();
    for (auto& host : hosts_) heal(*host);
    check_everything();
  }

 private:
  std::uint64_t pick(std::uint64_t below) { return random_.next() % below; }
  Host& some_host() { return *hosts_[pick(hosts_.size())]; }

  // Each commit sets its own tag, overwrites one of few keys by what it read there, and now and
  // then erases one.
  Store::Body write(const std::string& tag) {
    const std::string key = std::string("k").append(std::to_string(pick(6)));
    const std::string victim = std::string("k").append(std::to_string(pick(6)));
    const bool erase = pick(3) == 0;
    return [=](Transaction& tx) -> Result<void> {
      const auto before = tx.get(key);
      std::string next = (before ? std::string(*before) : std::string()) + "," + tag;
      if (next.size() > 60) next.erase(0, next.size() - 60);
      tx.put(key, next);
      tx.put(std::string("t").append(tag), std::to_string(tx.sequence()));
      if (erase) tx.erase(victim);
      return {};
    };
  }

  void heal(Host& host) {
    const Locks locks = locks_;
    host.disk.oracle = [locks](const std::string& operation, const Path&) {
      if (operation == "try_lock" && locks == Locks::always_fail) return refuse(ENOLCK);
      return proceed();
    };
    host.disk.locks_lie = locks == Locks::always_succeed;
    host.disk.after = [](const std::string&, const Path&) {};
  }

  // From the nth operation on: one failure, or the death of the process.
  enum class Fault : std::uint8_t { refuse, lose_reply, die_before, die_after };
  void strike(Host& host, std::uint64_t nth, Fault fault) {
    auto count = std::make_shared<std::uint64_t>(0);
    static constexpr int kErrors[] = {EIO, ENOSPC, ESTALE, EDQUOT, ETIMEDOUT};
    const int e = kErrors[pick(std::size(kErrors))];
    host.disk.oracle = [=](const std::string&, const Path&) {
      const std::uint64_t at = (*count)++;
      if (at < nth) return proceed();
      switch (fault) {
        case Fault::refuse:
          return at == nth ? refuse(e) : proceed();
        case Fault::lose_reply:
          return at == nth ? lose_reply(e) : proceed();
        case Fault::die_before:
          return refuse(EIO);
        case Fault::die_after:
          return at == nth ? lose_reply(EIO) : refuse(EIO);
      }
      return proceed();
    };
  }

  bool ensure_open(Host& host) {
    if (host.store) return true;
    auto opened = Store::open(host.node.world(), directory_, tuning_);
    RC_ASSERT(opened.ok());
    host.store = std::move(*opened);
    return true;
  }

  void step() {
    Host& host = some_host();
    ensure_open(host);
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        commit(host);
        break;
      case 4:
      case 5:
        commit_under(host, pick(2) == 0 ? Fault::refuse : Fault::lose_reply);
        break;
      case 6:
        commit_under(host, pick(2) == 0 ? Fault::die_before : Fault::die_after);
        break;
      case 7:
        frozen_commit(host);
        break;
      case 8:
        check_view(host, pick(2) == 0 ? Freshness::latest : Freshness::cached);
        break;
      case 9:
        host.node.clock.advance(std::chrono::seconds(pick(30)));
        break;
      case 10:
        host.store.reset();
        break;
      default:
        maintenance(host);
        break;
    }
    record_files();
  }

  void maintenance(Host& host) {
    const auto done = host.store->maintain();
    RC_ASSERT(done.ok());
  }

  void acknowledge(const std::string& tag, std::uint64_t number) {
    for (const auto& [other, taken] : ledger_.acknowledged) RC_ASSERT(taken != number);
    ledger_.acknowledged[tag] = number;
  }

  void judge(const std::string& tag, const Result<Commit>& done) {
    if (done.ok()) {
      RC_ASSERT(done->wrote);
      acknowledge(tag, done->sequence);
    } else if (done.error().kind != ErrorKind::unknown) {
      ledger_.refused.insert(tag);
    }
  }

  std::string new_tag() { return std::to_string(++tags_); }

  void commit(Host& host) {
    const std::string tag = new_tag();
    const auto done = host.store->commit(1, write(tag));
    RC_ASSERT(done.ok());
    judge(tag, done);
  }

  void commit_under(Host& host, Fault fault) {
    const std::string tag = new_tag();
    strike(host, pick(14), fault);
    const auto done = host.store->commit(1, write(tag));
    const bool dies = fault == Fault::die_before || fault == Fault::die_after;
    if (done.ok() || !dies)
      judge(tag, done);  // what a dying process believes it cannot tell anybody
    if (dies) host.store.reset();
    heal(host);
  }

  // The host stands still before or after one of the operations of its commit, while others work
  // and collect.
  void frozen_commit(Host& host) {
    if (hosts_.size() < 2) return commit(host);
    const std::string tag = new_tag();
    Host* other = &host;
    while (other == &host) other = &some_host();
    ensure_open(*other);
    const std::uint64_t nth = pick(8);
    auto count = std::make_shared<std::uint64_t>(0);
    const std::uint64_t work = 1 + pick(90);
    host.disk.after = [=, this, &host](const std::string&, const Path&) {
      if ((*count)++ != nth) return;
      for (std::uint64_t i = 0; i < work; ++i) {
        commit(*other);
        if (i % 4 == 0) maintenance(*other);
        if (i % 16 == 0) other->node.clock.advance(std::chrono::seconds(15));
        record_files();
      }
      host.node.clock.advance(std::chrono::minutes(5));
    };
    const auto done = host.store->commit(1, write(tag));
    RC_ASSERT(done.ok());
    judge(tag, done);
    heal(host);
  }

  // One content per number, ever.
  void record_files() {
    if (engine_ == Engine::lmdb) return;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(state_ / "journal")) {
      const auto number = number_of(entry.path().filename().string());
      if (!entry.is_regular_file() || !number) continue;
      struct stat st {};
      if (::lstat(entry.path().c_str(), &st) != 0 || stable_.contains({*number, st.st_ino}))
        continue;
      const auto bytes = read_file(disk_, entry.path());
      if (!bytes.ok()) continue;
      const auto [known, fresh] = ledger_.contents.emplace(*number, *bytes);
      RC_ASSERT(fresh || known->second == *bytes);
      stable_.insert({*number, st.st_ino});
    }
  }

  // The chain as recorded, replayed by hand.
  void replay_chain() {
    if (engine_ == Engine::lmdb) return;
    MemoryState state;
    state.number = 0;
    const StoreId id = hosts_[0]->store->identity().id;
    Hash128 chain{};
    for (const auto& [number, bytes] : ledger_.contents) {
      RC_ASSERT(number == state.number + 1);
      const auto file = decode_commit(id, number, bytes, "recorded");
      RC_ASSERT(file.ok());
      RC_ASSERT(file->header.before == chain);
      RC_ASSERT(replay(
          file->writes,
          [&](std::string_view k, std::string_view v) {
            // No body took effect twice: its tag is new.
            if (k.starts_with("t")) RC_ASSERT(!state.get(k).has_value());
            state.put(k, v);
          },
          [&](std::string_view k) { state.erase(k); }));
      chain = file->after;
      state.number = number;
      ledger_.states[number] = state;
    }
  }

  void check_view(Host& host, Freshness freshness) {
    const auto seen = host.store->view(freshness, [&](const Reader& reader) -> Result<void> {
      // What was acknowledged up to this number is there, under its number.
      for (const auto& [tag, number] : ledger_.acknowledged) {
        const auto value = reader.get(std::string("t").append(tag));
        if (number <= reader.sequence()) {
          RC_ASSERT(value.has_value());
          RC_ASSERT(*value == std::to_string(number));
        } else {
          RC_ASSERT(!value.has_value());
        }
      }
      for (const std::string& tag : ledger_.refused)
        RC_ASSERT(!reader.get(std::string("t").append(tag)));
      if (freshness == Freshness::latest && !ledger_.acknowledged.empty()) {
        for (const auto& [tag, number] : ledger_.acknowledged)
          RC_ASSERT(number <= reader.sequence());
      }
      return {};
    });
    RC_ASSERT(seen.ok());
  }

  void check_everything() {
    for (auto& host : hosts_) {
      ensure_open(*host);
      check_view(*host, Freshness::latest);
    }
    record_files();
    replay_chain();
    for (auto& host : hosts_) {
      const auto same =
          host->store->view(Freshness::latest, [&](const Reader& reader) -> Result<void> {
            if (engine_ == Engine::lmdb) return {};
            const MemoryState& expected = ledger_.states.at(reader.sequence());
            auto at = expected.entries.begin();
            reader.scan("\1", [&](const Entry& e) {
              RC_ASSERT(at != expected.entries.end());
              RC_ASSERT(at->first == e.key);
              RC_ASSERT(at->second == e.value);
              ++at;
              return true;
            });
            RC_ASSERT(at == expected.entries.end());
            return {};
          });
      RC_ASSERT(same.ok());
    }
    Node inspector(scratch_.path(), engine_ == Engine::lmdb ? "h0" : "inspector", 7);
    const auto verified = verify(inspector.world(), directory_, no_check);
    if (!verified.ok()) RC_FAIL(verified.error().text());
  }

  ScratchDirectory scratch_;
  Engine engine_;
  Locks locks_;
  SeededEntropy random_;
  Tuning tuning_;
  Path directory_;
  Path state_;  // in it
  PosixDisk disk_;
  std::vector<std::unique_ptr<Host>> hosts_;
  Ledger ledger_;
  std::set<std::pair<std::uint64_t, std::uint64_t>>
      stable_;  // number and inode of files that were compared
  std::uint64_t tags_ = 0;
};

RC_GTEST_PROP(JournalStore, keeps_every_promise_to_several_hosts, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto steps = *rc::gen::inRange<std::size_t>(10, 120);
  const auto locks = *rc::gen::element(Locks::real, Locks::always_fail, Locks::always_succeed);
  Simulation(Engine::journal, locks, seed).run(steps);
}

RC_GTEST_PROP(LmdbStore, keeps_every_promise_to_one_host, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto steps = *rc::gen::inRange<std::size_t>(10, 120);
  Simulation(Engine::lmdb, Locks::real, seed).run(steps);
}

}  // namespace
}  // namespace torc::store
