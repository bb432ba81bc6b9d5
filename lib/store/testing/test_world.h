// What the store's tests share: a world on a scratch directory, in memory and without syncs, with a
// clock that only moves when told.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "lib/store/disk/disk.h"
#include "lib/store/engine/store.h"

namespace torc::store::testing {

class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& parent = "/dev/shm") {
    std::string pattern = parent + "/torc-test-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  Path path_;
};

// One node: its own replicas, clock and randomness. Several on one scratch directory are several
// hosts.
struct Node {
  explicit Node(const Path& scratch, const std::string& name = "node", std::uint64_t seed = 1,
                Disk* other_disk = nullptr)
      : entropy(seed),
        disk(other_disk != nullptr ? other_disk : &posix),
        replicas(scratch / ("replicas-" + name)) {
    std::filesystem::create_directories(replicas);
    host = name;
  }
  [[nodiscard]] World world() {
    return World{*disk,
                 clock,
                 entropy,
                 host,
                 "boot" + host,
                 "pid:[1]",
                 static_cast<std::uint32_t>(::geteuid()),
                 {replicas},
                 {},
                 machine};
  }

  PosixDisk posix;
  ManualClock clock;
  SeededEntropy entropy;
  Disk* disk;
  Path replicas;
  std::string host;
  std::string machine;  // its machine id
};

inline Tuning quick() {
  Tuning tuning;
  tuning.sync = false;
  tuning.replica_wait = std::chrono::milliseconds(100);
  tuning.lock_wait = std::chrono::milliseconds(5);
  return tuning;
}

inline Result<void> nothing(Transaction&) {
  return {};
}

inline Store::Body put(std::string key, std::string value) {
  return [key = std::move(key), value = std::move(value)](Transaction& tx) -> Result<void> {
    tx.put(key, value);
    return {};
  };
}

inline std::string value_of(Store& store, const std::string& key,
                            Freshness freshness = Freshness::latest) {
  std::string out = "(absent)";
  const Result<void> seen = store.view(freshness, [&](const Reader& reader) -> Result<void> {
    if (const auto v = reader.get(key)) out = *v;
    return {};
  });
  return seen.ok() ? out : "error: " + seen.error().text();
}

inline std::uint64_t sequence_of(Store& store, Freshness freshness = Freshness::latest) {
  std::uint64_t out = 0;
  (void)store.view(freshness, [&](const Reader& reader) -> Result<void> {
    out = reader.sequence();
    return {};
  });
  return out;
}

inline Result<void> no_check(const Reader&) {
  return {};
}

}  // namespace torc::store::testing
